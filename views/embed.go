package views

import (
	"fmt"
	"html"
)

// Embed is the page that builds a snippet for a merchant's own page.
type Embed struct {
	Page
	Action  string // address that the form posts to
	Typed   string // the typed link
	Example string
	Error   string   // the problem with the typed link
	Link    string   // the complete address of the typed link; empty until a valid link is typed
	Plain   string   // the snippet with a plain link
	Modal   string   // the snippet that opens a dialog
	Origins []string // origins of the pages that may show the dialog
}

// LinkSnippet returns the HTML of a link to a payment page, for a merchant's own page.
func LinkSnippet(link, text string) string {
	return fmt.Sprintf("<a href=\"%s\">%s</a>", html.EscapeString(link), html.EscapeString(text))
}

// DialogSnippet returns the HTML of a link whose payment page opens in a dialog over the merchant's own page.
// baseURL is the address of the server, which serves the script.
func DialogSnippet(link, text, baseURL string) string {
	return fmt.Sprintf("<a href=\"%s\" data-pay>%s</a>\n<script src=\"%s/embed.js\" defer></script>",
		html.EscapeString(link), html.EscapeString(text), html.EscapeString(baseURL))
}
