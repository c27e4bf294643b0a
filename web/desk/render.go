package desk

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"chequer/static"
	"chequer/views"
	"chequer/views/desk"
)

// render writes a page. It renders the whole page first, so that an error never leaves half a page.
func render(c echo.Context, status int, page templ.Component) error {
	var b bytes.Buffer
	if err := page.Render(c.Request().Context(), &b); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	return c.HTMLBlob(status, b.Bytes())
}

// text returns a text of the desk.
func (v *visit) text(id string, pairs ...string) string { return v.Words.Text(id, pairs...) }

// document returns the head of a page.
func (v *visit) document(title string) desk.Document {
	name := v.shop.Name
	full := title
	if name != "" {
		full = v.text("desk.title", "Title", title, "Shop", name)
	}
	return desk.Document{
		Language: v.Words, Title: full, Shop: name, Token: v.token,
		Style: v.path(static.Path("desk.css")), Script: v.path(static.Path("desk.js")), Icon: v.path(static.Path("icon.svg")),
	}
}

// solo returns the frame of a page without a shop.
func (v *visit) solo(title string) desk.Solo {
	return desk.Solo{Document: v.document(title), Host: v.Accounts.Site.Host}
}

// frame returns the frame of a page of the shop. Place is the path of its place below the shop.
func (v *visit) frame(title, place string) (desk.Frame, error) {
	ctx := v.Request().Context()
	places, err := v.places(place)
	if err != nil {
		return desk.Frame{}, err
	}
	f := desk.Frame{
		Document: v.document(title), Name: v.account.Name, Role: v.roleName(v.account.Role(v.shop.ID)),
		Account: v.below("/account"), SignOut: v.path("/desk/signout"), Places: places, Notice: v.notice(),
	}
	if v.searches() {
		f.Search = v.below("/payments")
	}
	for _, id := range v.account.Shops() {
		m, err := v.Merchants.Merchant(ctx, id)
		if err != nil {
			return f, err
		}
		f.Shops = append(f.Shops, views.Link{Text: m.Name, URL: v.path("/desk/" + url.PathEscape(id))})
	}
	f.Logo, err = v.logo()
	return f, err
}

// logo returns the address of the shop's logo; "" if it has none.
func (v *visit) logo() (string, error) {
	ctx := v.Request().Context()
	t, err := v.Themes.Theme(ctx, v.shop.ID)
	if err != nil || len(t.Logo.Body) == 0 {
		return "", err
	}
	hash, err := v.Themes.Hash(ctx, v.shop.ID)
	return v.path("/look/" + hash + "/logo" + t.Logo.Ending()), err
}

// below returns the address of a path below the shop.
func (v *visit) below(path string) string {
	return v.path("/desk/" + url.PathEscape(v.shop.ID) + path)
}

// notices are the results of actions that the page after a redirect shows, by their name in the query.
var notices = map[string]string{
	"joined":    "desk.notice.joined",
	"added":     "desk.notice.added",
	"removed":   "desk.notice.removed",
	"ended":     "desk.notice.ended",
	"role":      "desk.notice.role",
	"gone":      "desk.notice.gone",
	"withdrawn": "desk.notice.withdrawn",
	"accepted":  "desk.notice.accepted",
	"cancelled": "desk.notice.cancelled",
	"requoted":  "desk.notice.requoted",
}

// notice returns the result of the action that led to the page; "" if there was none.
func (v *visit) notice() string {
	if id, ok := notices[v.QueryParam("done")]; ok {
		return v.text(id)
	}
	return ""
}

// done redirects to a page after an action, which shows its result.
func (v *visit) done(address, result string) error {
	return v.Redirect(http.StatusSeeOther, address+"?done="+result)
}

// localPath returns an address of the desk to which a page may lead, or "" if an address is not one: it
// is a path below the desk without a host.
func (h *Desk) localPath(address string) string {
	u, err := url.Parse(address)
	root := h.path("/desk/")
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, root) ||
		strings.ContainsAny(address, "\\\r\n\t") || strings.Contains(u.Path, "//") || strings.Contains(u.Path, "/.") {
		return ""
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).RequestURI()
}
