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

// falseBalances starts a proxy of a node. The proxy adds one ether to every balance in the node's answers.
func falseBalances(t *testing.T, rpc string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := http.Post(rpc, "application/json", r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
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

// TestReal_ether_pays_an_invoice pays with a network's own coin in real blocks, also through contracts. Of four
// endpoints one returns wrong balances and one is down.
func TestReal_ether_pays_an_invoice(t *testing.T) {
	t.Parallel()
	s := openTokenShop(t,
		func(*tokenShop) string { return "CHEQUER_EVM_ADDRESS_QUERIES=on" },
		func(s *tokenShop) string {
			return "CHEQUER_BASE_RPC=one=" + s.base.RPC + ",two=" + s.base.RPC + ",false=" + falseBalances(t, s.base.RPC) + ",dead=http://" + freePort(t)
		})
	n := s.base
	forwards := n.Deploy(t, ethereumtest.Forwards)
	key, err := keys.Load("eth:" + ethXpub)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("by_a_contract", func(t *testing.T) {
		id, to, wei := s.ether()
		n.Mine(t, n.TransactWith(t, wei, forwards, ethereumtest.Account(to)))
		mined := time.Now()
		s.status(id, api.StatusPending, waitTimeout)
		t.Logf("from block to page: %s", time.Since(mined).Round(10*time.Millisecond))
		mine(t, n, 28)
		s.status(id, api.StatusPending, waitTimeout)
		mine(t, n, 1)
		s.status(id, api.StatusPaid, waitTimeout)
		if got := s.invoice(id); len(got.Payments) != 1 || got.Payments[0].Tx != "" || len(got.Exceptions) != 0 {
			t.Errorf("payments %+v, exceptions %q", got.Payments, got.Exceptions)
		}
	})
	t.Run("by_a_plain_transfer", func(t *testing.T) {
		id, to, wei := s.ether()
		tx := n.TransactWith(t, wei, to, "")
		n.Mine(t, tx)
		mine(t, n, 30)
		s.status(id, api.StatusPaid, waitTimeout)
		if got := s.invoice(id).PaidTx; got != tx {
			t.Errorf("paid by %q, want %s", got, tx)
		}
	})
	t.Run("taken_back_by_a_reorganisation", func(t *testing.T) {
		id, to, wei := s.ether()
		tx := n.TransactWith(t, wei, to, "")
		n.Mine(t, tx)
		mine(t, n, 2)
		s.status(id, api.StatusPending, waitTimeout)
		n.Reorganise(t, tx)
		s.status(id, api.StatusCreated, waitTimeout)
		n.Mine(t, tx)
		mine(t, n, 30)
		s.status(id, api.StatusPaid, waitTimeout)
	})
	t.Run("found_after_the_program_was_killed", func(t *testing.T) {
		id, to, wei := s.ether()
		half := new(big.Int).Quo(wei, big.NewInt(2))
		s.kill() // possibly before it scanned
		n.Mine(t, n.TransactWith(t, half, forwards, ethereumtest.Account(to)))
		s.serve()
		s.status(id, api.StatusPending, waitTimeout)
		s.kill()
		n.Mine(t, n.TransactWith(t, wei.Sub(wei, half), forwards, ethereumtest.Account(to)))
		mine(t, n, 40)
		s.serve()
		s.status(id, api.StatusPaid, waitTimeout)
		if got := s.invoice(id); len(got.Payments) != 2 || slices.Contains(got.Exceptions, api.ExceptionOverpaid) {
			t.Errorf("payments %+v, exceptions %q", got.Payments, got.Exceptions)
		}
	})
	t.Run("with_an_earlier_balance_on_the_address", func(t *testing.T) {
		spare, _, _ := s.ether() // the killed program skipped addresses
		s.run("invoice", "cancel", spare)
		before, _, err := key.Address(s.next)
		if err != nil {
			t.Fatal(err)
		}
		n.Mine(t, n.TransactWith(t, big.NewInt(5e17), before, ""))
		tip := n.Height(t)
		until(t, waitTimeout, "the block is scanned", func() bool { return s.tip("base") >= tip })
		id, to, wei := s.ether()
		if to != before {
			t.Fatalf("the invoice's address is %s, want %s", to, before)
		}
		mine(t, n, 3)
		until(t, waitTimeout, "the earlier balance has the state old", func() bool {
			p := s.invoice(id).Payments
			return len(p) == 1 && p[0].State == "old"
		})
		n.Mine(t, n.TransactWith(t, wei, forwards, ethereumtest.Account(to)))
		mine(t, n, 30)
		s.status(id, api.StatusPaid, waitTimeout)
		if got := s.invoice(id); !slices.Equal(got.Exceptions, []string{api.ExceptionOld}) || got.PaidAmount != "12.5" {
			t.Errorf("paid %s, exceptions %q", got.PaidAmount, got.Exceptions)
		}
	})
	t.Run("sweeping_leaves_the_invoice_unchanged", func(t *testing.T) {
		id, due := s.euros("ETH-BASE")
		n.Mine(t, n.Send(t, due))
		mine(t, n, 30)
		s.status(id, api.StatusPaid, waitTimeout)
		before := s.invoice(id)

		n.Mine(t, n.TransactWith(t, big.NewInt(1e14), due.Script, "")) // gas
		until(t, waitTimeout, "gas is seen", func() bool { return len(s.invoice(id).Payments) == 2 })
		rows, err := csv.NewReader(bytes.NewReader(s.run("wallet", "gather", "--network", "base", "--csv"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		index := s.next - 1
		address, _, _ := key.Address(index)
		path := fmt.Sprintf("m/44'/60'/0'/0/%d", index)
		wallet := regexp.MustCompile(`wlt_[A-Za-z0-9]{16}`).FindString(string(s.run("wallet", "list", "--json")))
		want := [][]string{
			{fmt.Sprint(index), path, address, "EURC-BASE", n.Token, "12.5", wallet},
			{fmt.Sprint(index), path, address, "ETH-BASE", "", "0.0001", wallet},
		}
		if diff := cmp.Diff(rows[len(rows)-2:], want); diff != "" {
			t.Errorf("the last rows of wallet gather (-got +want):\n%s", diff)
		}
		t.Logf("wallet gather:\n%s", s.run("wallet", "gather", "--network", "base"))

		n.Call(t, nil, "anvil_impersonateAccount", due.Script)
		n.Call(t, nil, "eth_sendTransaction", map[string]any{
			"from": due.Script, "to": n.Token, "gas": "0x186a0", "gasPrice": "0x3b9aca00",
			"data": ethereumtest.Data("transfer(address,uint256)", strings.ToLower(forwards), money.MustParse("12.5", due.Amount.Currency()).Minor()),
		})
		mine(t, n, 2)
		n.Mine(t, n.TransactWith(t, big.NewInt(2e14), due.Script, "")) // another payment after the account has spent
		mine(t, n, 2)
		tip := n.Height(t)
		until(t, waitTimeout, "the blocks are scanned", func() bool { return s.tip("base") >= tip })
		after := s.invoice(id)
		if after.Status != api.StatusPaid || len(after.Exceptions) != 0 || after.PaidAmount != before.PaidAmount || len(after.Payments) != 2 {
			t.Errorf("%s, %q, paid %s by %+v", after.Status, after.Exceptions, after.PaidAmount, after.Payments)
		}
		if out := s.run("wallet", "gather", "--network", "base"); strings.Contains(string(out), address+"  EURC-BASE") {
			t.Errorf("the tokens are still listed:\n%s", out)
		}
	})
	t.Run("doctor_does_not_warn_about_ether", func(t *testing.T) {
		out := string(s.run("doctor"))
		if strings.Contains(out, "own coin") {
			t.Errorf("doctor reports that the coin of the network is not offered:\n%s", out)
		}
		t.Logf("doctor:\n%s", out)
	})
	t.Run("serve_refuses_a_setting_that_ends_watching_open_invoices", func(t *testing.T) {
		s.ether()
		s.kill()
		command := exec.CommandContext(t.Context(), binary(t), "serve")
		command.Env = append(slices.Clone(s.environ), "CHEQUER_EVM_ADDRESS_QUERIES=off")
		out, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "base in its own coin (1 open invoice)") {
			t.Errorf("%v: %s", err, out)
		}
	})
}
