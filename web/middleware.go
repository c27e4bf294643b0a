package web

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"golang.org/x/time/rate"

	"chequer/internal/caller"
	"chequer/web/live"
)

// maxFormSize is the limit for the body of a form, in the notation of middleware.BodyLimit. No form of this
// package needs more than a part of it.
const maxFormSize = "16K"

// policy returns the Content-Security-Policy of pages. It allows the page's own assets and nothing
// else. It needs no nonce and no 'unsafe-inline', because no page has an inline script or style.
// ancestors is the value of frame-ancestors: the origins that may show the page in a frame.
func policy(ancestors string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors " + ancestors + "; require-trusted-types-for 'script'; trusted-types live"
}

// secure sets the headers that every response has. Pages are not stored, because the address of an
// invoice is its only secret.
func (h *Handler) secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Content-Security-Policy", policy(h.frameAncestors(c.Path())))
		header.Set("Permissions-Policy", "clipboard-write=(self), camera=(), microphone=(), geolocation=(), payment=()")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("X-Robots-Tag", "noindex")
		header.Set("Cache-Control", "no-store")
		return next(c)
	}
}

// typedAddress matches the beginnings of the addresses that are typed or printed.
var typedAddress = regexp.MustCompile(`^(pay|shop|pos|s)/`)

// trimSlash redirects a typed address with a slash at its end to the page without the slash.
func (h *Handler) trimSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		path := r.URL.EscapedPath()
		relative, found := strings.CutPrefix(path, h.config.BasePath+"/")
		isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !found || !isRead || !typedAddress.MatchString(relative) || !strings.HasSuffix(relative, "/") {
			return next(c)
		}
		trimmed := strings.TrimRight(path, "/")
		if r.URL.RawQuery != "" {
			trimmed += "?" + r.URL.RawQuery
		}
		return c.Redirect(http.StatusPermanentRedirect, trimmed)
	}
}

// pageOnlyHeaders lists the headers set by secure that have no effect on a response that is not a page.
var pageOnlyHeaders = []string{"Content-Security-Policy", "Permissions-Policy", "Referrer-Policy", "Cross-Origin-Opener-Policy", "X-Robots-Tag"}

// dropPageHeaders removes the headers that only pages need. They would be most of the bytes of a small
// asset. A picture gets a policy under which it loads nothing, because a browser can open it as a document.
func dropPageHeaders(header http.Header, contentType string) {
	for _, name := range pageOnlyHeaders {
		header.Del(name)
	}
	if strings.HasPrefix(contentType, "image/") {
		header.Set("Content-Security-Policy", "default-src 'none'")
	}
}

// shopperAddress stores the shopper's IP address in the context, for the service in the same process.
func shopperAddress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		c.SetRequest(r.WithContext(caller.NewContext(r.Context(), c.RealIP())))
		return next(c)
	}
}

// textPolicy is the policy for plain text, which has neither script nor style. It does not restrict
// styles, because a browser may add its own style sheet, as WebKit does to wrap lines.
const textPolicy = "script-src 'none'; object-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// recoverPanics turns a panic of a handler into an error, which fail answers like any other.
func (h *Handler) recoverPanics() echo.MiddlewareFunc {
	return middleware.RecoverWithConfig(middleware.RecoverConfig{
		LogErrorFunc: func(c echo.Context, err error, stack []byte) error {
			h.config.Logger.ErrorContext(c.Request().Context(), "page panicked", "error", err, "stack", string(stack))
			return err
		},
	})
}

// minCompressed is the size from which a response is smaller when it is compressed.
const minCompressed = 256

// compress compresses the responses of a handler with gzip: zstd makes the payment page 5 percent larger at its
// default level, and takes longer. Assets are compressed already, and are not compressed again.
func compress(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(live.CompressionLevel), gzhttp.EnableZstd(false), gzhttp.MinSize(minCompressed))
	if err != nil {
		panic("web: " + err.Error())
	}
	return wrap(next)
}

// refuseContentCoding refuses a request body with a content coding such as gzip, because this package decodes
// none. See RFC 9110, 15.5.16.
func refuseContentCoding(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); r.ContentLength != 0 && !isIdentity(r.Header.Values("Content-Encoding")) {
			c.Response().Header().Set("Accept-Encoding", "identity")
			return echo.NewHTTPError(http.StatusUnsupportedMediaType)
		}
		return next(c)
	}
}

func isIdentity(codings []string) bool {
	return !slices.ContainsFunc(codings, func(coding string) bool { return coding != "" && !strings.EqualFold(coding, "identity") })
}

// sameOrigin refuses forms that pages of another site send.
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
			// The pages send no referrer. Over plain HTTP their forms therefore arrive with
			// "Origin: null" and without Sec-Fetch-Site. Such forms are accepted: no page uses a
			// cookie, so a form of another site has no more rights than the author of that form.
			hidesOrigin := r.Header.Get("Origin") == "null" && r.Header.Get("Sec-Fetch-Site") == ""
			if err := protection.Check(r); err != nil && !hidesOrigin {
				return echo.NewHTTPError(http.StatusForbidden).SetInternal(err)
			}
			return next(c)
		}
	}
}

// simulationsPerPost is the factor between the rate limit for simulations and that for other posts,
// because a test needs many simulations.
const simulationsPerPost = 3

// limitPosts limits the rate of posts. The limit for a network of callers is perMinute, with a burst of
// twice that. The limits for the two larger address blocks around a network are 4 and 16 times as high, so
// that they also limit a caller with many networks. A negative perMinute means no limit.
func (h *Handler) limitPosts(perMinute int) echo.MiddlewareFunc {
	if perMinute < 0 {
		return func(next echo.HandlerFunc) echo.HandlerFunc { return next }
	}
	networkLimit := newPostLimit(perMinute)
	blockLimits := []*middleware.RateLimiterMemoryStore{newPostLimit(4 * perMinute), newPostLimit(16 * perMinute)}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			address := c.RealIP()
			allowed, err := networkLimit.Allow(caller.Network(address))
			for i, block := range caller.Blocks(address) {
				if err == nil && allowed {
					allowed, err = blockLimits[i].Allow(block.Prefix)
				}
			}
			if err != nil || !allowed {
				return echo.NewHTTPError(http.StatusTooManyRequests).SetInternal(err)
			}
			return next(c)
		}
	}
}

func newPostLimit(perMinute int) *middleware.RateLimiterMemoryStore {
	return middleware.NewRateLimiterMemoryStoreWithConfig(middleware.RateLimiterMemoryStoreConfig{
		Rate:      rate.Limit(float64(perMinute) / 60),
		Burst:     2 * perMinute,
		ExpiresIn: 5 * time.Minute,
	})
}
