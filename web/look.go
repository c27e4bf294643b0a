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
	"chequer/internal/look"
	"chequer/static"
	"chequer/views"
)

const (
	// ownLookFor is how long the look of our own merchant is believed. It is in force
	// within two seconds, and the service remembers it for one.
	ownLookFor = 500 * time.Millisecond
	// noLookFor is how long a service that told none is not asked again.
	noLookFor = 10 * time.Second
	// lookPatience is how long a page waits for its look.
	lookPatience = time.Second
	// maxLooks bounds the memory of looks.
	maxLooks = 500
)

// dress is a look with the assets that pages take from it. It never changes.
type dress struct {
	look   look.Look
	assets map[string]static.Asset // by the end of their address
	sheets map[string]string       // the ends of sheets' addresses, by their plain names
	logo   string                  // the end of the logo's address; empty without one
}

// newDress makes the assets of a look: the sheets of pages, and after each what its
// accent changes, so that a page still waits for one file.
func newDress(l look.Look) *dress {
	d := &dress{look: l, assets: map[string]static.Asset{}, sheets: map[string]string{}}
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

// wardrobe is the looks that were seen. It is safe for concurrent use.
type wardrobe struct {
	mu     sync.Mutex
	byHash map[string]*dress
	own    string // hash of our own merchant's
	until  time.Time
}

func (w *wardrobe) find(hash string) (*dress, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d, ok := w.byHash[hash]
	return d, ok
}

func (w *wardrobe) keep(hash string, l look.Look) *dress {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d, ok := w.byHash[hash]; ok {
		return d
	}
	if w.byHash == nil || len(w.byHash) >= maxLooks {
		w.byHash = map[string]*dress{}
	}
	w.byHash[hash] = newDress(l)
	return w.byHash[hash]
}

func (w *wardrobe) mine(now time.Time) (hash string, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.own, now.Before(w.until)
}

func (w *wardrobe) setMine(hash string, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own, w.until = hash, until
}

// dressed finds a look by its hash, at the service when it was never seen here.
func (h *Handler) dressed(ctx context.Context, hash string) (*dress, error) {
	if d, ok := h.looks.find(hash); ok {
		return d, nil
	}
	l, err := h.readLook(ctx, hash)
	if err != nil {
		return nil, err
	}
	return h.looks.keep(hash, l), nil
}

// wear gives a page the look with a hash; "" is ours, which it has already. A look
// that cannot be read costs nobody a payment.
func (h *Handler) wear(ctx context.Context, r reader, page *views.Page, hash, sheet string) look.Look {
	if hash == "" {
		return look.Look{}
	}
	d, err := h.dressed(ctx, hash)
	if err != nil {
		h.config.Logger.Warn("look not read", "look", hash, "error", err)
		return look.Look{}
	}
	below := h.path("/look/" + hash + "/")
	if end, ok := d.sheets[sheet]; ok {
		page.Style = below + end
	}
	if d.logo != "" {
		page.Logo, page.Icon = below+d.logo, below+d.logo
	}
	if d.look.Name != "" {
		page.Shop = d.look.Name
	}
	page.Line, page.Support = d.look.Line, support(r, d.look.Support)
	if d.look.Terms != "" {
		page.Terms = views.Link{Text: r.Text("page.terms"), URL: d.look.Terms}
	}
	return d.look
}

// support is where shoppers ask, in words that can be read off paper.
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

// wearOwn gives a page the look of our own merchant.
func (h *Handler) wearOwn(ctx context.Context, r reader, page *views.Page, sheet string) look.Look {
	now := h.config.Now()
	hash, known := h.looks.mine(now)
	if !known {
		hash = h.readOwn(ctx, hash, now)
	}
	return h.wear(ctx, r, page, hash, sheet)
}

// readOwn reads the look of our own merchant. While the service does not answer the
// last one stays.
func (h *Handler) readOwn(ctx context.Context, last string, now time.Time) (hash string) {
	l, err := h.readLook(ctx, "")
	switch {
	case errors.Is(err, client.ErrUnsupported), errors.Is(err, client.ErrNotFound):
		h.looks.setMine("", now.Add(noLookFor))
		return ""
	case err != nil:
		h.config.Logger.Warn("look not read", "error", err)
		h.looks.setMine(last, now.Add(noLookFor))
		return last
	}
	if hash = l.Hash(); hash != "" {
		h.looks.keep(hash, l)
	}
	h.looks.setMine(hash, now.Add(ownLookFor))
	return hash
}

// readLook asks the service for a look, and not for long: a page is worth more.
func (h *Handler) readLook(ctx context.Context, hash string) (look.Look, error) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	return h.config.Client.Look(ctx, hash)
}

// lookForm is the hash of a look.
var lookForm = regexp.MustCompile(`^[0-9a-f]{24}$`)

// logoPolicy lets a logo that somebody opens by itself do nothing: an SVG is a
// document then.
const logoPolicy = "default-src 'none'; sandbox; frame-ancestors 'none'"

// lookAsset serves a sheet or the logo of a look. Their addresses hold hashes of
// what they are.
func (h *Handler) lookAsset(c echo.Context) error {
	hash := c.Param("hash")
	if !lookForm.MatchString(hash) {
		return echo.ErrNotFound
	}
	d, err := h.dressed(c.Request().Context(), hash)
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
		return sendAsset(c, asset, forever)
	}
	header := c.Response().Header()
	header.Set("Content-Security-Policy", logoPolicy)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", forever)
	return c.Blob(http.StatusOK, asset.ContentType, asset.Body)
}
