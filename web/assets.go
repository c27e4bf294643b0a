package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/static"
)

// forever is for what never changes under its address.
const forever = "public, max-age=31536000, immutable"

func (h *Handler) asset(c echo.Context) error {
	asset, ok := static.Find("/static/" + c.Param("*"))
	if !ok {
		return echo.ErrNotFound
	}
	return sendAsset(c, asset, forever)
}

// sendAsset sends an asset that may be kept for a time, compressed where that is
// understood.
func sendAsset(c echo.Context, asset static.Asset, kept string) error {
	header := c.Response().Header()
	lighten(header, asset.ContentType)
	header.Set("Cache-Control", kept)
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

// icon is for what asks for it unasked; pages name the one with the hash.
func (h *Handler) icon(c echo.Context) error {
	icon, _ := static.Find(static.Path("icon.svg"))
	lighten(c.Response().Header(), icon.ContentType)
	c.Response().Header().Set("Cache-Control", "public, max-age=86400")
	return c.Blob(http.StatusOK, icon.ContentType, icon.Body)
}

func (h *Handler) robots(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "public, max-age=86400")
	return c.String(http.StatusOK, "User-agent: *\nDisallow: /\n")
}
