package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/web"
)

// sunLogo returns a logo as a PNG image: a red sun over the sea.
func sunLogo(t *testing.T) []byte {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, 320, 320))
	for y := range 320 {
		for x := range 320 {
			c := color.NRGBA{R: 0x15, G: 0x20, B: 0x2e, A: 0xff}
			if r := (x-160)*(x-160) + (y-170)*(y-170); r < 70*70 && y < 175 {
				c = color.NRGBA{R: 0xe8, G: 0x57, B: 0x3a, A: 0xff}
			}
			if y >= 195 && y < 215 && x > 70 && x < 250 || y >= 235 && y < 255 && x > 100 && x < 220 {
				c = color.NRGBA{R: 0xf4, G: 0xe7, B: 0xcd, A: 0xff}
			}
			picture.SetNRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// leaf is a logo as an SVG image.
const leaf = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" fill="#ffe600"/><path d="M8 24C8 12 14 8 24 8c0 10-4 16-16 16zM8 24l9-9" fill="none" stroke="#12151c" stroke-width="2.5"/></svg>`

// setTheme sets the theme of a demo shop through the API.
func (p *program) setTheme(t *testing.T, name, accent string, logo []byte) (set api.Theme) {
	t.Helper()
	body, err := json.Marshal(map[string]string{
		"name": name, "accent": accent, "logo": base64.StdEncoding.EncodeToString(logo), "line": "Prints and paper from the far north since 1998",
		"support": "help@shop.example", "terms": "https://shop.example/terms",
	})
	if err != nil {
		t.Fatal(err)
	}
	newShop(t, p.url, p.key).call(p.url, p.key, http.MethodPut, api.PathTheme, string(body), &set)
	return set
}

// TestTheme_is_applied_to_the_pages sets themes of a running shop and visits its pages, in both colour
// schemes.
func TestTheme_is_applied_to_the_pages(t *testing.T) {
	for _, screen := range []screen{
		{name: "theme_phone", width: 390, height: 844}, {name: "theme_phone_dark", width: 390, height: 844, dark: true},
		{name: "theme_desk", width: 1280, height: 900}, {name: "theme_desk_dark", width: 1280, height: 900, dark: true},
		{name: "theme_narrow_without_javascript", width: 320, height: 640, noJS: true},
	} {
		t.Run(screen.name, func(t *testing.T) {
			program := start(t, settings(t), app.Options{Demo: true})
			tab := open(t, screen)
			var link api.Link
			shop := newShop(t, program.url, program.key)
			shop.call(program.url, program.key, "POST", api.PathLinks, `{"slug":"tip-jar","fiat_currency":"EUR","amount":"12.50","description":"Two prints, A4"}`, &link)
			for _, tt := range []struct {
				shot, name, accent string
				logo               []byte
			}{{"", "Atelier Nord", "#e8573a", sunLogo(t)}, {"-pale", "Gelbes Haus", "#ffe600", []byte(leaf)}} {
				set := program.setTheme(t, tt.name, tt.accent, tt.logo)
				fill := set.Colors[0].Fill
				if screen.dark {
					fill = set.Colors[1].Fill
				}
				until(t, waitTimeout, "the theme is applied", func() bool {
					tab.visit(program.url)
					return strings.Contains(tab.attribute(`link[rel=stylesheet]`, "href"), set.Hash)
				})
				tab.checkTheme(tt.name, fill)
				tab.picture(screen, "storefront"+tt.shot)
				tab.visit(link.URL)
				tab.checkTheme(tt.name, fill)
				tab.picture(screen, "link"+tt.shot)
				tab.click("form button.btn")
				tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
				page := get(tab, chromedp.Location())
				tab.checkTheme(tt.name, fill)
				tab.checkCodes(t)
				tab.do(chromedp.Click(chromedp.CSS(`label[for="m1"]`)))
				tab.picture(screen, "waiting"+tt.shot)
				tab.shoot(screen, "foot"+tt.shot, `scrollTo({top: 1e5, behavior: "instant"})`)
				reload := tab.reloader(screen, page)
				shop.simulate(idOf(page), api.SimulateExact, api.SimulateConfirm)
				if reload != nil {
					reload()
				}
				tab.waitFor("#st", "Paid", reload)
				tab.checkTheme(tt.name, "")
				tab.picture(screen, "paid"+tt.shot)
				lateInvoice := shop.createInvoice()
				shop.simulate(lateInvoice, api.SimulateLate)
				tab.visit(program.url + "/invoice/" + lateInvoice)
				tab.waitFor("#contact", "Contact "+tt.name, nil)
				tab.picture(screen, "late"+tt.shot)
			}
			tab.checkConsole()
		})
	}
}

// TestTheme_is_on_the_receipt checks that a printed receipt has the shop's name, logo and contact.
func TestTheme_is_on_the_receipt(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	p.setTheme(t, "Atelier Nord", "#e8573a", sunLogo(t))
	shop, tab := newShop(t, p.url, p.key), open(t, deskScreen)
	id := shop.createInvoice()
	shop.simulate(id, api.SimulateExact, api.SimulateConfirm)
	tab.visit(p.url + "/invoice/" + id)
	tab.waitFor("#st", "Paid", nil)
	tab.checkTheme("Atelier Nord", "")
	_, err := chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	tab.check(err)
	tab.do(chromedp.EmulateViewport(794, 1123, chromedp.EmulateScale(2))) // A4 at 96 dpi
	tab.picture(screen{name: "theme_paper"}, "receipt")
	text := tab.visibleText("body")
	for _, want := range []string{"Atelier Nord", "Contact: help@shop.example", "Prints and paper from the far north since 1998", "Test"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the receipt: %s", want, text)
		}
	}
	if strings.Contains(text, "No cookies") || get(tab, chromedp.Evaluate[int](`document.querySelector("img.mark").clientWidth`)) != 32 {
		t.Errorf("the receipt has text that is only for screens, or has no logo: %s", text)
	}
}

// checkTheme fails unless the page has the shop's name, its loaded logo, its texts, and a button
// filled with a colour. An empty fill is not checked.
func (b *tab) checkTheme(name, fill string) {
	b.t.Helper()
	until(b.t, waitTimeout, "the logo is loaded", func() bool { // without scripts this cannot be evaluated
		return b.screen.noJS || get(b, chromedp.Evaluate[bool](`(e => !!e && e.complete && e.naturalWidth > 0)(document.querySelector("img.mark"))`))
	})
	until(b.t, waitTimeout, "the page is loaded", func() bool { return get(b, chromedp.Evaluate[string](`document.readyState`)) == "complete" })
	if got := b.text(".bar h1, .brand"); got != name {
		b.t.Errorf("%s: the page names the shop %q, want %q", b.screen.name, got, name)
	}
	if foot := b.text("footer"); !strings.Contains(foot, "Contact: help@shop.example") || !strings.Contains(foot, "from the far north") {
		b.t.Errorf("%s: the footer shows %q", b.screen.name, foot)
	}
	b.checkNoSidewaysScroll()
	if fill == "" {
		return
	}
	const filled = `(e => { const m = getComputedStyle(e).backgroundColor.match(/\d+/g); return "#" + m.map(c => (+c).toString(16).padStart(2, "0")).join("") })(document.querySelector(".btn:not(.alt)"))`
	if got := get(b, chromedp.Evaluate[string](filled)); got != fill {
		b.t.Errorf("%s: the button is filled with %s, want %s", b.screen.name, got, fill)
	}
}

// TestPaid_page_returns_to_the_shop checks that a paid page returns to the shop after an announced countdown. The
// countdown can be stopped with the keyboard, and restarts when the shopper presses another key.
func TestPaid_page_returns_to_the_shop(t *testing.T) {
	program := start(t, settings(t), app.Options{Demo: true})
	shop, site := newShop(t, program.url, program.key), newMerchantSite(t)
	pay := func(t *testing.T, s screen) *tab {
		t.Helper()
		tab := open(t, s)
		id, err := shop.client.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "12.50", FiatCurrency: "EUR", URLSuccess: site.origin + "/"}, "")
		if err != nil {
			t.Fatal(err)
		}
		tab.visit(program.url + "/invoice/" + id)
		tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
		shop.simulate(id, api.SimulateExact, api.SimulateConfirm)
		tab.waitFor("#st", "Paid", nil)
		return tab
	}
	countdownIsShown := func(b *tab) bool { return get(b, chromedp.Evaluate[bool](`!document.getElementById("auto").hidden`)) }
	secondsLeft := func(b *tab) string { return b.text("#auto b") }

	t.Run("returns_after_the_countdown", func(t *testing.T) {
		tab := pay(t, screen{name: "return", width: 390, height: 844})
		if !countdownIsShown(tab) {
			t.Fatal("no countdown is shown")
		}
		tab.waitFor("#say", "is confirmed. In ten seconds this page goes back to Demo shop. Press Escape to stay here.", nil)
		tab.picture(tab.screen, "counting")
		until(t, waitTimeout, "the countdown is below nine", func() bool { return len(secondsLeft(tab)) == 1 && secondsLeft(tab) < "9" })
		tab.do(chromedp.KeyEvent("a"))
		if got := secondsLeft(tab); got != "10" && got != "9" {
			t.Errorf("after a key the countdown is at %s, want 10 or 9", got)
		}
		until(t, waitTimeout, "the shop's page is loaded", func() bool {
			return strings.HasPrefix(get(tab, chromedp.Location()), site.origin+"/?invoice=")
		})
	})
	for name, stop := range map[string]func(b *tab){
		"stays_by_Escape": func(b *tab) { b.do(chromedp.KeyEvent(kb.Escape)) },
		"stays_by_button": func(b *tab) {
			get(b, chromedp.Evaluate[any](`document.getElementById("stay").focus()`))
			b.do(chromedp.KeyEvent(kb.Enter))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tab := pay(t, deskScreen)
			before := get(tab, chromedp.Location())
			stop(tab)
			tab.waitFor("#say", "You stay on this page.", nil)
			if countdownIsShown(tab) {
				t.Error("the countdown is still shown")
			}
			tab.do(chromedp.Sleep(11 * time.Second)) // longer than the countdown
			if got := get(tab, chromedp.Location()); got != before {
				t.Errorf("the page navigated to %s", got)
			}
			if tab.attribute("#return", "href") == "" {
				t.Error("the page has no button to the shop")
			}
		})
	}
	t.Run("stays_by_setting", func(t *testing.T) {
		shop.call(program.url, program.key, http.MethodPut, api.PathTheme, `{"auto_return":false}`, nil)
		until(t, waitTimeout, "the theme is applied", func() bool {
			b := pay(t, phoneScreen)
			return get(b, chromedp.Evaluate[bool](`!document.getElementById("auto") && !!document.getElementById("return")`))
		})
	})
	t.Run("countdown_does_not_start_on_a_visit_to_a_paid_page", func(t *testing.T) {
		shop.call(program.url, program.key, http.MethodDelete, api.PathTheme, "", nil)
		tab := pay(t, phoneScreen)
		tab.do(chromedp.KeyEvent(kb.Escape))
		tab.visit(get(tab, chromedp.Location()))
		tab.waitFor("#st", "Paid", nil)
		if countdownIsShown(tab) {
			t.Error("the countdown started again")
		}
	})
}

// TestMetaMask_link_is_shown_on_phones checks that a link to MetaMask is shown on phones whose browser
// has no wallet.
func TestMetaMask_link_is_shown_on_phones(t *testing.T) {
	public := func(c *web.Config) { c.BaseURL = "https://pay.example" }
	visible := func(b *tab) bool {
		return get(b, chromedp.Evaluate[bool](`(a => !!a && a.checkVisibility())(document.querySelector("#m2-app"))`))
	}
	phone, desk := screen{name: "metamask", width: 390, height: 844}, deskScreen
	for _, tt := range []struct {
		name    string
		screen  screen
		touch   bool
		wallets []wallet
		want    bool
	}{
		{"phone", phone, true, nil, true},
		{"phone without a script", screen{name: "metamask_without_javascript", width: 390, height: 844, noJS: true}, true, nil, true},
		{"phone's wallet", phone, true, []wallet{{Name: "MetaMask", Chain: "0x2105"}}, false},
		{"phone's wallet without EIP-6963", phone, true, []wallet{{Chain: "0x2105", Injected: true}}, false},
		{"desk", desk, false, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab, s := open(t, tt.screen), newStubService(t, public)
			if tt.touch {
				tab.do(chromedp.EmulateViewport(tt.screen.width, tt.screen.height, chromedp.EmulateScale(2), chromedp.EmulateMobile, chromedp.EmulateTouch))
			}
			if tt.wallets != nil {
				tab.addWallets(tt.wallets...)
			}
			tab.visit(s.url("EURC-BASE"))
			tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			until(t, waitTimeout, "the link is shown or hidden", func() bool { return visible(tab) == tt.want })
			if !tt.want {
				return
			}
			want := "https://link.metamask.io/dapp/" + strings.TrimPrefix(publicURL(s), "https://") + "?m=EURC-BASE"
			if got := tab.attribute("#m2-app", "href"); got != want {
				t.Errorf("the link is %s, want %s", got, want)
			}
			tab.shoot(tt.screen, "token", `document.querySelector("#m2-app").scrollIntoView({block: "center", behavior: "instant"})`)
			tab.checkNoSidewaysScroll()
			tab.checkConsole()
		})
	}
}

// TestMetaMask_link_is_hidden_in_frames checks that the link is hidden in a frame: the browser of a
// wallet would show the framed page without the page around it.
func TestMetaMask_link_is_hidden_in_frames(t *testing.T) {
	s := newStubService(t, func(c *web.Config) {
		c.BaseURL, c.EmbedOrigins = "https://pay.example", []string{"https://shop.example"}
	})
	tab := open(t, phoneScreen)
	tab.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
	address := s.url("EURC-BASE")
	tab.visit(address[:strings.Index(address, "/invoice/")] + "/embed") // the page of the server that may contain frames
	get(tab, chromedp.Evaluate[any](fmt.Sprintf(`document.body.append(Object.assign(document.createElement("iframe"), {src: %q})); 1`, address)))
	until(t, waitTimeout, "the frame's link is hidden", func() bool {
		return get(tab, chromedp.Evaluate[bool](`(a => !!a && a.hidden)((frames[0].document.querySelector(".app:has(#m2-app)")))`))
	})
}

// publicURL returns the public address of the invoice of a stub service.
func publicURL(s *stubService) string { return "https://pay.example/invoice/" + s.shown.ForeignID }
