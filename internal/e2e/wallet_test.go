package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/app"
)

// wallet is a fake browser wallet as specified by EIP-6963 and EIP-1193. It records requests in
// window.asked.
type wallet struct {
	Name     string           `json:"name"`
	Chain    string           `json:"chain"`    // the current chain
	Stays    bool             `json:"stays"`    // reports a successful switch, but stays on its chain
	Fails    map[string]fault `json:"fails"`    // errors by method
	Holds    string           `json:"holds"`    // the method whose answer waits for window.answer(result)
	Injected bool             `json:"injected"` // sets window.ethereum instead of announcing itself
}

// fault is an error of a wallet (EIP-1193, "Errors").
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// fakeWallets is a script with the wallets in a page.
const fakeWallets = `(() => {
	const wallets = %s;
	addEventListener("securitypolicyviolation", e => console.error("violates " + e.violatedDirective));
	window.asked = [];
	window.held = [];
	window.answer = result => held.splice(0).forEach(resolve => resolve(result));
	const provider = w => ({request: async ({method, params}) => {
		asked.push({wallet: w.name, method, params: params || null});
		const given = w.holds === method ? await new Promise(resolve => held.push(resolve)) : null;
		if (w.fails && w.fails[method]) throw Object.assign(new Error(w.fails[method].message), w.fails[method]);
		switch (method) {
		case "eth_requestAccounts": return ["0x00000000000000000000000000000000000000f1"];
		case "eth_chainId": return w.chain;
		case "wallet_switchEthereumChain":
			if (!w.stays) w.chain = params[0].chainId;
			return null;
		case "eth_sendTransaction": return given || "0x" + "ab".repeat(32);
		}
		throw new Error("unexpected " + method);
	}});
	const announce = () => wallets.forEach((w, i) => {
		if (w.injected) window.ethereum = w.provider ||= provider(w);
		else dispatchEvent(new CustomEvent("eip6963:announceProvider", {detail: Object.freeze({
			info: {uuid: "350670db-19fa-4704-a166-e52e178b59d" + i, name: w.name, icon: "data:image/svg+xml,<svg onload='alert(1)'/>", rdns: "example.wallet"},
			provider: w.provider ||= provider(w),
		})}));
	});
	addEventListener("eip6963:requestProvider", announce);
	announce();
})()`

// addWallets adds wallets to every page that the tab opens later.
func (b *tab) addWallets(list ...wallet) {
	b.t.Helper()
	text, err := json.Marshal(list)
	b.check(err)
	_, err = chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(fakeWallets, text)})
	b.check(err)
}

// calledMethods returns the methods that the page called, separated by spaces.
func (b *tab) calledMethods() string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string](`asked.map(a => a.method).join(" ")`))
}

// transactions returns the transactions that the wallets were asked to send.
func (b *tab) transactions() []map[string]string {
	b.t.Helper()
	var list []map[string]string
	text := get(b, chromedp.Evaluate[string](`JSON.stringify(asked.filter(a => a.method === "eth_sendTransaction").map(a => a.params[0]))`))
	b.check(json.Unmarshal([]byte(text), &list))
	return list
}

// The page elements of the token that the stub service offers, and the expected encodings of its transfer: the
// first 4 bytes of keccak256("transfer(address,uint256)"), then two words of 32 bytes.
const (
	tokenPay     = "#m2-wallets0"
	tokenMessage = "#m2-wallets p"
	payWhole     = "0xa9059cbb" +
		"0000000000000000000000001111111254eeb25477b68fb85ed929f73a960582" +
		"00000000000000000000000000000000000000000000000000000000035e1f20" // 56,500,000
	payRest = "0xa9059cbb" +
		"0000000000000000000000001111111254eeb25477b68fb85ed929f73a960582" +
		"0000000000000000000000000000000000000000000000000000000000cac99a" // 13,289,882
)

// TestWallet_results_are_shown pays with browser wallets that succeed or fail, under the content security
// policy of the pages.
func TestWallet_results_are_shown(t *testing.T) {
	const base, mainnet = "0x2105", "0x1"
	const (
		opened   = "eth_requestAccounts"
		network  = opened + " eth_chainId"
		sent     = network + " eth_sendTransaction"
		switches = network + " wallet_switchEthereumChain"
		switched = switches + " eth_chainId"
	)
	for _, tt := range []struct {
		name    string
		fails   map[string]fault
		chain   string
		stays   bool
		calls   string
		message string
	}{
		{"sends", nil, base, false, sent, "Sent. This page changes when the network shows it."},
		{"switches from another network", nil, mainnet, false, switched + " eth_sendTransaction", "Sent. This page changes when the network shows it."},
		{"stays on another network", nil, mainnet, true, switched, "Switch Fox to the network Base, then try again. Nothing was sent."},
		{"does not know the network", map[string]fault{"wallet_switchEthereumChain": {4902, "Unrecognized chain", nil}}, mainnet, false,
			switches, "Add the network Base (chain ID 8453) in the settings of Fox, then try again. Nothing was sent."},
		{"does not know the network and wraps the error", map[string]fault{"wallet_switchEthereumChain": {-32603, "Internal", map[string]any{"originalError": map[string]any{"code": 4902}}}}, mainnet, false,
			switches, "Add the network Base (chain ID 8453) in the settings of Fox, then try again. Nothing was sent."},
		{"cannot switch", map[string]fault{"wallet_switchEthereumChain": {4200, "Unsupported", nil}}, mainnet, false,
			switches, "Switch Fox to the network Base, then try again. Nothing was sent."},
		{"refuses the connection", map[string]fault{"eth_requestAccounts": {4001, "User rejected", nil}}, base, false,
			opened, "You cancelled in Fox. Nothing was sent."},
		{"refuses the payment", map[string]fault{"eth_sendTransaction": {4001, "User rejected", nil}}, base, false,
			sent, "You cancelled in Fox. Nothing was sent."},
		{"has an open request", map[string]fault{"eth_requestAccounts": {-32002, "Already processing", nil}}, base, false,
			opened, "A request is still open in Fox. Answer it there, then try again."},
		{"is disconnected", map[string]fault{"eth_sendTransaction": {4900, "Disconnected", nil}}, base, false,
			sent, "Base is out of reach from Fox. Look there whether anything was sent before you try again."},
		{"is disconnected from the network", map[string]fault{"eth_chainId": {4901, "Chain disconnected", nil}}, base, false,
			network, "Base is out of reach from Fox. Look there whether anything was sent before you try again."},
		{"has no money for the fee", map[string]fault{"eth_sendTransaction": {-32000, "insufficient funds for gas * price + value", nil}}, base, false,
			sent, "Not enough EURC in Fox, or not enough for the network’s fee. Nothing was sent."},
		{"has no tokens", map[string]fault{"eth_sendTransaction": {-32603, "execution reverted: ERC20: transfer amount exceeds balance", nil}}, base, false,
			sent, "Not enough EURC in Fox, or not enough for the network’s fee. Nothing was sent."},
		{"breaks before it sends", map[string]fault{"eth_chainId": {-32603, "Internal error", nil}}, base, false,
			network, "That did not work in Fox. Nothing was sent. Try again, or use the code or the address."},
		{"breaks while it sends", map[string]fault{"eth_sendTransaction": {-32603, "<b>Internal</b>", nil}}, base, false,
			sent, "Something went wrong in Fox. Look there whether anything was sent before you try again."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab := open(t, phoneScreen)
			tab.addWallets(wallet{Name: "Fox", Chain: tt.chain, Stays: tt.stays, Fails: tt.fails})
			tab.visit(newStubService(t).url("EURC-BASE"))
			tab.waitFor(tokenPay, "Pay with Fox", nil)
			tab.click(tokenPay)
			tab.waitFor("#say", tt.message, nil)
			tab.waitFor(tokenMessage, strings.TrimPrefix(tt.message, "Sent. "), nil)
			if got := tab.calledMethods(); got != tt.calls {
				t.Errorf("the wallet was asked for %s, want %s", got, tt.calls)
			}
			succeeds := strings.HasPrefix(tt.message, "Sent.")
			if got := tab.text(tokenPay); succeeds != (got == "Sent") || succeeds == (got == "Pay with Fox") {
				t.Errorf("the button shows %q", got)
			}
			tab.click(tokenPay) // must not send a second transaction
			if got := len(tab.transactions()); succeeds && got != 1 {
				t.Errorf("%d transactions were sent", got)
			}
			tab.picture(tab.screen, "wallet_"+strings.ReplaceAll(tt.name, " ", "_"))
			tab.checkNoSidewaysScroll()
			tab.checkConsole()
		})
	}
}

// TestWallet_request_is_exact compares the wallet's requests with encodings made by hand.
func TestWallet_request_is_exact(t *testing.T) {
	for method, want := range map[string]map[string]string{
		"EURC-BASE": {"to": "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42", "value": "0x0", "data": payWhole, "chainId": "0x2105"},
		// 21,319,950,190,558,639 wei, which a float64 cannot represent
		"ETH": {"to": "0x1111111254EEB25477B68fb85Ed929f73A960582", "value": "0x4bbe61b9bcbdaf", "chainId": "0x1"},
	} {
		t.Run(method, func(t *testing.T) {
			tab := open(t, phoneScreen)
			tab.addWallets(wallet{Name: "Fox", Chain: "0x89"})
			tab.visit(newStubService(t).url(method))
			pay := ".wallets[data-method=" + method + "] button"
			tab.waitFor(pay, "Pay with Fox", nil)
			tab.picture(tab.screen, "wallet_pay_"+method)
			tab.click(pay)
			tab.waitFor("#say", "Sent.", nil)
			want["from"] = "0x00000000000000000000000000000000000000f1"
			if diff := cmp.Diff(tab.transactions(), []map[string]string{want}); diff != "" {
				t.Errorf("the wallet was asked (-got +want):\n%s", diff)
			}
			tab.checkConsole()
		})
	}
}

// TestWallets_are_chosen_by_name opens the page with two announced wallets, one with a name that looks like
// markup.
func TestWallets_are_chosen_by_name(t *testing.T) {
	for _, s := range []screen{
		phoneScreen, {name: "phone_dark", width: 390, height: 844, dark: true},
		deskScreen, {name: "desk_dark", width: 1280, height: 900, dark: true},
	} {
		t.Run(s.name, func(t *testing.T) {
			tab := open(t, s)
			tab.addWallets(wallet{Name: "<b>Bear</b>", Chain: "0x2105"}, wallet{Name: "Fox", Chain: "0x2105"}, wallet{Name: "old", Injected: true})
			tab.visit(newStubService(t).url("EURC-BASE"))
			tab.waitFor(tokenPay, "Pay with <b>Bear</b>", nil)
			tab.waitFor("#m2-wallets1", "Pay with Fox", nil)
			tab.picture(s, "wallets")
			tab.checkNoSidewaysScroll()
			if n := get(tab, chromedp.Evaluate[int](`document.querySelectorAll(".wallets img, .wallets b, .wallets svg").length`)); n > 0 {
				t.Errorf("the page has %d elements from the names or icons of wallets, want none", n)
			}
			tab.click("#m2-wallets1")
			tab.waitFor(tokenPay, "Sent", nil)
			if got := get(tab, chromedp.Evaluate[string](`asked.map(a => a.wallet)[0]`)); got != "Fox" {
				t.Errorf("the wallet %s was asked, want Fox", got)
			}
			if got := get(tab, chromedp.Evaluate[string](`document.activeElement.id`)); got != "m2-wallets0" {
				t.Errorf("the focus is at %q, want m2-wallets0", got)
			}
			tab.picture(s, "wallets_sent")
			tab.checkConsole()
		})
	}
}

// TestWallet_that_only_injects uses a wallet without EIP-6963.
func TestWallet_that_only_injects(t *testing.T) {
	tab := open(t, phoneScreen)
	tab.addWallets(wallet{Name: "old", Chain: "0x2105", Injected: true, Fails: map[string]fault{"eth_sendTransaction": {Code: 4001}}})
	tab.visit(newStubService(t).url("EURC-BASE"))
	tab.waitFor(tokenPay, "Pay with your browser wallet", nil)
	tab.click(tokenPay)
	tab.waitFor(tokenMessage, "You cancelled in your browser wallet. Nothing was sent.", nil)
	tab.checkConsole()
}

// TestWallet_while_the_page_changes changes the invoice before, during and after a request to the wallet.
func TestWallet_while_the_page_changes(t *testing.T) {
	t.Run("delay_of_another_network", func(t *testing.T) {
		tab, s := open(t, phoneScreen), newStubService(t)
		tab.addWallets(wallet{Name: "Fox", Chain: "0x2105", Holds: "eth_sendTransaction"})
		tab.visit(s.url("EURC-BASE"))
		tab.waitFor(tokenPay, "Pay with Fox", nil)
		tab.click(tokenPay)
		tab.waitFor(tokenPay, "Confirm in Fox", nil)
		tab.picture(tab.screen, "wallet_confirm")
		s.change(func(r *api.Resource) { r.Exceptions = []string{api.ExceptionDelayed} })
		tab.waitFor("#pay", "This takes longer than usual.", nil)
		tab.waitFor(tokenPay, "Confirm in Fox", nil)
		tab.click(tokenPay)
		tab.answerWallets()
		tab.waitFor(tokenMessage, "This page changes", nil)
		s.change(func(r *api.Resource) { r.Exceptions = nil })
		tab.waitGone("#pay", "This takes longer than usual.")
		tab.waitFor(tokenPay, "Sent", nil)
		tab.click(tokenPay)
		if got := len(tab.transactions()); got != 1 {
			t.Errorf("%d transactions were sent", got)
		}
		tab.checkConsole()
	})
	t.Run("reload_remembers", func(t *testing.T) {
		tab, s := open(t, phoneScreen), newStubService(t)
		tab.addWallets(wallet{Name: "Fox", Chain: "0x2105"})
		tab.visit(s.url("EURC-BASE"))
		tab.waitFor(tokenPay, "Pay with Fox", nil)
		tab.click(tokenPay)
		tab.waitFor(tokenMessage, "This page changes", nil)
		tab.do(chromedp.Reload())
		tab.waitFor(tokenPay, "Sent", nil)
		tab.waitFor(tokenMessage, "This page changes", nil)
		tab.checkConsole()
	})
	t.Run("rest_after_a_partial_payment", func(t *testing.T) {
		tab, s := open(t, deskScreen), newStubService(t)
		tab.addWallets(wallet{Name: "Fox", Chain: "0x2105"})
		tab.visit(s.url("EURC-BASE"))
		tab.waitFor(tokenPay, "Pay with Fox", nil)
		tab.click(tokenPay)
		tab.waitFor(tokenPay, "Sent", nil)
		s.change(payPartly)
		tab.waitFor("#st", "Part of it arrived", nil)
		tab.waitFor(tokenPay, "Pay with Fox", nil)
		tab.picture(tab.screen, "wallet_rest")
		tab.click(tokenPay)
		tab.waitFor(tokenPay, "Sent", nil)
		if got := tab.transactions(); len(got) != 2 || got[1]["data"] != payRest {
			t.Errorf("sent %v, want a second transaction of the rest", got)
		}
		tab.checkConsole()
	})
	t.Run("paid_by_other_means_before_the_wallet_is_asked", func(t *testing.T) {
		tab, s := open(t, phoneScreen), newStubService(t)
		tab.addWallets(wallet{Name: "Fox", Chain: "0x2105", Holds: "eth_requestAccounts"})
		tab.visit(s.url("EURC-BASE"))
		tab.waitFor(tokenPay, "Pay with Fox", nil)
		tab.click(tokenPay)
		tab.waitFor(tokenPay, "Confirm in Fox", nil)
		s.change(func(r *api.Resource) { r.Status, r.DueAmount = api.StatusPending, "0" })
		tab.waitFor("#st", "Payment seen", nil)
		tab.answerWallets()
		tab.do(chromedp.Sleep(200 * time.Millisecond)) // in which the page would ask for a transaction
		if got := tab.transactions(); len(got) != 0 {
			t.Errorf("sent %v, but nothing is due", got)
		}
		tab.checkConsole()
	})
	t.Run("replaced_payment_can_be_sent_again", func(t *testing.T) {
		tab, s := open(t, phoneScreen), newStubService(t)
		tab.addWallets(wallet{Name: "Fox", Chain: "0x2105"})
		tab.visit(s.url("EURC-BASE"))
		tab.waitFor(tokenPay, "Pay with Fox", nil)
		tab.click(tokenPay)
		tab.waitFor(tokenPay, "Sent", nil)
		s.change(func(r *api.Resource) { r.Status, r.DueAmount = api.StatusPending, "0" })
		tab.waitFor("#st", "Payment seen", nil)
		s.change(func(r *api.Resource) { r.Status, r.DueAmount = api.StatusCreated, "56.5" })
		tab.waitFor("#st", "Waiting", nil) // this status alone must not offer a second payment
		tab.waitFor(tokenPay, "Sent", nil)
		s.change(func(r *api.Resource) {
			r.Exceptions = []string{api.ExceptionReplaced}
			r.Payments = []api.Payment{{ID: "t", CryptoCurrency: "EURC-BASE", Amount: "56.5", FiatAmount: "0", State: "replaced", Tx: "0x1"}}
		})
		tab.waitFor(tokenPay, "Pay with Fox", nil)
		tab.checkConsole()
	})
}

// TestWallet_request_for_every_method pays by each method that a wallet supports, with the whole program.
// The request must equal the payment link's transaction.
func TestWallet_request_for_every_method(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, p.url, p.key)
	tab := open(t, deskScreen)
	tab.addWallets(wallet{Name: "Fox", Chain: "0x1"})
	id := idOf(tab.createInvoice(p.url, "12,50"))
	paid := 0
	for _, m := range merchant.invoice(id).PaymentMethods {
		if m.ChainID == "" {
			continue
		}
		tab.visit(p.url + "/invoice/" + id + "?m=" + m.CryptoCurrency) // a new page, from which nothing was sent
		pay := ".wallets[data-method=" + m.CryptoCurrency + "] button"
		tab.waitFor(pay, "Pay with Fox", nil)
		tab.click(pay)
		tab.waitFor("#say", "Sent.", nil)
		if diff := cmp.Diff(tab.transactions(), []map[string]string{parsePaymentURI(t, m.PaymentURI)}); diff != "" {
			t.Errorf("%s: the wallet was asked (-got +want):\n%s", m.CryptoCurrency, diff)
		}
		paid++
	}
	if paid < 4 {
		t.Errorf("%d methods can be paid by a browser wallet, want at least 4", paid)
	}
	tab.checkConsole()
}

// parsePaymentURI returns the transaction that an ERC-681 payment link describes.
func parsePaymentURI(t *testing.T, uri string) map[string]string {
	t.Helper()
	path, query, _ := strings.Cut(strings.TrimPrefix(uri, "ethereum:"), "?")
	target, rest, _ := strings.Cut(path, "@")
	chain, function, _ := strings.Cut(rest, "/")
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	request := map[string]string{"from": "0x00000000000000000000000000000000000000f1", "to": target, "chainId": "0x" + hexOf(t, chain)}
	if function == "transfer" {
		address := strings.ToLower(strings.TrimPrefix(values.Get("address"), "0x"))
		request["value"], request["data"] = "0x0", fmt.Sprintf("0xa9059cbb%064s%064s", address, hexOf(t, values.Get("uint256")))
	} else {
		request["value"] = "0x" + hexOf(t, values.Get("value"))
	}
	return request
}

// TestPage_without_a_wallet checks that a page without wallets mentions none, with and without scripts.
func TestPage_without_a_wallet(t *testing.T) {
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			tab := open(t, s)
			tab.visit(newStubService(t).url("EURC-BASE"))
			if !s.noJS {
				tab.do(chromedp.Sleep(time.Second)) // longer than the page waits for wallets
			}
			if got := tab.visibleText("#live"); strings.Contains(got, "Pay with") || strings.Contains(got, "Confirm in") {
				t.Errorf("the page mentions a wallet:\n%s", got)
			}
			tab.picture(s, "wallet_none")
			tab.checkNoSidewaysScroll()
			tab.checkConsole()
		})
	}
}

// TestWrong_asset_is_shown shows a payment in a currency that was not asked for.
func TestWrong_asset_is_shown(t *testing.T) {
	for _, s := range []screen{phoneScreen, {name: "desk_dark", width: 1280, height: 900, dark: true}, phoneScreenNoJS} {
		t.Run(s.name, func(t *testing.T) {
			tab, stub := open(t, s), newStubService(t)
			tab.visit(stub.url("EURC-BASE"))
			stub.change(func(r *api.Resource) {
				r.Exceptions = []string{api.ExceptionWrongAsset}
				r.Payments = []api.Payment{{
					ID: "w", CryptoCurrency: "USDC", Symbol: "USDC", NetworkName: "Ethereum", Amount: "56.5", FiatAmount: "0", State: "wrong_asset", Tx: "0x1",
				}}
			})
			tab.waitFor("#pay", "56.5 USDC on Ethereum arrived, which is not asked for here.", tab.reloader(s, stub.url("EURC-BASE")))
			if got := tab.visibleText("#pay"); !strings.Contains(got, "Do not send it again.") || !strings.Contains(got, "give the reference "+stub.reference) {
				t.Errorf("the page lacks instructions:\n%s", got)
			}
			tab.picture(s, "wrong_asset")
			tab.checkNoSidewaysScroll()
			tab.checkConsole()
		})
	}
}

// TestPage_size_with_a_wallet checks the bytes, including headers, that Chromium receives for a page with
// two methods that a browser wallet can pay.
func TestPage_size_with_a_wallet(t *testing.T) {
	tab := open(t, phoneScreen)
	tab.addWallets(wallet{Name: "Fox", Chain: "0x2105"})
	tab.visit(newStubService(t).url("EURC-BASE"))
	tab.waitFor(tokenPay, "Pay with Fox", nil)
	const received = `performance.getEntries().filter(e => e.transferSize).reduce((sum, e) => [sum[0] + e.transferSize, sum[1] + 1], [0, 0])`
	got := get(tab, chromedp.Evaluate[[]int](received))
	t.Logf("%d bytes in %d responses", got[0], got[1])
	if got[0] > 15<<10 || got[1] > 5 { // the stream is the sixth response
		t.Errorf("the page has %d bytes in %d responses, want at most 15 KiB in 5", got[0], got[1])
	}
}
