package visit

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
)

// policy is the Content-Security-Policy of the desk. It needs no nonce and no 'unsafe-inline', because
// no page has an inline script or style.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// AllowFrame lets the page show pages of this site in a frame.
func (v *Visit) AllowFrame() {
	v.Response().Header().Set("Content-Security-Policy", policy+"; frame-src 'self'")
}

// AllowFormTo lets the forms of the page post to an origin of another site, and to no other address. The page sends no
// referrer.
func (v *Visit) AllowFormTo(origin string) {
	header := v.Response().Header()
	header.Set("Content-Security-Policy", strings.Replace(policy, "form-action 'self'", "form-action "+origin, 1))
	header.Set("Referrer-Policy", "no-referrer")
}

// secure sets the headers of every response. Pages are not stored, so that they cannot be read after
// the account has signed out.
func (s *Site) secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("Permissions-Policy", "publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), microphone=(), geolocation=(), payment=()")
		header.Set("Referrer-Policy", "same-origin") // with no-referrer, forms would have the Origin "null"
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("X-Robots-Tag", "noindex")
		header.Set("Cache-Control", "no-store")
		return next(c)
	}
}

var (
	// errInsecure means that the base URL does not protect the secrets of the desk.
	errInsecure = errors.New("the base URL has neither https nor localhost")
	// errInsecureAddress means that the browser uses an address that does not protect the secrets of the desk.
	errInsecureAddress = errors.New("request to an insecure address")
	// errCrossSite means that a page of another site sent a form.
	errCrossSite = errors.New("form of another site")
)

// requireSecureAddress refuses requests at an address over which secrets would travel unprotected. A proxy
// may change the Host header, so with a base URL of https another host is accepted too if the browser sent
// Sec-Fetch-Site: browsers send it only over https and to localhost.
func (s *Site) requireSecureAddress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, site := c.Request(), s.Accounts.Site
		if site == (account.Site{}) {
			return errInsecure
		}
		if hostOf(r.Host) == site.Host || r.Header.Get("Sec-Fetch-Site") != "" && site.Secure {
			return next(c)
		}
		if !site.Secure && net.ParseIP(hostOf(r.Host)).IsLoopback() && isSafe(r) {
			return c.Redirect(http.StatusTemporaryRedirect, site.Origin+r.URL.RequestURI())
		}
		return errInsecureAddress
	}
}

// hostOf returns the host name of a Host header.
func hostOf(host string) string {
	u, err := url.Parse("//" + host)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// isSafe reports whether the method of a request is safe. See RFC 9110, 9.2.1.
func isSafe(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// sameOrigin refuses forms that pages of another site send. A form needs one of the two headers that
// name its site. Every browser that supports passkeys sends both.
func (s *Site) sameOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
		switch {
		case isSafe(r):
		case origin == "" && site == "",
			origin != "" && origin != s.Accounts.Site.Origin,
			site != "" && site != "same-origin":
			return errCrossSite
		}
		return next(c)
	}
}

// refuseMalformedPath answers 404 if the path is not valid UTF-8 or contains NUL, which PostgreSQL does not accept.
func refuseMalformedPath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !IsText(c.Request().URL.Path) {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// IsText reports whether a text is valid UTF-8 without NUL.
func IsText(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }
