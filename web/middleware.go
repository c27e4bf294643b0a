package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"golang.org/x/time/rate"

	"chequer/internal/caller"
)

// maxForm is far more than any form here has.
const maxForm = "16K"

// policy lets a page use its own assets and nothing else; no nonce and nothing
// unsafe, since no page has a script or style within it. Ancestors may show it in a
// frame.
func policy(ancestors string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors " + ancestors + "; require-trusted-types-for 'script'; trusted-types live"
}

// secure sets the headers that every answer has. A page is not stored: its
// address is the only secret that an invoice has.
func (h *Handler) secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Content-Security-Policy", policy(h.ancestors(c.Path())))
		header.Set("Permissions-Policy", "clipboard-write=(self), camera=(), microphone=(), geolocation=(), payment=()")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("X-Robots-Tag", "noindex")
		header.Set("Cache-Control", "no-store")
		return next(c)
	}
}

// pageOnly are the headers of secure that mean nothing on what is no page.
var pageOnly = []string{"Content-Security-Policy", "Permissions-Policy", "Referrer-Policy", "Cross-Origin-Opener-Policy", "X-Robots-Tag"}

// lighten leaves out what only pages need: beside a small asset the headers are
// most of its weight. A picture can be opened on its own, and then may load nothing.
func lighten(header http.Header, contentType string) {
	for _, name := range pageOnly {
		header.Del(name)
	}
	if strings.HasPrefix(contentType, "image/") {
		header.Set("Content-Security-Policy", "default-src 'none'")
	}
}

// recovered turns a panic into an error like any other.
func (h *Handler) recovered() echo.MiddlewareFunc {
	return middleware.RecoverWithConfig(middleware.RecoverConfig{
		LogErrorFunc: func(c echo.Context, err error, stack []byte) error {
			h.config.Logger.ErrorContext(c.Request().Context(), "page panicked", "error", err, "stack", string(stack))
			return err
		},
	})
}

// level compresses a page to a hundredth more than gzip's own choice, in two thirds
// of the time: QR codes are hard to find repetitions in.
const level = 5

// compressed compresses pages. Assets are compressed already, and a stream must
// not be held back.
func (h *Handler) compressed() echo.MiddlewareFunc {
	return middleware.GzipWithConfig(middleware.GzipConfig{
		Level: level,
		Skipper: func(c echo.Context) bool {
			path := strings.TrimPrefix(c.Path(), h.config.BasePath)
			return path == "/invoice/:id/live" || path == "/static/*" || path == "/look/:hash/:file" || path == "/embed.js"
		},
	})
}

// sameOrigin refuses forms that another site sends.
func (h *Handler) sameOrigin() echo.MiddlewareFunc {
	protection := http.NewCrossOriginProtection()
	if base, err := url.Parse(h.config.BaseURL); err == nil && base.Host != "" {
		if err := protection.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
			panic("web: base URL: " + err.Error())
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			// Our pages send no referrer, so over plain http their own forms come
			// with this origin and without Sec-Fetch-Site. No cookie gives a form
			// of others any power that its author lacks.
			private := r.Header.Get("Origin") == "null" && r.Header.Get("Sec-Fetch-Site") == ""
			if err := protection.Check(r); err != nil && !private {
				return echo.NewHTTPError(http.StatusForbidden).SetInternal(err)
			}
			return next(c)
		}
	}
}

// limited bounds how often one address may send the form.
func (h *Handler) limited() []echo.MiddlewareFunc {
	if h.config.PostsPerMinute < 0 {
		return nil
	}
	perMinute := h.config.PostsPerMinute
	store := middleware.NewRateLimiterMemoryStoreWithConfig(middleware.RateLimiterMemoryStoreConfig{
		Rate:      rate.Limit(float64(perMinute) / 60),
		Burst:     2 * perMinute,
		ExpiresIn: 5 * time.Minute,
	})
	return []echo.MiddlewareFunc{middleware.RateLimiterWithConfig(middleware.RateLimiterConfig{
		Store:               store,
		IdentifierExtractor: func(c echo.Context) (string, error) { return caller.Network(c.RealIP()), nil },
		DenyHandler: func(echo.Context, string, error) error {
			return echo.NewHTTPError(http.StatusTooManyRequests)
		},
	})}
}
