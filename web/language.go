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

// reader is the reader of a page: its language, and whether the address chose it with "?lang=", in
// which case the links of the page keep the parameter.
type reader struct {
	*locale.Language
	asked bool
}

// reader chooses the language of a page. In order of preference: "?lang=", the wanted language,
// which an invoice or a link may name, the browser's, and the shop's.
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

// english returns the reader of pages for developers, which are in English only.
func english() reader { return reader{locale.All().Standard(), false} }

// keep returns an address of this site with the reader's "lang" parameter, if the reader's address
// has one.
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

// opening returns a text that may begin with a name, with its first letter in upper case.
func (r reader) opening(id string, pairs ...string) string { return sentence(r.Text(id, pairs...)) }

// refusalText returns the service's own message, which is in English, for an English page, and the
// given text for a page in another language.
func (r reader) refusalText(refused *client.Error, text string) string {
	if r.English() && refused.Message != "" {
		return refused.Message
	}
	return text
}

// choice adds the link to the choice of languages to a page with the given query.
func (h *Handler) choice(page *views.Page, query string) {
	if len(h.config.Languages.List()) < 2 {
		return
	}
	page.Speak = "?lang="
	if query = withoutLanguage(query); query != "" {
		page.Speak = "?" + query + "&lang="
	}
}

// languages answers a GET of any page with an empty "?lang=" with a page that lists the languages.
// A list on every page would cost as many bytes as a page has for a payment method.
func (h *Handler) languages(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		asked, reads := c.QueryParams()["lang"], c.Request().Method == http.MethodGet || c.Request().Method == http.MethodHead
		if !reads || len(asked) == 0 || asked[len(asked)-1] != "" {
			return next(c)
		}
		r := h.reader(c, "")
		page := views.Languages{Page: h.page(r, r.Text("page.languages")), List: h.config.Languages.List()}
		h.choice(&page.Page, c.QueryString())
		h.framed(&page.Page)
		return render(c, http.StatusOK, views.LanguagesPage(page))
	}
}

// withoutLanguage returns a query without its "lang" parameter. The signature of a link does not
// cover that parameter, so the reader may choose a language for a signed link.
func withoutLanguage(query string) string {
	kept := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool { return strings.HasPrefix(pair, "lang=") })
	return strings.Join(kept, "&")
}
