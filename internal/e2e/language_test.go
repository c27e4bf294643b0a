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
)

// narrow is the smallest screen that pages are for.
var narrow = screen{name: "320", width: 320, height: 700}

// stretched is English as long as the longest language might be, with accents: half
// as much again, its words put together as Finnish does.
func stretched(text string) string {
	filled := regexp.MustCompile(`\{\{\.\w+\}\}`)
	accented := strings.NewReplacer("a", "ä", "e", "é", "i", "ï", "o", "ö", "u", "û", "A", "Ä", "E", "É", "O", "Ö")
	var out strings.Builder
	at := 0
	for _, span := range filled.FindAllStringIndex(text, -1) {
		out.WriteString(accented.Replace(text[at:span[0]]) + text[span[0]:span[1]])
		at = span[1]
	}
	out.WriteString(accented.Replace(text[at:]))
	for words, n := strings.Fields(filled.ReplaceAllString(text, "")), 0; n < len(text)/2 && len(words) > 0; {
		word := strings.Trim(words[n%len(words)], ".,:;") + "säätiö"
		out.WriteString(" " + word)
		n += len(word)
	}
	return out.String()
}

// pseudo is the languages with one more, "fi" of nobody, that is stretched.
func pseudo(t *testing.T) *locale.Languages {
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
	languages, err := locale.Load(fstest.MapFS{"en.json": {Data: english}, "fi.json": {Data: long}})
	if err != nil {
		t.Fatal(err)
	}
	return languages
}

// speaking is a stage whose pages speak some languages.
func speaking(t *testing.T, languages *locale.Languages) *stage {
	t.Helper()
	s := newStage(t)
	pages := web.New(web.Config{
		Client: s, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Languages: languages, Storefront: true, ShopName: "Atelier Nord",
	})
	server := httptest.NewServer(pages)
	t.Cleanup(func() { pages.Close(); server.Close() })
	s.address = server.URL + "/invoice/" + s.shown.ForeignID
	return s
}

// scenes are states of an invoice that have most to say.
var scenes = []struct {
	name   string
	change func(*api.Resource)
}{
	{"waiting", func(r *api.Resource) { r.Mode = "test" }},
	{"partly", partly},
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

func sentEther(state string) api.Payment {
	return api.Payment{
		ID: "e", CryptoCurrency: "ETH", Symbol: "ETH", NetworkName: "Ethereum", Amount: "0.021319950190558639", FiatAmount: "56.5", State: state,
		Confirmations: 1, Required: 12, Tx: "0x4f8e2c1d0b9a887766554433221100ffeeddccbbaa99887766554433b21cb21c", FirstSeenAt: "2026-11-27T12:35:40.000Z",
	}
}

// TestLanguagesFitSmallScreens looks at every scene in every language that there is,
// and in one that is longer than all, 320 pixels wide.
func TestLanguagesFitSmallScreens(t *testing.T) {
	all := map[string]*stage{}
	for _, l := range locale.All().List() {
		all[l.Code] = speaking(t, locale.All())
	}
	all["fi (stretched)"] = speaking(t, pseudo(t))
	b := open(t, narrow)
	for name, s := range all {
		code, _, _ := strings.Cut(name, " ")
		for _, scene := range scenes {
			s.change(scene.change)
			b.visit(s.address + "?lang=" + code)
			b.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			if got := b.attribute("html", "lang"); got != code && !strings.HasPrefix(got, code+"-") {
				t.Errorf("the page is in %q, want %s", got, code)
			}
			get(b, chromedp.Evaluate[any](`document.querySelectorAll("details").forEach(d => { d.open = true }), 0`))
			b.picture(narrow, "language_"+code+"_"+scene.name)
			b.noSidewaysScroll()
		}
		b.visit(strings.Split(s.address, "/invoice/")[0] + "/?lang=" + code)
		b.noSidewaysScroll()
	}
	b.quiet()
}
