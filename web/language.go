package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/client"
	"chequer/internal/locale"
	"chequer/views"
)

// reader is who reads a page: in which language, and whether its address asks for
// it, so that the links from there do too.
type reader struct {
	*locale.Language
	asked bool
}

// reader chooses the language of a page: the one of "?lang=", else the wanted one,
// which an invoice or a link may name, else the browser's, else the shop's.
func (h *Handler) reader(c echo.Context, wanted string) reader {
	languages := h.config.Languages
	if found, ok := languages.Find(c.QueryParam("lang")); ok {
		return reader{found, true}
	}
	if found, ok := languages.Find(wanted); ok {
		return reader{found, false}
	}
	return reader{languages.Choose(c.Request().Header.Get("Accept-Language")), false}
}

// english is who reads what is written for developers.
func english() reader { return reader{locale.All().Standard(), false} }

// keep is an address of ours, for a reader who goes on there.
func (r reader) keep(address string) string {
	if !r.asked {
		return address
	}
	address, fragment, found := strings.Cut(address, "#")
	if found {
		fragment = "#" + fragment
	}
	if strings.Contains(address, "?") {
		return address + "&lang=" + r.Code + fragment
	}
	return address + "?lang=" + r.Code + fragment
}

// opening is a text that may begin with a name, as a sentence begins.
func (r reader) opening(id string, pairs ...string) string { return sentence(r.Text(id, pairs...)) }

// said is a refusal of the service, which speaks English: its own sentence to those
// who read that, to others the text.
func (r reader) said(refused *client.Error, text string) string {
	if r.English() && refused.Message != "" {
		return refused.Message
	}
	return text
}

// choice lets the reader choose another language for a page of some query.
func (h *Handler) choice(page *views.Page, query string) {
	if len(h.config.Languages.List()) < 2 {
		return
	}
	page.Speak = "?lang="
	if query = unspoken(query); query != "" {
		page.Speak = "?" + query + "&lang="
	}
}

// languages is every page with "?lang=" and nothing behind it: the choice of a
// language for it. Listed on every page, the languages would cost as many bytes as
// a page has for a way of paying.
func (h *Handler) languages(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		asked, looks := c.QueryParams()["lang"], c.Request().Method == http.MethodGet || c.Request().Method == http.MethodHead
		if !looks || len(asked) == 0 || asked[len(asked)-1] != "" {
			return next(c)
		}
		r := h.reader(c, "")
		page := views.Languages{Page: h.page(r, r.Text("page.languages")), List: h.config.Languages.List()}
		h.choice(&page.Page, c.QueryString())
		h.framed(&page.Page)
		return render(c, http.StatusOK, views.LanguagesPage(page))
	}
}

// unspoken is a query without its language. That of a signed link is bare of it:
// the reader may choose, whatever the shop signed.
func unspoken(query string) string {
	kept := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool { return strings.HasPrefix(pair, "lang=") })
	return strings.Join(kept, "&")
}
