package visit

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"chequer/internal/account"
	"chequer/internal/zone"
	"chequer/static"
	"chequer/views"
	"chequer/views/desk"
)

// Show writes a page. It renders the whole page first, so that after an error no part of the page is sent.
func (v *Visit) Show(status int, page templ.Component) error {
	var b bytes.Buffer
	if err := page.Render(v.Request().Context(), &b); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	return v.HTMLBlob(status, b.Bytes())
}

// Text returns a text of the desk.
func (v *Visit) Text(id string, pairs ...string) string { return v.Words.Text(id, pairs...) }

// document returns the head of a page.
func (v *Visit) document(title string) desk.Document {
	name := v.Shop.Name
	full := title
	if name != "" {
		full = v.Text("desk.title", "Title", title, "Shop", name)
	}
	return desk.Document{
		Language: v.Words, Title: full, Shop: name, Token: v.formToken(),
		Style: v.Address(static.Path("desk.css")), Script: v.Address(static.Path("desk.js")), Icon: v.Address(static.Path("icon.svg")),
	}
}

// formToken returns the token of the page's forms; "" on a page without a session.
func (v *Visit) formToken() string {
	if v.Session.Hash == "" {
		return ""
	}
	return v.token.masked()
}

// BareFrame returns the frame of a page without a shop.
func (v *Visit) BareFrame(title string) desk.BareFrame {
	return desk.BareFrame{Document: v.document(title), Host: v.Accounts.Site.Host}
}

// Frame returns the frame of a page of the shop. place is the path, below the shop, of the entry of the side bar that
// is shown as current.
func (v *Visit) Frame(title, place string) (desk.Frame, error) {
	places, err := v.places(place)
	if err != nil {
		return desk.Frame{}, err
	}
	f := desk.Frame{
		Document: v.document(title), Name: v.Account.Name, Role: v.RoleName(v.Account.Role(v.Shop.ID)),
		Account: v.Below("/account"), SignOut: v.Address("/desk/signout"), Zone: v.Text("desk.zone.shown", "Zone", zone.Label(v.Zone(), v.Now())), Places: places, Notice: v.notice(), Stream: v.streamURL,
		Search: v.searchAddress(),
	}
	if f.Shops, err = v.shopLinks(); err != nil {
		return f, err
	}
	if v.Shop.ID == allShops {
		f.Account = v.Address("/desk/" + url.PathEscape(v.shops[0].ID) + "/account")
	} else if f.Logo, err = v.logo(); err != nil {
		return f, err
	}
	if !v.Account.Preferences.NoShortcuts {
		f.Shortcuts = f.Account + "/keyboard"
	}
	return f, nil
}

// shopLinks returns the links to the shops of the account, and to the page of all shops if the account sees the
// payments of several.
func (v *Visit) shopLinks() ([]views.Link, error) {
	var links []views.Link
	viewable := 0
	for _, id := range v.Account.Shops() {
		m, err := v.Merchants.Merchant(v.Request().Context(), id)
		if err != nil {
			return nil, err
		}
		if v.Account.Allows(id, account.ViewPayments) != account.Denied {
			viewable++
		}
		links = append(links, views.Link{Text: m.Name, URL: v.Address("/desk/" + url.PathEscape(id))})
	}
	slices.SortStableFunc(links, func(a, b views.Link) int { return strings.Compare(a.Text, b.Text) })
	if viewable > 1 {
		links = append(links, views.Link{Text: v.Text("desk.all"), URL: v.Address(AllShopsPath)})
	}
	return links, nil
}

// logo returns the address of the shop's logo; "" if it has none.
func (v *Visit) logo() (string, error) {
	ctx := v.Request().Context()
	t, err := v.Themes.Theme(ctx, v.Shop.ID)
	if err != nil || len(t.Logo.Body) == 0 {
		return "", err
	}
	hash, err := v.Themes.Hash(ctx, v.Shop.ID)
	return v.Address("/look/" + hash + "/logo" + t.Logo.Ending()), err
}

// Below returns the address of a path below the shop.
func (v *Visit) Below(path string) string {
	return v.Address("/desk/" + url.PathEscape(v.Shop.ID) + path)
}

// notices maps the results of actions, which Done puts into the query of a redirect, to the keys of the texts that the
// next page shows.
var notices = map[string]string{
	"joined":          "desk.notice.joined",
	"added":           "desk.notice.added",
	"removed":         "desk.notice.removed",
	"ended":           "desk.notice.ended",
	"role":            "desk.notice.role",
	"gone":            "desk.notice.gone",
	"withdrawn":       "desk.notice.withdrawn",
	"accepted":        "desk.notice.accepted",
	"cancelled":       "desk.notice.cancelled",
	"wallet":          "desk.notice.wallet",
	"wallet-removed":  "desk.notice.wallet.removed",
	"connection":      "desk.notice.connection",
	"sweep-looked":    "desk.notice.sweep.looked",
	"sweep-stopped":   "desk.notice.sweep.stopped",
	"examined":        "desk.notice.examined",
	"theme":           "desk.notice.theme",
	"requoted":        "desk.notice.requoted",
	"revoked":         "desk.notice.revoked",
	"paused":          "desk.notice.paused",
	"resumed":         "desk.notice.resumed",
	"tested":          "desk.notice.tested",
	"finished":        "desk.notice.finished",
	"webhook-removed": "desk.notice.webhook.removed",
	"changed":         "desk.notice.changed",
	"resent":          "desk.notice.resent",
	"snoozed":         "desk.notice.snoozed",
	"snooze-ended":    "desk.notice.snooze.ended",
	"note-added":      "desk.notice.note.added",
	"note-removed":    "desk.notice.note.removed",

	"product-added":   "desk.notice.product.added",
	"product-changed": "desk.notice.product.changed",
	"product-shown":   "desk.notice.product.shown",
	"product-hidden":  "desk.notice.product.hidden",
	"product-removed": "desk.notice.product.removed",
	"link-added":      "desk.notice.link.added",
	"link-changed":    "desk.notice.link.changed",
	"link-removed":    "desk.notice.link.removed",
	"link-restored":   "desk.notice.link.restored",

	"refund-ready":     "desk.notice.refund.ready",
	"refund-asked":     "desk.notice.refund.asked",
	"refund-sent":      "desk.notice.refund.sent",
	"refund-cancelled": "desk.notice.refund.cancelled",
	"refund-renewed":   "desk.notice.refund.renewed",
	"refund-checked":   "desk.notice.refund.checked",
	"declined":         "desk.notice.declined",
	"kept":             "desk.notice.kept",
	"released":         "desk.notice.released",

	"terminal-removed": "desk.notice.terminal.removed",
	"assigned":         "desk.notice.assigned",
	"unassigned":       "desk.notice.unassigned",
	"payment-settings": "desk.notice.paying",
	"notifications":    "desk.notice.notifications",
	"test-message":     "desk.notice.test.message",
	"email-confirmed":  "desk.notice.email.confirmed",
	"email-link":       "desk.notice.email.link",

	"shortcuts-on":    "desk.notice.shortcuts.on",
	"shortcuts-off":   "desk.notice.shortcuts.off",
	"renamed":         "desk.notice.renamed",
	"passkey-renamed": "desk.notice.passkey.renamed",
	"shop-created":    "desk.notice.shop.created",
}

// notice returns the text about the result of the action that redirected to the page; "" if there was none.
func (v *Visit) notice() string {
	if n, err := strconv.Atoi(v.QueryParam("count")); err == nil && n >= 0 && v.QueryParam("done") == "retried" {
		return v.Words.Count("desk.notice.retried", n)
	}
	if id, ok := notices[v.QueryParam("done")]; ok {
		return v.Text(id)
	}
	return ""
}

// Done redirects to a page after an action. The page shows the notice about the result.
func (v *Visit) Done(address, result string) error {
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return v.Redirect(http.StatusSeeOther, address+separator+"done="+result)
}

// LocalPath returns the path and the query of an address if a redirect to it stays below the desk: it has no scheme,
// host or user information, and nothing that browsers rewrite. Otherwise it returns "".
func (s *Site) LocalPath(address string) string {
	u, err := url.Parse(address)
	root := s.Address("/desk/")
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, root) ||
		strings.ContainsAny(address, "\\\r\n\t") || strings.Contains(u.Path, "//") || strings.Contains(u.Path, "/.") {
		return ""
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).RequestURI()
}
