package e2e_test

import (
	"bytes"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"chequer/internal/api"
)

// runningAnimations returns the number of running animations on a page.
const runningAnimations = `document.getAnimations().filter(a => a.playState === "running").length`

// TestReduced_motion_stops_animations checks reduced motion in the two states that have animations.
func TestReduced_motion_stops_animations(t *testing.T) {
	site, b := newDemoSite(t), open(t, phoneScreen)
	for name, reach := range map[string]func(*tab, *demoSite){"waiting": atInvoice(nil), "seen": atInvoice(nil, api.SimulateExact)} {
		b.prefer(false)
		reach(b, site)
		if got := get(b, chromedp.Evaluate[int](runningAnimations)); got == 0 {
			t.Errorf("%s: no animation runs without the preference", name)
		}
		b.prefer(false, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
		if got := get(b, chromedp.Evaluate[int](runningAnimations)); got != 0 {
			t.Errorf("%s: %d animations run, want none", name, got)
		}
	}
}

// weakEdges lists controls without a visible edge, and a chosen method that looks like the others.
const weakEdges = `(() => {
	const bad = [], style = e => getComputedStyle(e);
	document.querySelectorAll(".btn, .b, .money, .refund input[type=text], .find input, .desk .f input, .solo .f input, select").forEach(e => {
		const s = style(e);
		if (e.checkVisibility() && (s.borderTopStyle === "none" || parseFloat(s.borderTopWidth) < 1 || s.borderTopColor === s.backgroundColor)) bad.push((e.id || e.textContent) + " has no edge");
	});
	const border = e => [style(e).borderStyle, style(e).borderWidth, style(e).textDecorationLine].join();
	const on = document.querySelector(".methods :checked + label"), off = document.querySelector(".methods :not(:checked) + label");
	if (on && border(on) === border(off)) bad.push("the chosen method looks like the others");
	return bad;
})()`

// TestForced_colours_keep_controls_visible checks pages in colours that the system forces: QR codes must be readable, and
// controls must have an edge.
func TestForced_colours_keep_controls_visible(t *testing.T) {
	site, b := newDemoSite(t), openAlone(t, phoneScreen)
	forced := &emulation.MediaFeature{Name: "forced-colors", Value: "active"}
	for _, dark := range []bool{false, true} {
		s := screen{name: "forced", width: 390, height: 844, dark: dark}
		b.prefer(dark, forced)
		for name, reach := range map[string]func(*tab, *demoSite){
			"waiting": atInvoice(forOrder), "overpaid": atInvoice(nil, api.SimulateOver, api.SimulateConfirm), "storefront": at("/"), "link": at("/pay/tip-jar"),
			"desk_signin": atDesk("/desk/signin"), "desk_payments": signedIn("/payments"), "desk_accounts": signedIn("/accounts"), "desk_reports": signedIn("/reports?mode=test"),
		} {
			reach(b, site)
			if !get(b, chromedp.Evaluate[bool](`matchMedia("(forced-colors: active)").matches`)) {
				t.Fatal("forced colours are not active")
			}
			for _, bad := range get(b, chromedp.Evaluate[[]string](weakEdges)) {
				t.Errorf("%s: %s", name, bad)
			}
			if name == "waiting" {
				m := site.shop().invoice(idOf(site.page)).PaymentMethods[0]
				if got := b.decode("section:has(#m1-address) .qr svg"); got != shownCode(m) {
					t.Errorf("the code contains %q, want %q", got, shownCode(m))
				}
			}
			b.picture(s, "forced_"+name+"_"+nameWithScheme(s))
		}
	}
	b.checkConsole()
}

// TestReceipt_fits_one_page prints a paid page on A4.
func TestReceipt_fits_one_page(t *testing.T) {
	site, tab := newDemoSite(t), open(t, deskScreen)
	atInvoice(forOrder, api.SimulateExact, api.SimulateConfirm)(tab, site)
	pdf := get(tab, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
	if got := bytes.Count(pdf, []byte("/Type /Page\n")); got != 1 {
		t.Errorf("the receipt has %d pages, want 1", got)
	}
}

// TestPage_with_a_blocked_script blocks the page's script. The page must work as in a browser
// without scripts.
func TestPage_with_a_blocked_script(t *testing.T) {
	site, tab := newDemoSite(t), open(t, phoneScreen)
	tab.blockURLs("*://*:*/static/*.js")
	atInvoice(nil)(tab, site)
	if got := get(tab, chromedp.Evaluate[bool](`new Promise(done => new PerformanceObserver(list => done(list.getEntries().length > 0)).observe({type: "paint", buffered: true}))`, chromedp.EvalAwaitPromise)); !got {
		t.Error("nothing is painted")
	}
	site.shop().simulate(idOf(site.page), api.SimulateExact)
	tab.click("section:has(#m1-address) a.only-nojs")
	tab.waitFor("#st", "Payment seen", nil)
	if get(tab, chromedp.Evaluate[bool](`[...document.querySelectorAll(".copy")].some(e => e.checkVisibility())`)) {
		t.Error("the copy buttons are visible without their script")
	}
}

// TestPolicy_is_enforced tries statements that the policy forbids. Text may become markup only through the
// page's own Trusted Types policy, which cannot be created a second time.
func TestPolicy_is_enforced(t *testing.T) {
	site, b := newDemoSite(t), openAlone(t, phoneScreen)
	for _, reach := range []func(*tab, *demoSite){atInvoice(nil), at("/"), at("/pay/tip-jar"), at("/embed"), at("/docs"), atDesk("/desk/signin"), signedIn("/payments")} {
		reach(b, site)
		for violation, statement := range map[string]string{
			"markup":            `document.body.insertAdjacentHTML("beforeend", "<b>bold</b>")`,
			"parsed markup":     `new DOMParser().parseFromString("<b>bold</b>", "text/html")`,
			"a script's text":   `document.createElement("script").text = "1"`,
			"a script's source": `document.createElement("script").src = "/static/none.js"`,
			"another policy":    `trustedTypes.createPolicy("other", {createHTML: text => text})`,
		} {
			if got := get(b, chromedp.Evaluate[string](`(() => { try { `+statement+`; return "allowed" } catch (e) { return e.name } })()`)); got != "TypeError" {
				t.Errorf("%s: %s is %s, want TypeError", get(b, chromedp.Location()), violation, got)
			}
		}
		createPolicy := `(() => { try { trustedTypes.createPolicy("live", {createHTML: text => text}); return "allowed" } catch (e) { return e.name } })()`
		if scripted := get(b, chromedp.Evaluate[bool](`!!document.getElementById("live")`)); scripted {
			if got := get(b, chromedp.Evaluate[string](createPolicy)); got != "TypeError" {
				t.Errorf("the policy can be created a second time: %s", got)
			}
		}
	}
}
