package e2e_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/locale"
	"chequer/web"
	"chequer/web/present"
)

// narrow is the smallest supported screen.
var narrow = screen{name: "320", width: 320, height: 700}

// stretched returns English text with accents and compound words as in Finnish, one and a half times
// as long, like the longest language.
func stretched(text string) string {
	placeholders := regexp.MustCompile(`\{\{\.\w+\}\}`)
	accented := strings.NewReplacer("a", "ä", "e", "é", "i", "ï", "o", "ö", "u", "û", "A", "Ä", "E", "É", "O", "Ö")
	var out strings.Builder
	end := 0 // of the previous placeholder
	for _, placeholder := range placeholders.FindAllStringIndex(text, -1) {
		out.WriteString(accented.Replace(text[end:placeholder[0]]) + text[placeholder[0]:placeholder[1]])
		end = placeholder[1]
	}
	out.WriteString(accented.Replace(text[end:]))
	for words, n := strings.Fields(placeholders.ReplaceAllString(text, "")), 0; n < len(text)/2 && len(words) > 0; {
		word := strings.Trim(words[n%len(words)], ".,:;") + "säätiö"
		out.WriteString(" " + word)
		n += len(word)
	}
	return out.String()
}

// pseudoLanguages returns English and stretched English under the code "fi".
func pseudoLanguages(t *testing.T) *locale.Languages {
	t.Helper()
	english, err := os.ReadFile("../locale/catalogue/en.json")
	if err != nil {
		t.Fatal(err)
	}
	var messages map[string]any
	if err := json.Unmarshal(english, &messages); err != nil {
		t.Fatal(err)
	}
	for id, message := range messages {
		switch m := message.(type) {
		case string:
			if !strings.HasPrefix(id, "date.") && !strings.HasPrefix(id, "month.") {
				messages[id] = stretched(m)
			}
		case map[string]any:
			for form, text := range m {
				m[form] = stretched(text.(string))
			}
		}
	}
	long, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	name, err := json.Marshal(messages["language.name"]) // must be the first key of a catalogue
	if err != nil {
		t.Fatal(err)
	}
	rest := strings.Replace(string(long), `"language.name":`+string(name)+",", "", 1)
	long = []byte(`{"language.name":` + string(name) + "," + rest[1:])
	languages, err := locale.Load(fstest.MapFS{"en.json": {Data: english}, "fi.json": {Data: long}})
	if err != nil {
		t.Fatal(err)
	}
	return languages
}

// newStubServiceIn returns a stub service whose pages have the given languages.
func newStubServiceIn(t *testing.T, languages *locale.Languages) *stubService {
	t.Helper()
	s := newStubService(t)
	pages := web.New(web.Config{
		Client: s, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Languages: languages, Site: present.Site{Storefront: true, ShopName: "Atelier Nord"},
	})
	server := httptest.NewServer(pages)
	t.Cleanup(func() { pages.Close(); server.Close() })
	s.address = server.URL + "/invoice/" + s.shown.ForeignID
	return s
}

// scenes are the states of an invoice with the most text.
var scenes = []struct {
	name   string
	change func(*api.Resource)
}{
	{"waiting", func(r *api.Resource) { r.Mode = "test" }},
	{"partly", payPartly},
	{"seen", func(r *api.Resource) {
		r.Status, r.DueAmount, r.Exceptions, r.Payments = api.StatusPending, "0", nil, []api.Payment{sentEther("seen")}
	}},
	{"overpaid", func(r *api.Resource) {
		r.Status, r.DueAmount, r.OverpaidAmount, r.Exceptions = api.StatusPaid, "0", "6.91", []string{api.ExceptionOverpaid}
		r.PaidAt, r.Payments, r.URLSuccess = r.ExpiredAt, []api.Payment{sentEther("confirmed")}, "https://shop.example/thanks"
	}},
	{"late", func(r *api.Resource) {
		r.Status, r.DueAmount, r.SecondsLeft, r.Exceptions = api.StatusExpired, "56.5", -900, []string{api.ExceptionLate}
		r.Payments = []api.Payment{sentEther("late")}
	}},
}

// sentEther returns a payment of the whole price in ether.
func sentEther(state string) api.Payment {
	return api.Payment{
		ID: "e", CryptoCurrency: "ETH", Symbol: "ETH", NetworkName: "Ethereum", Amount: "0.021319950190558639", FiatAmount: "56.5", State: state,
		Confirmations: 1, Required: 12, Tx: "0x4f8e2c1d0b9a887766554433221100ffeeddccbbaa99887766554433b21cb21c", FirstSeenAt: "2026-11-27T12:35:40.000Z",
	}
}

// TestLanguages_fit_small_screens shows every scene in every language, and in stretched English, on a
// screen 320 pixels wide.
func TestLanguages_fit_small_screens(t *testing.T) {
	services := map[string]*stubService{}
	for _, l := range locale.All().List() {
		services[l.Code] = newStubServiceIn(t, locale.All())
	}
	services["fi (stretched)"] = newStubServiceIn(t, pseudoLanguages(t))
	tab := open(t, narrow)
	for name, s := range services {
		code, _, _ := strings.Cut(name, " ")
		for _, scene := range scenes {
			s.change(scene.change)
			tab.visit(s.address + "?lang=" + code)
			tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			if got := tab.attribute("html", "lang"); got != code && !strings.HasPrefix(got, code+"-") {
				t.Errorf("the page is in %q, want %s", got, code)
			}
			get(tab, chromedp.Evaluate[any](`document.querySelectorAll("details").forEach(d => { d.open = true }), 0`))
			tab.picture(narrow, "language_"+code+"_"+scene.name)
			tab.checkNoSidewaysScroll()
		}
		tab.visit(strings.Split(s.address, "/invoice/")[0] + "/?lang=" + code)
		tab.checkNoSidewaysScroll()
	}
	tab.visit(services["de"].address + "?lang=")
	tab.picture(narrow, "languages")
	tab.checkNoSidewaysScroll()
	tab.visit(services["de"].address + "?m=EURC-BASE&lang=de")
	tab.click("#language")
	tab.do(chromedp.WaitVisible(chromedp.CSS(".languages")))
	tab.click(".languages [lang=ar]")
	tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
	if got, want := get(tab, chromedp.Location()), services["de"].address+"?m=EURC-BASE&lang=ar"; got != want {
		t.Errorf("the choice leads to %s, want %s", got, want)
	}
	tab.checkConsole()
}

// TestArabic_page_runs_from_right_to_left shows an Arabic page of a shop with a Hebrew and English name.
// Addresses and amounts must read from left to right, and be copied unchanged.
func TestArabic_page_runs_from_right_to_left(t *testing.T) {
	s := newStubServiceIn(t, locale.All())
	s.change(func(r *api.Resource) {
		payPartly(r)
		r.MerchantName, r.Description, r.OrderID = "חנות Atelier 3", "שתי הדפסות A4", "42-א"
	})
	for _, screen := range []screen{phoneScreen, deskScreen} {
		t.Run(screen.name, func(t *testing.T) { checkRightToLeft(t, s, screen) })
	}
}

func checkRightToLeft(t *testing.T, s *stubService, screen screen) {
	t.Helper()
	tab := open(t, screen)
	tab.visit(s.address + "?lang=ar&m=EURC-BASE")
	tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
	tab.picture(screen, "language_ar_hebrew")
	if got := tab.attribute("html", "dir"); got != "rtl" {
		t.Errorf("the page has dir=%q", got)
	}
	for _, selector := range []string{".due .v bdi", ".due .c bdi", "section.m2 code.num", "section.m2 code.addr", "section.m2 .contract code", "#clock", ".tot bdi"} {
		if got := get(tab, chromedp.Evaluate[string](`getComputedStyle(document.querySelector("`+selector+`")).direction`)); got != "ltr" {
			t.Errorf("%s has the direction %q", selector, got)
		}
	}
	// The first character of each must be left of its last.
	const order = `(selector) => {
		const walker = document.createTreeWalker(document.querySelector(selector), NodeFilter.SHOW_TEXT), nodes = [];
		while (walker.nextNode()) if (walker.currentNode.data.trim()) nodes.push(walker.currentNode);
		const left = (node, at) => { const r = document.createRange(); r.setStart(node, at); r.setEnd(node, at + 1); return r.getBoundingClientRect().left; };
		const first = nodes[0], last = nodes[nodes.length - 1], end = last.data.trimEnd().length - 1;
		return left(first, first.data.search(/\S/)) < left(last, end);
	}`
	for _, selector := range []string{".due .v bdi", "section.m2 dd bdi", "#clock"} {
		if !get(tab, chromedp.Evaluate[bool](`(`+order+`)("`+selector+`")`)) {
			t.Errorf("%s reads from right to left: %q", selector, tab.text(selector))
		}
	}
	const copied = `[...document.querySelectorAll("[data-copy]")].map(e => e.dataset.copy)
		.concat([...document.querySelectorAll("code, .due bdi, #clock")].map(e => e.textContent))`
	for _, text := range get(tab, chromedp.Evaluate[[]string](copied)) {
		for _, r := range text {
			if r >= '\u200e' && r <= '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u061c' {
				t.Errorf("%U is in the copied text %q", r, text)
			}
		}
	}
	if got, want := tab.attribute("#m2-amount", "data-copy"), "13.289882"; got != want {
		t.Errorf("the amount is copied as %q, want %q", got, want)
	}
	tab.checkNoSidewaysScroll()
	tab.checkConsole()
}

// TestPage_size_in_every_language checks the size of a page with two methods that a browser wallet can
// pay, also in scripts with two bytes per letter.
func TestPage_size_in_every_language(t *testing.T) {
	for _, l := range locale.All().List() {
		s := newStubServiceIn(t, locale.All()) // a new origin, so nothing is cached
		s.change(withBridged)
		tab := open(t, phoneScreen)
		tab.addWallets(wallet{Name: "Fox", Chain: "0x2105"})
		tab.visit(s.address + "?m=EURC-BASE&lang=" + l.Code)
		tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
		const received = `performance.getEntries().filter(e => !e.name.endsWith(".svg")).reduce((sum, e) => sum + (e.transferSize || 0), 0)`
		got := get(tab, chromedp.Evaluate[int](received))
		t.Logf("%s: %d bytes", l.Code, got)
		if got > 15<<10 {
			t.Errorf("the page has %d bytes in %s, want at most 15 KiB", got, l.Name)
		}
	}
}
