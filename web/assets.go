package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/static"
)

// immutable is the Cache-Control value of files whose address contains a hash of their content.
const immutable = "public, max-age=31536000, immutable"

// asset serves a file of package static.
func (h *Handler) asset(c echo.Context) error {
	asset, ok := static.Find("/static/" + c.Param("*"))
	if !ok {
		return echo.ErrNotFound
	}
	return sendAsset(c, asset, immutable)
}

// sendAsset sends an asset with the given Cache-Control value, compressed when the client accepts
// Brotli or gzip.
func sendAsset(c echo.Context, asset static.Asset, cacheControl string) error {
	header := c.Response().Header()
	dropPageHeaders(header, asset.ContentType)
	header.Set("Cache-Control", cacheControl)
	header.Set("Vary", "Accept-Encoding")
	switch accepted := c.Request().Header.Get("Accept-Encoding"); {
	case accepts(accepted, "br"):
		header.Set("Content-Encoding", "br")
		return c.Blob(http.StatusOK, asset.ContentType, asset.Brotli)
	case accepts(accepted, "gzip"):
		header.Set("Content-Encoding", "gzip")
		return c.Blob(http.StatusOK, asset.ContentType, asset.Gzip)
	}
	return c.Blob(http.StatusOK, asset.ContentType, asset.Body)
}

// icon serves the icon at /favicon.ico, which browsers request without a link. Pages link to the address
// with the hash.
func (h *Handler) icon(c echo.Context) error {
	icon, _ := static.Find(static.Path("icon.svg"))
	dropPageHeaders(c.Response().Header(), icon.ContentType)
	c.Response().Header().Set("Cache-Control", "public, max-age=86400")
	return c.Blob(http.StatusOK, icon.ContentType, icon.Body)
}

func (h *Handler) robots(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "public, max-age=86400")
	return c.String(http.StatusOK, "User-agent: *\nDisallow: /\n")
}

// accepts reports whether an Accept-Encoding header allows a content coding. A coding
// with the weight 0 is not allowed. See RFC 9110, 12.5.3.
func accepts(header, coding string) bool {
	anyAllowed := false // whether "*" allows the coding
	for part := range strings.SplitSeq(header, ",") {
		name, parameters, _ := strings.Cut(part, ";")
		name = strings.TrimSpace(name)
		switch {
		case strings.EqualFold(name, coding):
			return weight(parameters) > 0
		case name == "*":
			anyAllowed = weight(parameters) > 0
		}
	}
	return anyAllowed
}

// weight returns the weight in the parameters of a coding. It returns 1 if there is no weight, and 0 if
// the weight cannot be parsed.
func weight(parameters string) float64 {
	name, value, _ := strings.Cut(strings.TrimSpace(parameters), "=")
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64) //nolint:forbidigo // a weight, not money
	if err != nil {
		return 0
	}
	return q
}
