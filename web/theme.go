package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/client"
	"chequer/internal/theme"
	"chequer/static"
	"chequer/views"
)

const (
	// ownThemeTTL is how long the theme of the pages' own merchant is cached. A change is visible
	// within two seconds, of which the service's own cache takes one.
	ownThemeTTL = 500 * time.Millisecond
	// noThemeTTL is how long a service that returned no theme is not asked again.
	noThemeTTL = 10 * time.Second
	// themeTimeout is how long a page waits for its theme.
	themeTimeout = time.Second
	// maxThemes is the size of the cache of themes.
	maxThemes = 500
)

// pageTheme is a merchant's theme with the assets that pages load for it. It is immutable.
type pageTheme struct {
	theme  theme.Theme
	assets map[string]static.Asset // by the last part of their address
	sheets map[string]string       // the last parts of style sheets' addresses, by their plain names
	logo   string                  // the last part of the logo's address; empty without a logo
}

// newTheme builds the assets of a theme. Each style sheet is the page's own sheet followed by the
// rules that the accent colour changes, so that a page still loads one file.
func newTheme(l theme.Theme) *pageTheme {
	d := &pageTheme{theme: l, assets: map[string]static.Asset{}, sheets: map[string]string{}}
	if end := l.Style(); end != "" {
		for _, name := range []string{"pay.css", "store.css", "shop.css", "pos.css", "counter.css"} {
			asset := static.Extend(name, end)
			d.sheets[name] = path.Base(asset.Path)
			d.assets[d.sheets[name]] = asset
		}
	}
	if len(l.Logo.Body) > 0 {
		d.logo = "logo" + l.Logo.Ending()
		d.assets[d.logo] = static.Asset{ContentType: l.Logo.Type, Body: l.Logo.Body}
	}
	return d
}

// themeCache holds the themes that were read. It is safe for concurrent use.
type themeCache struct {
	mu     sync.Mutex
	byHash map[string]*pageTheme
	own    string // hash of the pages' own merchant's theme
	until  time.Time
}

func (w *themeCache) find(hash string) (*pageTheme, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d, ok := w.byHash[hash]
	return d, ok
}

func (w *themeCache) add(hash string, l theme.Theme) *pageTheme {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d, ok := w.byHash[hash]; ok {
		return d
	}
	if w.byHash == nil || len(w.byHash) >= maxThemes {
		w.byHash = map[string]*pageTheme{}
	}
	w.byHash[hash] = newTheme(l)
	return w.byHash[hash]
}

func (w *themeCache) ownHash(now time.Time) (hash string, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.own, now.Before(w.until)
}

func (w *themeCache) setOwnHash(hash string, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own, w.until = hash, until
}

// theme returns the theme with a hash, from the cache or from the service.
func (h *Handler) theme(ctx context.Context, hash string) (*pageTheme, error) {
	if d, ok := h.themes.find(hash); ok {
		return d, nil
	}
	l, err := h.readTheme(ctx, hash)
	if err != nil {
		return nil, err
	}
	return h.themes.add(hash, l), nil
}

// applyTheme sets the page's style sheet, logo and texts from the theme with the given hash. An
// empty hash leaves the default theme. If the theme cannot be read, the page is rendered with the
// default theme, so that the shopper can still pay.
func (h *Handler) applyTheme(ctx context.Context, r reader, page *views.Page, hash, sheet string) theme.Theme {
	if hash == "" {
		return theme.Theme{}
	}
	d, err := h.theme(ctx, hash)
	if err != nil {
		h.config.Logger.Warn("theme not read", "look", hash, "error", err)
		return theme.Theme{}
	}
	below := h.path("/look/" + hash + "/")
	if end, ok := d.sheets[sheet]; ok {
		page.Style = below + end
	}
	if d.logo != "" {
		page.Logo, page.Icon = below+d.logo, below+d.logo
	}
	if d.theme.Name != "" {
		page.Shop = d.theme.Name
	}
	page.Line, page.Support = d.theme.Line, support(r, d.theme.Support)
	if d.theme.Terms != "" {
		page.Terms = views.Link{Text: r.Text("page.terms"), URL: d.theme.Terms}
	}
	return d.theme
}

// support returns the link to the shop's contact. Its text shows the address, so that it can be read
// from a printed page.
func support(r reader, address string) views.Link {
	if address == "" {
		return views.Link{}
	}
	place := strings.TrimPrefix(address, "mailto:")
	if u, err := url.Parse(address); err == nil && u.Scheme == "https" {
		place = u.Host + strings.TrimSuffix(u.Path, "/")
	}
	return views.Link{Text: r.Text("page.contact", "Place", place), URL: address}
}

// applyOwnTheme applies the theme of the pages' own merchant to a page.
func (h *Handler) applyOwnTheme(ctx context.Context, r reader, page *views.Page, sheet string) theme.Theme {
	now := h.config.Now()
	hash, known := h.themes.ownHash(now)
	if !known {
		hash = h.readOwnTheme(ctx, hash, now)
	}
	return h.applyTheme(ctx, r, page, hash, sheet)
}

// readOwnTheme reads the theme of the pages' own merchant and returns its hash. While the service
// does not answer, it returns the last hash.
func (h *Handler) readOwnTheme(ctx context.Context, last string, now time.Time) (hash string) {
	l, err := h.readTheme(ctx, "")
	switch {
	case errors.Is(err, client.ErrUnsupported), errors.Is(err, client.ErrNotFound):
		h.themes.setOwnHash("", now.Add(noThemeTTL))
		return ""
	case err != nil:
		h.config.Logger.Warn("theme not read", "error", err)
		h.themes.setOwnHash(last, now.Add(noThemeTTL))
		return last
	}
	if hash = l.Hash(); hash != "" {
		h.themes.add(hash, l)
	}
	h.themes.setOwnHash(hash, now.Add(ownThemeTTL))
	return hash
}

// readTheme reads a theme from the service. The timeout is short, because a page matters more than
// its theme.
func (h *Handler) readTheme(ctx context.Context, hash string) (theme.Theme, error) {
	ctx, cancel := context.WithTimeout(ctx, themeTimeout)
	defer cancel()
	return h.config.Client.Theme(ctx, hash)
}

// themeHashForm matches the hash of a theme.
var themeHashForm = regexp.MustCompile(`^[0-9a-f]{24}$`)

// logoPolicy prevents a logo from running anything when a browser opens it on its own: an SVG is a
// document then.
const logoPolicy = "default-src 'none'; sandbox; frame-ancestors 'none'"

// themeAsset serves a style sheet or the logo of a theme. The addresses contain hashes of the
// content.
func (h *Handler) themeAsset(c echo.Context) error {
	hash := c.Param("hash")
	if !themeHashForm.MatchString(hash) {
		return echo.ErrNotFound
	}
	d, err := h.theme(c.Request().Context(), hash)
	if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrUnsupported) {
		return echo.ErrNotFound
	}
	if err != nil {
		return err
	}
	asset, ok := d.assets[c.Param("file")]
	if !ok {
		return echo.ErrNotFound
	}
	if c.Param("file") != d.logo {
		return sendAsset(c, asset, immutable)
	}
	header := c.Response().Header()
	header.Set("Content-Security-Policy", logoPolicy)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", immutable)
	return c.Blob(http.StatusOK, asset.ContentType, asset.Body)
}
