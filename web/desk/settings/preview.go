package settings

import (
	"cmp"
	"net/http"
	"slices"
	"sync"

	"github.com/labstack/echo/v4"

	"chequer/internal/theme"
	"chequer/views"
	"chequer/web/present"
)

const (
	// maxDrafts is the largest number of drafts in memory. A draft with its style sheets takes about 100 KB.
	maxDrafts = 48
	// draftsPerSession is the largest number of drafts of one session, which may have several tabs open.
	draftsPerSession = 8
)

// drafts holds in memory the unsaved themes that accounts preview. It is safe for concurrent use.
type drafts struct {
	mu   sync.Mutex
	list []draft // oldest first
}

type draft struct {
	draftKey
	present.Theme
}

// draftKey identifies a draft. Only the session that created the draft can see it.
type draftKey struct{ session, shop, hash string }

// find returns the theme of a draft, and reports whether the draft is in memory.
func (d *drafts) find(key draftKey) (present.Theme, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.list, func(kept draft) bool { return kept.draftKey == key })
	if i < 0 {
		return present.Theme{}, false
	}
	return d.list[i].Theme, true
}

// add adds a draft as the newest one. To stay within the limits, it first removes the oldest draft of the session or the
// oldest of all.
func (d *drafts) add(key draftKey, t present.Theme) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = slices.DeleteFunc(d.list, func(kept draft) bool { return kept.draftKey == key })
	isOfSession := func(kept draft) bool { return kept.session == key.session }
	count := 0
	for _, kept := range d.list {
		if isOfSession(kept) {
			count++
		}
	}
	switch {
	case count >= draftsPerSession:
		i := slices.IndexFunc(d.list, isOfSession)
		d.list = slices.Delete(d.list, i, i+1)
	case len(d.list) >= maxDrafts:
		d.list = slices.Delete(d.list, 0, 1)
	}
	d.list = append(d.list, draft{key, t})
}

// draftKey returns the key of a draft of the session for the shop.
func (v *page) draftKey(hash string) draftKey { return draftKey{v.Session.Hash, v.Shop.ID, hash} }

// noTheme stands in addresses for the hash of the default theme, which is empty.
const noTheme = "default"

// addDraft adds a theme to the drafts, and returns the path of its preview.
func (v *page) addDraft(t theme.Theme) string {
	hash := cmp.Or(t.Hash(), noTheme)
	key := v.draftKey(hash)
	themed, found := v.drafts.find(key)
	if !found {
		themed = present.NewTheme("/desk/"+v.Shop.ID+themePlace+"/preview/"+hash, t)
	}
	v.drafts.add(key, themed)
	return v.Below(themePlace + "/preview/" + hash)
}

// previewPolicy is the Content-Security-Policy of the preview: pages of this site may show it in a frame, and it runs
// no script and sends no form.
const previewPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// preview shows the page of a sample invoice in the theme of a draft.
func (v *page) preview() error {
	t, found := v.drafts.find(v.draftKey(v.Param("hash")))
	if !found {
		return echo.ErrNotFound
	}
	header := v.Response().Header()
	header.Set("Content-Security-Policy", previewPolicy)
	header.Set("X-Frame-Options", "SAMEORIGIN")
	f := present.Frame{
		Site:   &present.Site{BasePath: v.BasePath, BaseURL: v.BaseURL, ShopName: v.Shop.Name},
		Reader: present.Reader{Language: v.Words}, Theme: t, Now: v.Now(),
	}
	return v.Show(http.StatusOK, views.PaymentPage(f.Sample()))
}

// previewAsset serves a style sheet or the logo of a draft. A logo that is opened as a document runs no script.
func (v *page) previewAsset() error {
	t, found := v.drafts.find(v.draftKey(v.Param("hash")))
	if !found {
		return echo.ErrNotFound
	}
	asset, _, found := t.Asset(v.Param("file"))
	if !found {
		return echo.ErrNotFound
	}
	v.Response().Header().Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	return v.Blob(http.StatusOK, asset.ContentType, asset.Body)
}
