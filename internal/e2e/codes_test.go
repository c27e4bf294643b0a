package e2e_test

import (
	"cmp"
	"fmt"
	"image"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
)

// codeSize is the smallest width of a QR code on a page, in CSS pixels. On screens with a low
// resolution these are device pixels.
const codeSize = 200

// TestCodes_can_be_read_small reads every QR code of every method from a screen with a low resolution,
// in both colour schemes. It compares the contents of each code with the invoice that the API
// returns, not with the text of the page.
func TestCodes_can_be_read_small(t *testing.T) {
	site := newDemoSite(t)
	for _, dark := range []bool{false, true} {
		s := screen{name: "small_code", width: 390, height: 844, dark: dark}
		t.Run(nameWithScheme(s), func(t *testing.T) {
			site, tab := site.in(t), open(t, s)
			tab.reframe(s, 1)
			atInvoice(nil)(tab, site)
			read := 0
			for i, m := range site.shop().invoice(idOf(site.page)).PaymentMethods {
				id := fmt.Sprintf("m%d", i+1)
				if got := tab.value("#" + id); got != m.CryptoCurrency {
					t.Fatalf("the value of #%s is %q, want %q", id, got, m.CryptoCurrency)
				}
				tab.click(fmt.Sprintf("label[for=%s]", id))
				codes := map[string]string{fmt.Sprintf("section:has(#%s-address) .qr svg", id): shownCode(m)}
				if m.AddressCode != "" {
					codes[fmt.Sprintf("section:has(#%s-address) .qr svg", id)] = m.AddressCode
					tab.showAmountCode(id)
					codes[fmt.Sprintf("#%s-more .qr svg", id)] = m.PaymentCode
				}
				for selector, want := range codes {
					if got := tab.decodeSmall(selector); got != want {
						t.Errorf("%s: the code contains %q, want %q", m.CryptoCurrency, got, want)
					}
					read++
				}
			}
			if read < 12 {
				t.Errorf("%d codes were read, want at least 12", read)
			}
			tab.checkConsole()
		})
	}
}

// shownCode returns the content of the first code of a payment method: that of its payment link, with the payment request of
// Lightning if both ask for the same amount.
func shownCode(m api.PaymentMethod) string { return cmp.Or(m.UnifiedCode, m.PaymentCode) }

// decodeSmall reads the QR code of an element at the smallest allowed size, from a screen with one
// device pixel per CSS pixel.
func (b *tab) decodeSmall(selector string) string {
	b.t.Helper()
	get(b, chromedp.Evaluate[any](fmt.Sprintf(`void(document.querySelector(%q).style.width = "%dpx")`, selector, codeSize)))
	picture := b.elementPicture(selector)
	if got := picture.Bounds().Dx(); got != codeSize {
		b.t.Fatalf("the picture of %s is %d pixels wide", selector, got)
	}
	text, err := readCode(withoutCorners(picture))
	if err != nil {
		b.t.Fatalf("no code can be read from %s at %d pixels: %v", selector, codeSize, err)
	}
	return text
}

// withoutCorners returns a picture of a code without the edge that contains the round corners of its tile, which are
// dark on a dark page.
func withoutCorners(picture image.Image) image.Image {
	const corner = 5 // pixels
	return crop(picture, corner)
}
