package present

import (
	"slices"
	"strings"
	"time"

	"chequer/internal/locale"
	"chequer/static"
	"chequer/views"
)

// Frame holds the values, other than its content, that a page is rendered from. The zero Theme is the default theme.
type Frame struct {
	*Site
	Reader
	Theme        Theme
	Multilingual bool   // the reader may choose a language
	WithAmount   bool   // the page of an invoice shows the QR code with the amount for the method that it opens
	ShopOrigin   string // origin of the invoice's shop, if the page is requested for a frame and EmbedOrigins does not contain it; otherwise empty
	Modal        bool   // the address of the page of an invoice has ModalView
	Query        string // query of the page's address, for the link to the choice of languages
	Now          time.Time
}

// ModalView is the parameter with which shop plug-ins open the page of an invoice in a frame. The addresses on such a page have
// it as well, because over plain http, except to localhost, the server cannot recognise the frame by a header.
const ModalView = "view=modal"

// ViewQuery returns the part of the query of the page of an invoice that the links to other languages keep.
func ViewQuery(isModal bool) string {
	if !isModal {
		return ""
	}
	return ModalView
}

// WithModal returns an address of the page of an invoice, with ModalView if the page that leads there has it.
func WithModal(address string, isModal bool) string {
	if !isModal {
		return address
	}
	return withParameter(address, ModalView)
}

// Page returns a page with a style sheet of the given name. merchant is the merchant's name, or "" if the content of
// the page does not name a merchant.
func (f Frame) Page(title, merchant, sheet string) views.Page {
	page := views.Page{
		Language: f.Language, Title: title, Shop: f.shop(merchant), Style: f.sheet(sheet), Icon: f.Path(static.Path("icon.svg")),
		Line: f.Theme.Line, Support: f.support(),
	}
	if f.Storefront {
		page.Home = f.WithLanguage(f.ShopPath(""))
	}
	if f.Theme.logo != "" {
		page.Logo = f.assetPath(f.Theme.logo)
		page.Icon = page.Logo
	}
	if f.Theme.Terms != "" {
		page.Terms = views.Link{Text: f.Text("page.terms"), URL: f.Theme.Terms}
	}
	return page
}

// addLanguageLink adds the link to the choice of languages.
func (f Frame) addLanguageLink(page *views.Page) {
	if !f.Multilingual {
		return
	}
	page.LanguageURL = "?lang="
	if query := withoutLanguage(f.Query); query != "" {
		page.LanguageURL = "?" + query + "&lang="
	}
}

// allowEmbedding lets pages of EmbedOrigins and ShopOrigin show the page in a frame.
func (f Frame) allowEmbedding(page *views.Page) {
	origins := f.EmbedOrigins
	if f.ShopOrigin != "" {
		origins = append(slices.Clone(origins), f.ShopOrigin)
	}
	if len(origins) > 0 {
		page.FrameScript, page.Origins = f.Path(static.Path("frame.js")), strings.Join(origins, " ")
	}
}

// merchant returns the name of the merchant: that in the theme or, if the theme has none, the given name.
func (f Frame) merchant(name string) string {
	if f.Theme.Name != "" {
		return f.Theme.Name
	}
	return printable(name)
}

// shop returns the shop's name as pages show it: the merchant's name, the name in the configuration, or a
// default.
func (f Frame) shop(merchant string) string {
	for _, name := range []string{f.merchant(merchant), f.ShopName} {
		if name != "" {
			return name
		}
	}
	return f.Text("shop.none")
}

// shopInSentence returns the shop's name for use within a sentence.
func (f Frame) shopInSentence(merchant string) string {
	if f.merchant(merchant) == "" && f.ShopName == "" {
		return f.Text("shop.unnamed")
	}
	return f.shop(merchant)
}

// About returns the page that describes this site.
func (f Frame) About() views.About {
	page := views.About{Page: f.Page("", "", "store.css")}
	page.Title = page.Shop
	f.addLanguageLink(&page.Page)
	return page
}

// Error returns the page for a request that could not be served.
func (f Frame) Error(heading, text string, action views.Link) views.Error {
	page := views.Error{Page: f.Page(heading, "", "store.css"), Heading: heading, Text: text, Action: action}
	f.addLanguageLink(&page.Page)
	return page
}

// Languages returns the page that lists languages.
func (f Frame) Languages(list []*locale.Language) views.Languages {
	page := views.Languages{Page: f.Page(f.Text("page.languages"), "", "store.css"), List: list}
	f.addLanguageLink(&page.Page)
	f.allowEmbedding(&page.Page)
	return page
}
