package e2e_test

import (
	"strings"

	"github.com/PuerkitoBio/goquery"
)

// changedMeanwhile sends the form of a product that another session has changed meanwhile.
func changedMeanwhile(b *tab, w *demoSite) {
	b.t.Helper()
	at := deskShop + "/products/coffee/edit"
	signedIn("/products/coffee/edit")(b, w)
	form := w.clerk.read(at)
	pairs := []string{}
	form.Find("#edit [name]").Each(func(_ int, s *goquery.Selection) {
		value := s.AttrOr("value", "")
		if s.Is("select") {
			value = s.Find("option[selected]").AttrOr("value", "")
		}
		if s.AttrOr("name", "") == "price" {
			value = "3.60"
			if strings.HasPrefix(s.AttrOr("value", ""), "3.60") {
				value = "3.50"
			}
		}
		pairs = append(pairs, s.AttrOr("name", ""), value)
	})
	w.clerk.post(at, pairs...)
	enter("#name", "Coffee of the day")(b, w)
	press("#edit .go", "#price-error")(b, w)
}
