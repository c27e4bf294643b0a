package web

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/client"
	"chequer/internal/theme"
	"chequer/web/present"
)

const (
	// shopThemeTTL is the time for which the theme of the storefront's merchant is cached. A change is
	// visible within two seconds, because the service caches the theme for a second.
	shopThemeTTL = 500 * time.Millisecond
	// noThemeTTL is the time after which the theme is read again if the service has no themes or did not answer.
	noThemeTTL = 10 * time.Second
	// themeTimeout is the time for which a page waits for its theme.
	themeTimeout = time.Second
	// maxThemes is the size of the cache of themes.
	maxThemes = 500
)

// themeCache holds the themes that were read. It is safe for concurrent use.
type themeCache struct {
	mu     sync.Mutex
	byHash map[string]present.Theme
	byShop map[string]shopTheme // themes of the merchants of storefronts, by merchant ID
}

// shopTheme is the hash of the theme of the merchant of a storefront, which is known until expiresAt.
type shopTheme struct {
	hash      string
	expiresAt time.Time
}

func (c *themeCache) find(hash string) (present.Theme, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.byHash[hash]
	return t, ok
}

// add adds a theme with its assets. If the cache is full, add empties it first.
func (c *themeCache) add(hash string, t theme.Theme) present.Theme {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.byHash[hash]; ok {
		return known
	}
	if c.byHash == nil || len(c.byHash) >= maxThemes {
		c.byHash = map[string]present.Theme{}
	}
	c.byHash[hash] = present.NewTheme("/look/"+hash, t)
	return c.byHash[hash]
}

// shopHash returns the hash that was last set for a merchant. known is false if it was never set or has expired.
func (c *themeCache) shopHash(merchantID string, now time.Time) (hash string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shop := c.byShop[merchantID]
	return shop.hash, now.Before(shop.expiresAt)
}

func (c *themeCache) setShopHash(merchantID, hash string, expiresAt time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byShop == nil {
		c.byShop = map[string]shopTheme{}
	}
	c.byShop[merchantID] = shopTheme{hash, expiresAt}
}

// theme returns the theme with a hash, from the cache or from the service.
func (h *Handler) theme(ctx context.Context, hash string) (present.Theme, error) {
	if known, ok := h.themes.find(hash); ok {
		return known, nil
	}
	t, err := readTheme(ctx, h.config.Client, hash)
	if err != nil {
		return present.Theme{}, err
	}
	return h.themes.add(hash, t), nil
}

// withTheme returns the frame in the theme with the given hash. An empty hash is the default theme. If the
// theme cannot be read, the page is rendered with the default theme, so that the shopper can still pay.
func (h *Handler) withTheme(ctx context.Context, f present.Frame, hash string) present.Frame {
	if hash == "" {
		return f
	}
	t, err := h.theme(ctx, hash)
	if err != nil {
		h.config.Logger.Warn("theme not read", "theme", hash, "error", err)
		return f
	}
	f.Theme = t
	return f
}

// themedShopFrame returns the frame of a page of the storefront to which a request belongs, in the shop's theme.
func (h *Handler) themedShopFrame(c echo.Context, r present.Reader) present.Frame {
	ctx, shop := c.Request().Context(), h.requestStorefront(c)
	f := shop.applyTo(h.frame(c, r))
	hash, known := h.themes.shopHash(shop.ID, f.Now)
	if !known {
		hash = h.readShopTheme(ctx, shop, hash, f.Now)
	}
	return h.withTheme(ctx, f, hash)
}

// readShopTheme reads the theme of a storefront's merchant and returns its hash. While the service does
// not answer, it returns the last hash.
func (h *Handler) readShopTheme(ctx context.Context, shop storefront, last string, now time.Time) (hash string) {
	t, err := readTheme(ctx, shop.Client, "")
	switch {
	case errors.Is(err, client.ErrUnsupported), errors.Is(err, client.ErrNotFound):
		h.themes.setShopHash(shop.ID, "", now.Add(noThemeTTL))
		return ""
	case err != nil:
		h.config.Logger.Warn("theme not read", "error", err)
		h.themes.setShopHash(shop.ID, last, now.Add(noThemeTTL))
		return last
	}
	if hash = t.Hash(); hash != "" {
		h.themes.add(hash, t)
	}
	h.themes.setShopHash(shop.ID, hash, now.Add(shopThemeTTL))
	return hash
}

// readTheme reads a theme from the service. The timeout is short, because a page matters more than
// its theme.
func readTheme(ctx context.Context, service Client, hash string) (theme.Theme, error) {
	ctx, cancel := context.WithTimeout(ctx, themeTimeout)
	defer cancel()
	return service.Theme(ctx, hash)
}

// themeHashPattern matches the hash of a theme.
var themeHashPattern = regexp.MustCompile(`^[0-9a-f]{24}$`)

// logoPolicy prevents a logo from running scripts when a browser opens it as a document, as it can with
// an SVG.
const logoPolicy = "default-src 'none'; sandbox; frame-ancestors 'none'"

// themeAsset serves a style sheet or the logo of a theme. The addresses contain hashes of the
// content.
func (h *Handler) themeAsset(c echo.Context) error {
	hash := c.Param("hash")
	if !themeHashPattern.MatchString(hash) {
		return echo.ErrNotFound
	}
	t, err := h.theme(c.Request().Context(), hash)
	if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrUnsupported) {
		return echo.ErrNotFound
	}
	if err != nil {
		return err
	}
	asset, isLogo, found := t.Asset(c.Param("file"))
	switch {
	case !found:
		return echo.ErrNotFound
	case !isLogo:
		return sendAsset(c, asset, immutable)
	}
	header := c.Response().Header()
	header.Set("Content-Security-Policy", logoPolicy)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", immutable)
	return c.Blob(http.StatusOK, asset.ContentType, asset.Body)
}
