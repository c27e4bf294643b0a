package e2e_test

import (
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"chequer/internal/app"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/evm"
	"chequer/internal/keys"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/recorded"
	"chequer/internal/sweep/sign"
)

// sweepWords are the recovery words of ethXpub.
const sweepWords = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"

// sweepDesk is the desk of a shop with a recorded plan of EURC on Base. Its rows need a payer.
type sweepDesk struct {
	t     *testing.T
	owner *deskClient
	node  *ethereumtest.Node // nil if no network is watched
	token string             // the contract
	plan  plan.Plan
	url   string // of the page of the plan
	file  string // path of the signed file
}

// newSweepDesk starts a server and records a plan with rows, at the present time. With a node, the addresses of the rows hold their amounts
// there.
func newSweepDesk(t *testing.T, rows int, node *ethereumtest.Node) *sweepDesk {
	t.Helper()
	d := &sweepDesk{t: t, node: node, token: contractOf(ethereum.Base, "EURC-BASE")}
	more := []string{"CHEQUER_BITCOIN_NODE=off"}
	block := uint64(1)
	if node != nil {
		var code string
		node.Call(t, &code, "eth_getCode", node.DeployAuthorized(t), "latest")
		node.Call(t, nil, "anvil_setCode", d.token, code)
		node.SetMulticall(t, evm.Multicall3.String())
		node.Call(t, nil, "anvil_setCode", "0x420000000000000000000000000000000000000F", "0x6103e860005260206000f3") // the oracle of fees returns 1,000
		node.Mine(t)
		block = uint64(node.Height(t))
		more = append(more, "CHEQUER_BASE_RPC=one="+node.RPC+",two="+node.RPC, "CHEQUER_EVM_ADDRESS_QUERIES=on")
	}
	c := settings(t, more...)
	a, err := app.New(t.Context(), c, app.Options{Log: slog.New(slog.DiscardHandler)})
	d.must(err)
	runApp(t, a)
	link, err := a.DeskLink(t.Context())
	d.must(err)
	d.owner = newDeskClient(t, link.URL, "Maren")

	d.plan = d.newPlan(rows, block)
	core, err := app.OpenCore(t.Context(), c, app.Options{Existing: true, Log: slog.New(slog.DiscardHandler)})
	d.must(err)
	defer core.Close()
	d.must(core.Storage.AddSweep(t.Context(), recorded.New("m_first", d.plan)))
	d.url = d.owner.url + deskShop + "/sweeps/" + d.plan.ID
	d.file = filepath.Join(t.TempDir(), "plan.signed.json")
	d.must(os.WriteFile(d.file, d.sign(), 0o600))
	return d
}

func (d *sweepDesk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// newPlan returns a plan of rows, whose addresses hold the amounts.
func (d *sweepDesk) newPlan(rows int, block uint64) plan.Plan {
	d.t.Helper()
	p := plantest.Tokens(time.Now().UTC().Truncate(time.Second))
	p.ID, p.Block, p.Sums = "swp_e2e", block, p.Sums[:1]
	account, err := plan.ParsePath("m/44'/60'/0'")
	d.must(err)
	key, err := keys.Load("eth:" + ethXpub)
	d.must(err)
	p.Account, p.Rows = account, p.Rows[:1]
	for i := range uint32(rows) {
		_, script, err := key.Address(i)
		d.must(err)
		r := p.Rows[0]
		r.From, err = keys.ParseEthereumAddress(script)
		d.must(err)
		r.Steps, r.Amount = [2]uint32{0, i}, big.NewInt(int64(50_000_000+i))
		p.Rows = append(p.Rows, r)
		if d.node != nil {
			d.hold(r.From, r.Amount.Int64())
		}
	}
	p.Rows = p.Rows[1:]
	return plantest.Encoded(d.t, p)
}

// hold sets the balance of an address in the token.
func (d *sweepDesk) hold(account evm.Address, units int64) {
	d.t.Helper()
	owner, slot := evm.AddressWord(account), evm.NumberWord(1) // the slot of Authorized.balanceOf
	d.node.Call(d.t, nil, "anvil_setStorageAt", d.token, evm.Keccak256(owner[:], slot[:]).String(), evm.Hash(evm.NumberWord(uint64(units))).String())
	d.node.Mine(d.t)
}

// sign returns the signed file of the plan.
func (d *sweepDesk) sign() []byte {
	d.t.Helper()
	w, err := sign.Open([]byte(sweepWords), nil)
	d.must(err)
	defer w.Close()
	s, err := sign.NewSigner(d.plan, w, sign.Options{})
	d.must(err)
	defer s.Close()
	signed, err := s.Sign()
	d.must(err)
	content, err := signed.Encode()
	d.must(err)
	return content
}

// upload chooses a signed file on the page that checks it, and sends it.
func (d *sweepDesk) upload(b *tab, file string) {
	b.t.Helper()
	b.signInAs(d.owner)
	b.visit(d.url + "/send")
	b.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{file}))
	b.send("#check button")
}

// transact sends a transaction of the token from another account.
func (d *sweepDesk) transact(data string) {
	d.t.Helper()
	tx := d.node.Transact(d.t, d.token, data)
	d.node.Mine(d.t, tx)
	if _, succeeded := d.node.Outcome(d.t, tx); !succeeded {
		d.t.Fatalf("the transaction %s failed", data)
	}
}

// answer gives the transaction that the wallet is asked for to the node, from its account, and answers the page with the hash.
func (d *sweepDesk) answer(b *tab, number int) (hash string) {
	b.t.Helper()
	until(b.t, waitTimeout, "the wallet is asked", func() bool { return len(b.transactions()) == number })
	request := b.transactions()[number-1]
	var accounts []string
	d.node.Call(b.t, &accounts, "eth_accounts")
	if !strings.EqualFold(request["to"], evm.Multicall3.String()) || request["value"] != "0x0" || request["chainId"] != "0x2105" {
		b.t.Errorf("the wallet is asked for %v", request)
	}
	d.node.Call(b.t, &hash, "eth_sendTransaction", map[string]string{"from": accounts[0], "to": request["to"], "data": request["data"], "gas": request["gas"], "value": request["value"]})
	get(b, chromedp.Evaluate[any](`answer(`+strconv.Quote(hash)+`)`))
	return hash
}

// states returns the numbers of rows by state that the page of the plan shows.
func (d *sweepDesk) states(b *tab) string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string](`[...document.querySelectorAll(".facts div")].find(f => f.firstChild.textContent === "Rows").lastChild.textContent`))
}

// held returns the balance of the destination.
func (d *sweepDesk) held() int64 {
	d.t.Helper()
	return d.node.Read(d.t, d.token, ethereumtest.Data("balanceOf(address)", plantest.To)).Int64()
}

// TestDesk_sends_a_sweep follows an owner from a recorded plan to moved coins, with a wallet in the browser and real blocks.
func TestDesk_sends_a_sweep(t *testing.T) {
	t.Parallel()
	d := newSweepDesk(t, 106, ethereumtest.Anvil(t, ethereum.Base.ChainID))
	signed, err := plan.ReadSigned(d.sign())
	d.must(err)
	d.transact(ethereumtest.Data("setBlocked(address,uint256)", d.plan.Rows[1].From.String(), big.NewInt(1)))
	d.hold(d.plan.Rows[2].From, 1)
	call := d.plan.Call(4, signed.Rows[3].Signature)
	d.transact(fmt.Sprintf("0x%x", call.Data)) // by a stranger

	tab := openAlone(t, phoneScreen)
	tab.addWallets(wallet{Name: "Fox", Chain: "0x1", Holds: "eth_sendTransaction"})
	tab.signInAs(d.owner)
	tab.visit(d.owner.url + deskShop + "/wallets")
	tab.click(`.tabs a[href$="/sweeps"]`)
	tab.click(".rows a")
	tab.waitFor("h1", "EURC on Base", nil)
	tab.click(`.sum a[href$="/send"]`)
	tab.waitFor("h1", "Send with a browser wallet", nil)

	foreign := filepath.Join(t.TempDir(), "other.json")
	d.must(os.WriteFile(foreign, d.plan.Bytes(), 0o600))
	d.upload(tab, foreign)
	tab.waitFor("#file-error", "the signed file is not valid", nil)
	d.upload(tab, d.file)
	tab.waitFor("#summary", "103 rows", nil)
	tab.waitFor("#failing", "Blocked", nil)
	tab.waitFor("#failing", "Nothing there", nil)
	tab.picture(tab.screen, "desk_sweep_offered")
	tab.checkNoSidewaysScroll()

	const first, second = "[data-carrier]:nth-of-type(1)", "[data-carrier]:nth-of-type(2)"
	tab.waitFor(first+" .bs", "Send with Fox", nil)
	if got := tab.text(second + " .bs"); got != "" {
		t.Errorf("the second transaction has the button %q before the first is sent", got)
	}
	tab.click(first + " .b")
	tab.waitFor("#say", "Confirm in Fox", nil)
	one := d.answer(tab, 1)
	tab.waitFor(first+" .bs", "Sent", nil)
	tab.waitFor(second+" .bs", "Send with Fox", nil)
	d.node.Mine(t)
	tab.click(second + " .b")
	two := d.answer(tab, 2)
	tab.waitFor("#say", "All transactions are sent", nil)
	tab.picture(tab.screen, "desk_sweep_given")
	d.node.Mine(t)

	look := func(want string) {
		t.Helper()
		tab.visit(d.url)
		tab.click(`form[action$="/look"] button`)
		tab.waitFor("[role=status]", "These are the states that the network shows now.", nil)
		if got := d.states(tab); got != want {
			t.Errorf("the states are %q, want %q", got, want)
		}
	}
	look("104 sent, 1 nothing there, 1 blocked") // with that of the stranger
	d.upload(tab, d.file)
	tab.waitFor("main", "104 rows are sent already", nil)
	if n := get(tab, chromedp.Evaluate[int](`document.querySelectorAll("[data-carrier]").length`)); n > 0 {
		t.Errorf("%d transactions are offered again", n)
	}
	d.node.Call(t, nil, "anvil_mine", "0x64")
	look("104 moved, 1 nothing there, 1 blocked")
	tab.picture(tab.screen, "desk_sweep_done")
	tab.checkNoSidewaysScroll()
	var want int64
	for i, r := range d.plan.Rows {
		if i != 1 && i != 2 {
			want += r.Amount.Int64()
		}
	}
	if got := d.held(); got != want {
		t.Errorf("the destination holds %d, want %d", got, want)
	}
	shown := tab.text("aside")
	for _, tx := range []string{one, two} {
		if !strings.Contains(strings.Join(strings.Fields(shown), ""), tx) {
			t.Errorf("the page lacks the transaction %s", tx)
		}
	}
	tab.discardMessages("status of 422 (Unprocessable Entity)")
	tab.checkConsole()
}

// TestDesk_shows_what_the_wallet_answers tries wallets that send nothing, and a server that does not record a hash.
func TestDesk_shows_what_the_wallet_answers(t *testing.T) {
	t.Parallel()
	d := newSweepDesk(t, 2, ethereumtest.Anvil(t, ethereum.Base.ChainID))
	const pay = "[data-carrier] .bs"
	for _, tt := range []struct {
		name   string
		wallet wallet
		want   string
	}{
		{"refused", wallet{Fails: map[string]fault{"eth_sendTransaction": {Code: 4001}}}, "You cancelled in Fox. Nothing was sent."},
		{"refused_to_connect", wallet{Fails: map[string]fault{"eth_requestAccounts": {Code: 4001}}}, "You cancelled in Fox. Nothing was sent."},
		{"unknown_network", wallet{Chain: "0x1", Fails: map[string]fault{"wallet_switchEthereumChain": {Code: 4902}}}, "Add the network Base (chain ID 8453)"},
		{"another_network", wallet{Chain: "0x1", Stays: true}, "Switch Fox to the network Base"},
		{"no_coins", wallet{Fails: map[string]fault{"eth_sendTransaction": {Code: -32000, Message: "insufficient funds for gas"}}}, "Not enough ETH in Fox for the fee."},
		{"unclear", wallet{Fails: map[string]fault{"eth_sendTransaction": {Code: -32603, Message: "Internal"}}}, "Look there whether anything was sent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab := openAlone(t, phoneScreen)
			tt.wallet.Name = "Fox"
			if tt.wallet.Chain == "" {
				tt.wallet.Chain = "0x2105"
			}
			tab.addWallets(tt.wallet)
			d.upload(tab, d.file)
			tab.waitFor(pay, "Send with Fox", nil)
			tab.click(pay + " .b")
			tab.waitFor("#say", tt.want, nil)
			tab.waitFor(pay, "Send with Fox", nil)
			tab.checkConsole()
		})
	}
	t.Run("no_wallet", func(t *testing.T) {
		tab := openAlone(t, phoneScreen)
		d.upload(tab, d.file)
		tab.waitFor("#say", "This browser has no wallet.", nil)
		tab.checkConsole()
	})
	t.Run("no_script", func(t *testing.T) {
		tab := openAlone(t, phoneScreenNoJS)
		d.upload(tab, d.file)
		tab.waitFor("#carriers", "Sending needs JavaScript and a wallet in this browser.", nil)
	})
	t.Run("not_recorded_at_first", func(t *testing.T) {
		tab := openAlone(t, phoneScreen)
		tab.addWallets(wallet{Name: "Fox", Chain: "0x2105", Holds: "eth_sendTransaction"})
		d.upload(tab, d.file)
		tab.waitFor(pay, "Send with Fox", nil)
		tab.click(pay + " .b")
		until(t, waitTimeout, "the wallet is asked", func() bool { return len(tab.transactions()) == 1 })
		get(tab, chromedp.Evaluate[any](`window.fetchBefore = fetch, window.fetch = () => Promise.reject(new TypeError("Failed to fetch")), 0`))
		hash := d.answer(tab, 1)
		tab.waitFor("#say", "The wallet sent "+hash+", and the server did not record it.", nil)
		tab.waitFor(pay, "Record again", nil)
		get(tab, chromedp.Evaluate[any](`window.fetch = fetchBefore, 0`))
		tab.click(pay + " .b")
		tab.waitFor(pay, "Sent", nil)
		tab.visit(d.url)
		if got := d.states(tab); got != "2 sent" {
			t.Errorf("the states are %q, want 2 sent", got)
		}
	})
	t.Run("sent_by_another_desk_meanwhile", func(t *testing.T) {
		d := newSweepDesk(t, 1, ethereumtest.Anvil(t, ethereum.Base.ChainID))
		one, two := openAlone(t, phoneScreen), openAlone(t, phoneScreen)
		for _, tab := range []*tab{one, two} {
			tab.addWallets(wallet{Name: "Fox", Chain: "0x2105"})
			d.upload(tab, d.file)
			tab.waitFor(pay, "Send with Fox", nil)
		}
		one.click(pay + " .b")
		one.waitFor(pay, "Sent", nil)
		two.click(pay + " .b")
		two.waitFor("#say", "Another transaction carries these rows already.", nil)
		if n := len(two.transactions()); n != 0 {
			t.Errorf("the second wallet is asked for %d transactions", n)
		}
	})
}

// atSweep returns a step that visits a page of a plan that no network shows.
func atSweep(path string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		d := newSweepDesk(site.t, 120, nil)
		b.signInAs(d.owner)
		if path == "list" {
			b.visit(d.owner.url + deskShop + "/sweeps")
			return
		}
		b.visit(d.url + path)
	}
}

// sweepRefused visits the page that refuses a signed file.
func sweepRefused(b *tab, site *demoSite) {
	b.t.Helper()
	d := newSweepDesk(site.t, 2, nil)
	d.must(os.WriteFile(d.file, d.plan.Bytes(), 0o600))
	d.upload(b, d.file)
	b.do(chromedp.WaitVisible(chromedp.CSS("#file-error")))
}

// sweepOffered visits the page that offers transactions to a wallet.
func sweepOffered(b *tab, site *demoSite) {
	b.t.Helper()
	d := newSweepDesk(site.t, 3, ethereumtest.Anvil(site.t, ethereum.Base.ChainID))
	d.transact(ethereumtest.Data("setBlocked(address,uint256)", d.plan.Rows[1].From.String(), big.NewInt(1)))
	b.addWallets(wallet{Name: "Fox", Chain: "0x2105"})
	d.upload(b, d.file)
	b.waitFor("[data-carrier] .bs", "Send with Fox", nil)
}
