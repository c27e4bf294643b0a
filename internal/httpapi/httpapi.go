// Package httpapi has the parts of HTTP that the APIs of a server share: the common headers, repeated slashes, panics,
// bodies of limited size, and rate limits.
package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/labstack/echo/v4"
)

// Recovered turns a panic into an internal error, so that its answer has the common form of errors.
func Recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch r := recover(); r {
			case nil:
			case http.ErrAbortHandler:
				panic(r)
			default:
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return next(c)
	}
}

// CommonHeaders sets the headers of every answer.
func CommonHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		return next(c)
	}
}

// Below returns a path relative to a base path, with repeated slashes as one. It reports whether the path is below the
// base path.
func Below(path, basePath string) (relative string, below bool) {
	return strings.CutPrefix(slashes.ReplaceAllString(path, "/"), basePath)
}

// Owns reports whether a path is a root or below it.
func Owns(root, path string) bool { return path == root || strings.HasPrefix(path, root+"/") }

var slashes = regexp.MustCompile(`//+`)

// WithoutRepeatedSlashes routes "//api//v2/…" as "/api/v2/…". RequestURI keeps the request target
// as it was sent, because signatures cover it.
func WithoutRepeatedSlashes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slashes.MatchString(r.URL.Path) || slashes.MatchString(r.URL.RawPath) {
			clean := *r
			clean.URL = new(url.URL)
			*clean.URL = *r.URL
			clean.URL.Path = slashes.ReplaceAllString(r.URL.Path, "/")
			clean.URL.RawPath = slashes.ReplaceAllString(r.URL.RawPath, "/")
			r = &clean
		}
		next.ServeHTTP(w, r)
	})
}
