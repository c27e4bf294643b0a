package e2e_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/totp"
)

// firstDay counts the clicks and the filled fields of an owner, from the first link to a page that a shopper can pay.
type firstDay struct {
	*tab
	clicks, fields int
}

// press presses a button or follows a link.
func (d *firstDay) press(selector string) {
	d.t.Helper()
	d.clicks++
	d.do(chromedp.WaitVisible(chromedp.CSS(selector)))
	d.send(selector)
}

// fill fills in a field.
func (d *firstDay) fill(selector, text string) {
	d.t.Helper()
	d.fields++
	d.do(chromedp.WaitVisible(chromedp.CSS(selector)))
	d.typeInto(selector, text)
}

// createByPasskey creates the owner account with a passkey.
func createByPasskey(d *firstDay, desk firstRunDesk) {
	d.t.Helper()
	d.addAuthenticator()
	d.visit(desk.link)
	d.fill("#name", "Maren")
	d.press("form[data-passkey] button")
}

// createByPassword creates the owner account with a password and a code, without JavaScript.
func createByPassword(d *firstDay, desk firstRunDesk) {
	d.t.Helper()
	d.visit(desk.url + "/desk/start")
	d.fill("#token", desk.link)
	d.press("#paste button")
	d.fill("#name", "Maren")
	d.fill("#password", deskPassword)
	d.press("button[form=join]")
	code, err := totp.GenerateCode(d.text(".facts .addr"), time.Now())
	d.check(err)
	d.fill("#code", code)
	d.press("form button")
}

// TestDesk_first_day leads an owner from the link that an empty server prints to a payment page with an address of
// the owner's wallet. All steps are in the browser. The test limits the numbers of clicks and fields, which determine how
// long the steps take. The server of the test has no network access, which does not change the steps.
func TestDesk_first_day(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		noJS           bool
		start          func(*firstDay, firstRunDesk)
		clicks, fields int
	}{
		{"by passkey", false, createByPasskey, 10, 4},
		{"without JavaScript", true, createByPassword, 12, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			desk := newFirstRunDesk(t, "CHEQUER_UNWATCHED=on", "CHEQUER_BITCOIN_NODE=off", "CHEQUER_RATES=fixed:BTC-EUR=86420.00,EUR-USD=1.08")
			d := &firstDay{tab: openAlone(t, screen{width: 1280, height: 900, noJS: tt.noJS})}
			tt.start(d, desk)
			d.waitFor("h1", "Your shop", nil)
			d.press("main form .go")
			d.waitFor("h1", "Overview", nil)

			d.press(`.todo a[href$="/wallets"]`)
			d.press(`main a[href$="/wallets/add?asset=BTC"]`)
			d.fill("#key", bitcoinKey)
			d.fill("#address", bitcoinAddress)
			d.press("main form button")
			d.press("#decide button")
			d.waitFor("[role=status]", "New invoices use this wallet.", nil)

			d.press(`.rail a[href$="/products"]`)
			d.press(`.tabs a[href*="/links"]`)
			d.press(`main a[href*="/links/new"]`)
			d.fill("#amount", "12.50")
			d.press("#edit .go")
			d.waitFor("[role=status]", "The link was created.", nil)
			if d.clicks > tt.clicks || d.fields > tt.fields {
				t.Errorf("%d clicks and %d fields, want at most %d and %d", d.clicks, d.fields, tt.clicks, tt.fields)
			}

			shopper := openAlone(t, screen{width: 390, height: 844, noJS: tt.noJS})
			shopper.visit(d.text("#address"))
			shopper.send("main form button")
			shopper.waitFor("main", bitcoinAddress[:4], nil)
			if got := get(shopper, chromedp.Evaluate[bool](`document.body.innerHTML.includes("`+bitcoinAddress+`")`)); !got {
				t.Errorf("the page does not have the address %s: %s", bitcoinAddress, shopper.text("main"))
			}
		})
	}
}
