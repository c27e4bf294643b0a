package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/static"
)

// immutable is the Cache-Control value of files whose address contains a hash of their content.
const immutable = "public, max-age=31536000, immutable"

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

// icon serves the icon at the fixed addresses that browsers request by themselves, such as
// /favicon.ico. Pages link to the address with the hash.
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
