package web

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/client"
	"chequer/static"
	"chequer/views"
	"chequer/web/present"
)

// slugPattern matches the slug of a link.
var slugPattern = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// embed serves the page that builds the HTML snippet for a merchant's own page. The query names a link. The page
// accepts links to payments of this checkout only, because anyone can publish a link to it with any query.
func (h *Handler) embed(c echo.Context) error {
	typed := strings.TrimSpace(c.QueryParam("link"))
	page := views.Embed{
		Page: h.developerPage(c, "Put a payment on your page", "store.css"), Action: h.path("/embed"), Typed: typed,
		Example: h.config.BaseURL + "/pay/coffee", Origins: h.config.EmbedOrigins,
	}
	page.Scripts = []string{h.path(static.Path("builder.js"))}
	if len(h.config.EmbedOrigins) > 0 {
		page.Scripts = append(page.Scripts, h.path("/embed.js"))
	}
	c.Response().Header().Set("Content-Security-Policy", policy("'none'")+"; frame-src 'self'")
	if typed == "" {
		return render(c, http.StatusOK, views.EmbedPage(page))
	}
	link, own := h.ownLink(typed)
	if !own {
		page.Error, page.Title = "Enter a link of this checkout, like "+page.Example, "Error: "+page.Title
		return render(c, http.StatusUnprocessableEntity, views.EmbedPage(page))
	}
	page.Link = link
	page.Plain, page.Modal = views.LinkSnippet(link, "Pay now"), views.DialogSnippet(link, "Pay now", h.config.BaseURL)
	return render(c, http.StatusOK, views.EmbedPage(page))
}

// ownLink returns the address of the payment page that the typed text names. own is false if the text
// does not name a payment page of this checkout.
func (h *Handler) ownLink(typed string) (link string, own bool) {
	if slugPattern.MatchString(typed) {
		return h.config.BaseURL + "/pay/" + typed, true
	}
	u, err := url.Parse(typed)
	base, baseErr := url.Parse(h.config.BaseURL)
	if err != nil || baseErr != nil || u.Scheme != base.Scheme || u.Host != base.Host || u.User != nil || u.Host == "" {
		return "", false
	}
	relative, found := strings.CutPrefix(u.Path, h.config.BasePath)
	own = found && (relative == "/pay" || strings.HasPrefix(relative, "/pay/") || strings.HasPrefix(relative, "/invoice/"))
	return u.String(), own
}

// embedScript serves a script that merchants' pages load. Its address has no hash, because merchants copy it into their
// pages and plug-ins build it themselves. The content may change, so it is cached for an hour only.
func embedScript(name string) echo.HandlerFunc {
	return func(c echo.Context) error {
		script, _ := static.Find(static.Path(name))
		c.Response().Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		return sendAsset(c, script, "public, max-age=3600")
	}
}

// frameAncestors returns the frame-ancestors value of the policy for a path. Payment pages may be
// framed by the listed origins and by the page /embed, which shows the result of a snippet. No other page may
// be framed.
func (h *Handler) frameAncestors(path string) string {
	path = strings.TrimPrefix(path, h.config.BasePath)
	payment := path == "/pay" || strings.HasPrefix(path, "/pay/") || strings.HasPrefix(path, "/order/pay") || strings.HasPrefix(path, "/invoice/")
	if len(h.config.EmbedOrigins) == 0 || !payment {
		return "'none'"
	}
	return "'self' " + strings.Join(h.config.EmbedOrigins, " ")
}

// allowShop lets pages of the shop of an invoice show the invoice's page in a frame, as the listed origins may. The page
// gets the script for a frame only if it is requested for a frame, because other pages do not need it.
func (h *Handler) allowShop(c echo.Context, f *present.Frame, snapshot client.Snapshot) {
	origin := present.ShopOrigin(snapshot.Resource)
	if origin == "" || slices.Contains(h.config.EmbedOrigins, origin) {
		return
	}
	ancestors := strings.Join(append([]string{"'self'"}, append(slices.Clone(h.config.EmbedOrigins), origin)...), " ")
	c.Response().Header().Set("Content-Security-Policy", policy(ancestors))
	if isFramed(c) {
		f.ShopOrigin = origin
	}
}

// isModal reports whether the address of a page of an invoice, or of one of its forms, has present.ModalView.
func isModal(c echo.Context) bool { return c.QueryParam("view") == "modal" }

// isFramed reports whether a page is requested for a frame. Over plain http, except to localhost, browsers do not send
// Sec-Fetch-Dest.
func isFramed(c echo.Context) bool {
	return c.Request().Header.Get("Sec-Fetch-Dest") == "iframe" || isModal(c)
}
