package e2e_test

import (
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// ethXpub is the account key m/44'/60'/0' of a published mnemonic.
const ethXpub = "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt"

// tokenShop is the whole program with the shop's node of Ethereum and three endpoints of Base, of which
// one is down.
type tokenShop struct {
	*process
	shop
	ethereum, base *ethereumtest.Node
	metrics        string
	next           uint32 // index after that of the last invoice's address
}

// openTokenShop starts the program and its nodes. The functions return further settings.
func openTokenShop(t *testing.T, more ...func(*tokenShop) string) *tokenShop {
	t.Helper()
	shop := &tokenShop{ethereum: ethereumtest.Anvil(t, ethereum.Mainnet.ChainID), base: ethereumtest.Anvil(t, ethereum.Base.ChainID)}
	shop.ethereum.MoveToken(t, contractOf(ethereum.Mainnet, "EURC"))
	shop.base.MoveToken(t, contractOf(ethereum.Base, "EURC-BASE"))
	for _, n := range []*ethereumtest.Node{shop.ethereum, shop.base} {
		n.Mine(t)
	}
	listen := freeAddress(t)
	shop.metrics = freeAddress(t)
	shop.process = &process{t: t, url: "http://" + listen, environ: append(os.Environ(),
		"CHEQUER_LISTEN="+listen, "CHEQUER_DATA_DIR="+t.TempDir(), "CHEQUER_BITCOIN_NODE=off", "CHEQUER_METRICS="+shop.metrics,
		"CHEQUER_RATES=fixed:BTC-EUR=86420.00,ETH-EUR=2650.10,EUR-USD=1.08",
		"CHEQUER_ETHEREUM_RPC=trusted:"+shop.ethereum.RPC,
		"CHEQUER_BASE_RPC=one="+shop.base.RPC+",two="+shop.base.RPC+",three=http://"+freeAddress(t)+"/secretkey",
	)}
	for _, setting := range more {
		shop.environ = append(shop.environ, setting(shop))
	}
	shop.run("init")
	shop.run("wallet", "add", "ETH", ethXpub)
	var key merchant.Key
	if err := json.Unmarshal(shop.run("key", "add", "--json"), &key); err != nil {
		t.Fatal(err)
	}
	shop.serve()
	shop.shop = newShop(t, shop.url, key)
	for _, network := range []string{"ethereum", "base"} {
		until(t, waitTimeout, network+" is scanned", func() bool { return shop.networkHealth(network).Reached })
	}
	return shop
}

// contractOf returns the address of a token's contract.
func contractOf(p ethereum.Params, code string) string {
	return p.Assets[slices.IndexFunc(p.Assets, func(a chain.Asset) bool { return a.Code == code })].Contract
}

// scannedHeight returns the height to which a network is scanned.
func (s *tokenShop) scannedHeight(network string) int64 {
	s.process.t.Helper()
	return s.networkHealth(network).Tip
}

// networkHealth returns the state of a network in /readyz.
func (s *tokenShop) networkHealth(network string) health {
	s.process.t.Helper()
	response, err := http.Get(s.url + "/readyz")
	if err != nil {
		return health{}
	}
	defer response.Body.Close()
	var body struct{ Networks []health }
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		s.process.t.Fatal(err)
	}
	i := slices.IndexFunc(body.Networks, func(h health) bool { return h.Network == network })
	return body.Networks[i]
}

// createEuroInvoice creates an invoice of 12.50 euros that can be paid with EURC on Base, and with the given other
// currencies.
func (s *tokenShop) createEuroInvoice(more ...string) (id string, due chaintest.Output) {
	t := s.process.t
	t.Helper()
	id, m := s.createWithMethods(append([]string{"EURC-BASE"}, more...)...)
	if m[0].DueAmount != "12.5" {
		t.Fatalf("payment methods %+v", m)
	}
	return id, chaintest.Output{Script: strings.ToLower(m[0].Address), Amount: money.MustParse(m[0].DueAmount, money.Currency{Code: "EURC", Decimals: 6})}
}

// createEtherInvoice creates an invoice of 12.50 euros that can be paid with ether on Base.
func (s *tokenShop) createEtherInvoice() (id, to string, wei *big.Int) {
	s.process.t.Helper()
	id, m := s.createWithMethods("ETH-BASE")
	return id, m[0].Address, money.MustParse(m[0].DueAmount, money.ETH).Minor()
}

// createWithMethods creates an invoice of 12.50 euros with the given payment methods.
func (s *tokenShop) createWithMethods(codes ...string) (id string, methods []api.PaymentMethod) {
	t := s.process.t
	t.Helper()
	id, err := s.client.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "12.50", FiatCurrency: "EUR", PaymentMethods: codes}, "")
	if err != nil {
		t.Fatal(err)
	}
	methods = s.invoice(id).PaymentMethods
	if len(methods) != len(codes) {
		t.Fatalf("payment methods %+v", methods)
	}
	s.next = addressIndex(t, methods[0].Address) + 1
	return id, methods
}

// addressIndex returns the index of an address of ethXpub. A program that was killed may skip indexes.
func addressIndex(t *testing.T, address string) uint32 {
	t.Helper()
	key, err := keys.Load("eth:" + ethXpub)
	if err != nil {
		t.Fatal(err)
	}
	for index := range uint32(200) {
		if candidate, _, err := key.Address(index); err == nil && strings.EqualFold(candidate, address) {
			return index
		}
	}
	t.Fatalf("%s is not an address of the wallet", address)
	return 0
}

// checkReorganised mines a transaction, takes its block back by a reorganisation, and mines it again with more blocks.
// The invoice follows each step.
func (s *tokenShop) checkReorganised(t *testing.T, node *ethereumtest.Node, id, tx string, more int) {
	t.Helper()
	node.Mine(t, tx)
	mine(t, node, 2)
	s.waitStatus(id, api.StatusPending, waitTimeout)
	node.Reorganise(t, tx)
	s.waitStatus(id, api.StatusCreated, waitTimeout)
	node.Mine(t, tx)
	mine(t, node, more)
	s.waitStatus(id, api.StatusPaid, waitTimeout)
}

// mine mines a number of blocks.
func mine(t *testing.T, n *ethereumtest.Node, blocks int) {
	t.Helper()
	for range blocks {
		n.Mine(t)
	}
}

// TestReal_tokens_pay_an_invoice pays with a token in real blocks, with one of three endpoints down.
func TestReal_tokens_pay_an_invoice(t *testing.T) {
	t.Parallel()
	shop := openTokenShop(t)
	node := shop.base

	t.Run("paid_after_its_confirmations", func(t *testing.T) {
		id, due := shop.createEuroInvoice()
		node.Mine(t, node.Send(t, due))
		shop.waitStatus(id, api.StatusPending, waitTimeout)
		mine(t, node, 28)
		shop.waitStatus(id, api.StatusPending, waitTimeout)
		mine(t, node, 1)
		shop.waitStatus(id, api.StatusPaid, waitTimeout)
		if got := shop.invoice(id).Payments; len(got) != 1 {
			t.Errorf("payments %+v", got)
		}
	})
	t.Run("taken_back_by_a_reorganisation", func(t *testing.T) {
		id, due := shop.createEuroInvoice()
		shop.checkReorganised(t, node, id, node.Send(t, due), 29)
	})
	t.Run("sent_on_a_network_that_is_not_offered", func(t *testing.T) {
		id, due := shop.createEuroInvoice()
		shop.ethereum.Mine(t, shop.ethereum.Send(t, due))
		until(t, waitTimeout, "the exception wrong_asset is reported", func() bool {
			return slices.Contains(shop.invoice(id).Exceptions, api.ExceptionWrongAsset)
		})
		if got := shop.invoice(id).Status; got != api.StatusCreated {
			t.Errorf("the invoice is %s, want %s", got, api.StatusCreated)
		}
	})
	t.Run("sent_in_ether_on_a_network_that_is_not_offered", func(t *testing.T) {
		id, due := shop.createEuroInvoice()
		tx := shop.ethereum.TransactWith(t, big.NewInt(5e15), due.Script, "")
		shop.ethereum.Mine(t, tx)
		until(t, 2*waitTimeout, "the exception wrong_asset is reported", func() bool { // such payments are looked for once a minute
			return slices.Contains(shop.invoice(id).Exceptions, api.ExceptionWrongAsset)
		})
		got := shop.invoice(id)
		if p := got.Payments; got.Status != api.StatusCreated || len(p) != 1 || p[0].Symbol != "ETH" || p[0].NetworkName != "Ethereum" || p[0].Amount != "0.005" || p[0].Tx != tx {
			t.Errorf("%s, payments %+v", got.Status, p)
		}
		response, err := http.Get(shop.url + "/invoice/" + id)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		page, err := io.ReadAll(response.Body)
		if want := "0.005 ETH on Ethereum arrived, which is not asked for here. Do not send it again."; err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%v, the page lacks %q:\n%s", err, want, page)
		}
	})
	t.Run("refunded_from_another_wallet", func(t *testing.T) {
		id, due := shop.createEuroInvoice()
		due.Amount = due.Amount.Add(due.Amount)
		node.Mine(t, node.Send(t, due))
		mine(t, node, 29)
		shop.waitStatus(id, api.StatusPaid, waitTimeout)
		const shopper = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
		var made api.Refund
		if err := json.Unmarshal(shop.run("refund", "add", id, "--kind", "surplus", "--address", shopper, "--json"), &made); err != nil {
			t.Fatal(err)
		}
		tx := node.Send(t, chaintest.Output{Script: strings.ToLower(shopper), Amount: money.MustParse(made.Amount, due.Amount.Currency())})
		node.Mine(t, tx)
		mine(t, node, 40)
		until(t, waitTimeout, "the refund is confirmed", func() bool { return shop.invoice(id).Refunds[0].State == "confirmed" })
		if got := shop.invoice(id).Refunds[0]; got.Tx != tx || got.SentBy != "network" {
			t.Errorf("the refund is %+v, want the transaction %s", got, tx)
		}
	})
	t.Run("found_after_the_program_was_killed", func(t *testing.T) {
		id, due := shop.createEuroInvoice()
		shop.kill()
		node.Mine(t, node.Send(t, due))
		mine(t, node, 40) // more than the 30 confirmations that Base requires
		shop.serve()
		shop.waitStatus(id, api.StatusPaid, waitTimeout)
	})
	t.Run("doctor_reports_the_state_of_endpoints", func(t *testing.T) {
		out := string(shop.run("doctor"))
		for _, want := range []string{
			"ok    network base, endpoint one: at block", "warn  network base, endpoint three: ", "own node, at block", "ok    network ethereum: scanned to block",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("doctor does not print %q:\n%s", want, out)
			}
		}
		if strings.Contains(out, "secretkey") {
			t.Errorf("doctor prints a key:\n%s", out)
		}
		t.Logf("doctor:\n%s", out)
	})
	t.Run("metrics_report_the_state_of_endpoints", func(t *testing.T) {
		response, err := http.Get("http://" + shop.metrics + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`chequer_endpoint_up{endpoint="one",network="base"} 1`, `chequer_endpoint_up{endpoint="three",network="base"} 0`,
			`chequer_endpoint_height{endpoint="127.0.0.1",network="ethereum"}`, `chequer_source_up{network="base"} 1`,
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the metrics lack %s", want)
			}
		}
	})
}
