package present_test

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/locale"
	"chequer/web/present"
	"chequer/web/present/presenttest"
)

// frameIn returns the frame of pages in a language.
func frameIn(l *locale.Language) present.Frame {
	return frame(func(f *present.Frame) { f.Reader = present.Reader{Language: l} })
}

// The page names in each language the bridged tokens that do not count.
func TestMethod_names_bridged_versions_in_every_language(t *testing.T) {
	t.Parallel()
	single, several, none := presenttest.Invoice("one"), presenttest.Invoice("more"), presenttest.Invoice("none")
	single.PaymentMethods[1].Bridged = []string{"EURbC"}
	several.PaymentMethods[1].Bridged = []string{"EURbC", "EURC.e"}
	invoices := map[string]api.Resource{"one": single, "more": several, "none": none}
	for _, l := range locale.All().List() {
		t.Run(l.Code, func(t *testing.T) {
			t.Parallel()
			warning := func(id string) string { return text(showIn(t, frameIn(l), invoices[id]).Find(".m2 .note.warn")) }
			plain := warning("none")
			for id, want := range map[string]string{"one": "EURbC", "more": "EURbC, EURC.e"} {
				added, found := strings.CutPrefix(warning(id), plain)
				if !found || !strings.Contains(added, want) || !strings.Contains(strings.Replace(added, want, "", 1), "EURC") {
					t.Errorf("the warning is %q, want it to name %s and EURC", warning(id), want)
				}
			}
			if strings.Contains(plain, "EURbC") {
				t.Errorf("the warning names EURbC: %q", plain)
			}
		})
	}
}

// English messages of the service are replaced by German texts.
func TestPages_in_German_have_no_English_text(t *testing.T) {
	t.Parallel()
	english := []string{" the ", "payment", "Payment", "address", "amount", "price", "Price", "Copy", "wallet app", "shop "}
	for _, tt := range states {
		r := presenttest.Invoice("abc")
		r.MerchantName, r.Description, r.URLSuccess, r.URLFailure, r.Mode = "Atelier Nord", "", "https://laden.example/", "https://laden.example/", "test"
		tt.change(&r)
		doc := showIn(t, frameIn(locale.All().Choose("de")), r)
		texts := doc.Text()
		doc.Find("[aria-label], [data-say], [data-said], [data-title], [data-held]").Each(func(_ int, e *goquery.Selection) {
			for _, name := range []string{"aria-label", "data-say", "data-said", "data-title", "data-held"} {
				texts += " " + e.AttrOr(name, "")
			}
		})
		for _, word := range english {
			if i := strings.Index(texts, word); i >= 0 {
				t.Errorf("%s: %q in …%s…", tt.name, word, texts[max(0, i-60):min(len(texts), i+60)])
			}
		}
	}
}

// Copied amounts have the form that wallets parse, in every language.
func TestAmounts_are_copied_in_the_form_of_wallets(t *testing.T) {
	t.Parallel()
	doc := showIn(t, frameIn(locale.All().Choose("de")), presenttest.Invoice("abc"))
	got := []string{
		doc.Find(".due .v").Text(), text(doc.Find(".m1.c")), doc.Find(".m1 code.num").Text(), doc.Find("#m1-amount").AttrOr("data-copy", ""),
		doc.Find(`section.m2 code.num`).Text(), doc.Find("#m2-amount").AttrOr("data-copy", ""),
	}
	want := []string{"56,50\u00a0€", "0,00065379 BTC · 1 BTC = 86.420,00 €", "0,00065379", "0.00065379", "56,5", "56.5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if n := doc.Find(`.due .v bdi[dir=ltr], code.addr[dir=ltr], #clock[dir=ltr]`).Length(); n != 4 {
		t.Errorf("%d elements with dir=ltr, want 4", n)
	}
}
