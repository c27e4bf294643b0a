package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/app"
)

// TestCodes_stay_readable_with_any_shop_name shows a shop with a difficult name on the narrowest phone.
// Every QR code must be readable from the screen, and none may be dense.
func TestCodes_stay_readable_with_any_shop_name(t *testing.T) {
	p := start(t, settings(t, "CHEQUER_SHOP_NAME=Tea & Café 1+1=2 #7?"), app.Options{Demo: true})
	tab := open(t, screen{name: "narrow", width: 320, height: 568})
	tab.createInvoice(p.url, "12,50")
	tab.picture(tab.screen, "waiting")
	tab.checkCodes(t)
	if got, want := tab.paymentLink("m1"), "&label=Tea%20%26%20Caf%C3%A9%201%2B1%3D2%20%237%3F"; !strings.Contains(got, want) || strings.Count(got, "amount=") != 1 {
		t.Errorf("the link is %s, want %s in it and one amount", got, want)
	}
	// The sizes of the visible codes: width in CSS pixels and in modules.
	sizes := get(tab, chromedp.Evaluate[[][2]float64](`[...document.querySelectorAll(".qr svg")].filter(s => s.checkVisibility())
		.map(s => [s.getBoundingClientRect().width, s.viewBox.baseVal.width])`))
	if len(sizes) == 0 {
		t.Error("no code is visible")
	}
	for _, size := range sizes {
		width, modules := size[0], size[1]
		// A code with a payment request of Lightning has more modules.
		if version := (modules - 8 - 17) / 4; width/modules < 3 && version <= 10 || width/modules < 2.2 || version > 20 {
			t.Errorf("a code of version %.0f has modules of %.1f pixels", version, width/modules)
		}
	}
	tab.checkNoSidewaysScroll()
	tab.checkConsole()
}
