package e2e_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// falseBalances starts a proxy of a node. The proxy adds one ether to every balance in the node's responses.
func falseBalances(t *testing.T, rpc string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, err := http.Post(rpc, "application/json", r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		var list []map[string]any
		if json.Unmarshal(text, &list) != nil {
			list = []map[string]any{{}}
			_ = json.Unmarshal(text, &list[0])
		}
		for _, a := range list {
			// Change any result that is not longer than a balance, except the chain id.
			if s, ok := a["result"].(string); ok && len(s) < 20 && s != "0x2105" {
				if n, ok := new(big.Int).SetString(strings.TrimPrefix(s, "0x"), 16); ok {
					a["result"] = fmt.Sprintf("0x%x", n.Add(n, big.NewInt(1e18)))
				}
			}
		}
		if bytes.HasPrefix(text, []byte("[")) {
			_ = json.NewEncoder(w).Encode(list)
			return
		}
		_ = json.NewEncoder(w).Encode(list[0])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestReal_ether_pays_an_invoice pays with a network's native coin in real blocks, also through contracts. Of four
// endpoints one returns wrong balances and one is down.
func TestReal_ether_pays_an_invoice(t *testing.T) {
	t.Parallel()
	shop := openTokenShop(t,
		func(*tokenShop) string { return "CHEQUER_EVM_ADDRESS_QUERIES=on" },
		func(s *tokenShop) string {
			return "CHEQUER_BASE_RPC=one=" + s.base.RPC + ",two=" + s.base.RPC + ",false=" + falseBalances(t, s.base.RPC) + ",dead=http://" + freeAddress(t)
		})
	node := shop.base
	forwards := node.Deploy(t, ethereumtest.Forwards)
	key, err := keys.Load("eth:" + ethXpub)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("by_a_contract", func(t *testing.T) {
		id, to, wei := shop.createEtherInvoice()
		node.Mine(t, node.TransactWith(t, wei, forwards, ethereumtest.Account(to)))
		mined := time.Now()
		shop.waitStatus(id, api.StatusPending, waitTimeout)
		t.Logf("from block to page: %s", time.Since(mined).Round(10*time.Millisecond))
		mine(t, node, 28)
		shop.waitStatus(id, api.StatusPending, waitTimeout)
		mine(t, node, 1)
		shop.waitStatus(id, api.StatusPaid, waitTimeout)
		if got := shop.invoice(id); len(got.Payments) != 1 || got.Payments[0].Tx != "" || len(got.Exceptions) != 0 {
			t.Errorf("payments %+v, exceptions %q", got.Payments, got.Exceptions)
		}
	})
	t.Run("by_a_plain_transfer", func(t *testing.T) {
		id, to, wei := shop.createEtherInvoice()
		tx := node.TransactWith(t, wei, to, "")
		node.Mine(t, tx)
		mine(t, node, 30)
		shop.waitStatus(id, api.StatusPaid, waitTimeout)
		if got := shop.invoice(id).PaidTx; got != tx {
			t.Errorf("paid by %q, want %s", got, tx)
		}
	})
	t.Run("refunded_by_the_stated_transaction", func(t *testing.T) {
		id, to, wei := shop.createEtherInvoice()
		node.Mine(t, node.TransactWith(t, new(big.Int).Add(wei, big.NewInt(5e15)), to, ""))
		mine(t, node, 30)
		shop.waitStatus(id, api.StatusPaid, waitTimeout)
		const shopper = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
		prepare := func(amount string) (made api.Refund) {
			t.Helper()
			if err := json.Unmarshal(shop.run("refund", "add", id, "--kind", "part", "--amount", amount, "--address", shopper, "--json"), &made); err != nil {
				t.Fatal(err)
			}
			return made
		}
		refund := func(ref string) api.Refund {
			all := shop.invoice(id).Refunds
			return all[slices.IndexFunc(all, func(r api.Refund) bool { return r.ID == ref })]
		}
		direct, byContract := prepare("0.001"), prepare("0.002")
		tx := node.TransactWith(t, big.NewInt(1e15), shopper, "")
		node.Mine(t, tx)
		indirect := node.TransactWith(t, big.NewInt(2e15), forwards, ethereumtest.Account(shopper))
		node.Mine(t, indirect)
		tip := node.Height(t)
		until(t, waitTimeout, "the blocks are scanned", func() bool { return shop.scannedHeight("base") >= tip })
		if got := refund(direct.ID); got.State != "ready" {
			t.Errorf("a transfer to the address made the refund %s without its transaction", got.State)
		}
		shop.run("refund", "sent", direct.ID, tx)
		shop.run("refund", "sent", byContract.ID, indirect)
		until(t, waitTimeout, "the transaction has confirmations", func() bool { return refund(direct.ID).Confirmations > 0 })
		mine(t, node, 30)
		until(t, waitTimeout, "the refund is confirmed", func() bool { return refund(direct.ID).State == "confirmed" })
		until(t, waitTimeout, "the refund by a contract is not proved", func() bool { return refund(byContract.ID).Trouble == "unproved" })
		if got := refund(direct.ID); got.Tx != tx || got.Trouble != "" {
			t.Errorf("the refund is %+v", got)
		}
		mine(t, node, 10)
		tip = node.Height(t)
		until(t, waitTimeout, "the next blocks are scanned", func() bool { return shop.scannedHeight("base") >= tip })
		if got := refund(direct.ID); got.State != "confirmed" {
			t.Errorf("the refund is %s after more blocks", got.State)
		}
	})
	t.Run("taken_back_by_a_reorganisation", func(t *testing.T) {
		id, to, wei := shop.createEtherInvoice()
		shop.checkReorganised(t, node, id, node.TransactWith(t, wei, to, ""), 30)
	})
	t.Run("found_after_the_program_was_killed", func(t *testing.T) {
		id, to, wei := shop.createEtherInvoice()
		half := new(big.Int).Quo(wei, big.NewInt(2))
		shop.kill() // possibly before it scanned
		node.Mine(t, node.TransactWith(t, half, forwards, ethereumtest.Account(to)))
		shop.serve()
		shop.waitStatus(id, api.StatusPending, waitTimeout)
		shop.kill()
		node.Mine(t, node.TransactWith(t, wei.Sub(wei, half), forwards, ethereumtest.Account(to)))
		mine(t, node, 40)
		shop.serve()
		shop.waitStatus(id, api.StatusPaid, waitTimeout)
		if got := shop.invoice(id); len(got.Payments) != 2 || slices.Contains(got.Exceptions, api.ExceptionOverpaid) {
			t.Errorf("payments %+v, exceptions %q", got.Payments, got.Exceptions)
		}
	})
	t.Run("with_an_earlier_balance_on_the_address", func(t *testing.T) {
		spare, _, _ := shop.createEtherInvoice() // the killed program skipped addresses
		shop.run("invoice", "cancel", spare)
		before, _, err := key.Address(shop.next)
		if err != nil {
			t.Fatal(err)
		}
		node.Mine(t, node.TransactWith(t, big.NewInt(5e17), before, ""))
		tip := node.Height(t)
		until(t, waitTimeout, "the block is scanned", func() bool { return shop.scannedHeight("base") >= tip })
		id, to, wei := shop.createEtherInvoice()
		if to != before {
			t.Fatalf("the invoice's address is %s, want %s", to, before)
		}
		mine(t, node, 3)
		until(t, waitTimeout, "the earlier balance has the state old", func() bool {
			p := shop.invoice(id).Payments
			return len(p) == 1 && p[0].State == "old"
		})
		node.Mine(t, node.TransactWith(t, wei, forwards, ethereumtest.Account(to)))
		mine(t, node, 30)
		shop.waitStatus(id, api.StatusPaid, waitTimeout)
		if got := shop.invoice(id); !slices.Equal(got.Exceptions, []string{api.ExceptionOld}) || got.PaidAmount != "12.5" {
			t.Errorf("paid %s, exceptions %q", got.PaidAmount, got.Exceptions)
		}
	})
	t.Run("sweeping_leaves_the_invoice_unchanged", func(t *testing.T) {
		id, due := shop.createEuroInvoice("ETH-BASE")
		node.Mine(t, node.Send(t, due))
		mine(t, node, 30)
		shop.waitStatus(id, api.StatusPaid, waitTimeout)
		before := shop.invoice(id)

		node.Mine(t, node.TransactWith(t, big.NewInt(1e14), due.Script, "")) // gas
		until(t, waitTimeout, "gas is seen", func() bool { return len(shop.invoice(id).Payments) == 2 })
		rows, err := csv.NewReader(bytes.NewReader(shop.run("wallet", "gather", "--network", "base", "--csv"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		index := shop.next - 1
		address, _, _ := key.Address(index)
		path := fmt.Sprintf("m/44'/60'/0'/0/%d", index)
		wallet := regexp.MustCompile(`wlt_[A-Za-z0-9]{16}`).FindString(string(shop.run("wallet", "list", "--json")))
		want := [][]string{
			{fmt.Sprint(index), path, address, "EURC-BASE", node.Token, "12.5", wallet},
			{fmt.Sprint(index), path, address, "ETH-BASE", "", "0.0001", wallet},
		}
		if diff := cmp.Diff(rows[len(rows)-2:], want); diff != "" {
			t.Errorf("the last rows of wallet gather (-got +want):\n%s", diff)
		}
		t.Logf("wallet gather:\n%s", shop.run("wallet", "gather", "--network", "base"))

		node.Call(t, nil, "anvil_impersonateAccount", due.Script)
		node.Call(t, nil, "eth_sendTransaction", map[string]any{
			"from": due.Script, "to": node.Token, "gas": "0x186a0", "gasPrice": "0x3b9aca00",
			"data": ethereumtest.Data("transfer(address,uint256)", strings.ToLower(forwards), money.MustParse("12.5", due.Amount.Currency()).Minor()),
		})
		mine(t, node, 2)
		node.Mine(t, node.TransactWith(t, big.NewInt(2e14), due.Script, "")) // another payment after the account has spent
		mine(t, node, 2)
		tip := node.Height(t)
		until(t, waitTimeout, "the blocks are scanned", func() bool { return shop.scannedHeight("base") >= tip })
		after := shop.invoice(id)
		if after.Status != api.StatusPaid || len(after.Exceptions) != 0 || after.PaidAmount != before.PaidAmount || len(after.Payments) != 2 {
			t.Errorf("%s, %q, paid %s by %+v", after.Status, after.Exceptions, after.PaidAmount, after.Payments)
		}
		if output := shop.run("wallet", "gather", "--network", "base"); strings.Contains(string(output), address+"  EURC-BASE") {
			t.Errorf("the tokens are still listed:\n%s", output)
		}
	})
	t.Run("doctor_does_not_warn_about_ether", func(t *testing.T) {
		out := string(shop.run("doctor"))
		if strings.Contains(out, "native coin") {
			t.Errorf("doctor reports that the coin of the network is not offered:\n%s", out)
		}
		t.Logf("doctor:\n%s", out)
	})
	t.Run("serve_refuses_a_setting_that_ends_watching_open_invoices", func(t *testing.T) {
		shop.createEtherInvoice()
		shop.kill()
		command := exec.CommandContext(t.Context(), binary(t), "serve")
		command.Env = append(slices.Clone(shop.environ), "CHEQUER_EVM_ADDRESS_QUERIES=off")
		output, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(output), "base in its native coin (1 open invoice)") {
			t.Errorf("%v: %s", err, output)
		}
	})
}
