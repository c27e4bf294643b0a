package sign

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"testing"
	"time"

	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
)

// sweptNode is a node with a token and the addresses of a signed plan.
type sweptNode struct {
	*ethereumtest.Node
	token  string
	plan   plan.Plan
	signed plan.Signed
}

// newSweptNode starts a node whose accounts hold what the rows of a plan move, and signs the plan with its payer.
func newSweptNode(t *testing.T) *sweptNode {
	t.Helper()
	n := &sweptNode{Node: ethereumtest.Anvil(t, 8453)}
	n.token = n.DeployAuthorized(t)
	n.SetMulticall(t, evm.Multicall3.String())
	n.plan = n.newPlan(t)
	n.Call(t, nil, "anvil_setBalance", n.plan.Payer.Address.String(), "0x16345785d8a0000")
	for _, r := range n.plan.Rows {
		if r.Way == plan.ByOwn {
			n.Call(t, nil, "anvil_setBalance", r.From.String(), fmt.Sprintf("0x%x", new(big.Int).Add(r.Amount, n.plan.Transaction(r).MaxFee())))
			continue
		}
		n.MineBlock(t, n.Transact(t, n.token, ethereumtest.Data("mint(address,uint256)", r.From.String(), r.Amount)))
	}
	s, err := NewSigner(n.plan, openWallet(t, plantest.Words, plantest.Passphrase), Options{Payer: parsePath(t, plantest.Payer)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n.signed, err = s.Sign(); err != nil {
		t.Fatal(err)
	}
	return n
}

// newPlan returns a plan of four amounts of the token and one of the coin.
func (n *sweptNode) newPlan(t *testing.T) plan.Plan {
	t.Helper()
	p := plantest.Example(time.Now())
	row := p.Rows[0]
	row.Contract = n.contract(t)
	p.Rows[1] = p.Rows[4] // the token at another address
	p.Rows[4] = row
	p.Rows[4].Steps, p.Rows[4].From = [2]uint32{0, 4}, plantest.Address("0x6496437b7dD68220b3Fe48533478201030cB1d92")
	for i := range p.Rows {
		if p.Rows[i].Way == plan.ByAuthorization {
			p.Rows[i].Contract = row.Contract
		}
	}
	p.Sums = []plan.Sum{p.Sums[0], p.Sums[2]}
	p.Payer.Cost.Nonce = 0
	return plantest.Encoded(t, p)
}

// contract returns the address of the token.
func (n *sweptNode) contract(t *testing.T) evm.Address {
	t.Helper()
	a, err := evm.ParseAddress(n.token)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// balance returns the balance of an account in the token.
func (n *sweptNode) balance(t *testing.T, account evm.Address) *big.Int {
	t.Helper()
	return n.Read(t, n.token, ethereumtest.Data("balanceOf(address)", account.String()))
}

// isUsed reports whether the authorization of a row was used.
func (n *sweptNode) isUsed(t *testing.T, row int) bool {
	t.Helper()
	nonce := n.plan.Nonce(row)
	data := ethereumtest.Data("authorizationState(address,bytes32)", n.plan.Rows[row-1].From.String()) + hex.EncodeToString(nonce[:])
	return n.Read(t, n.token, data).Sign() != 0
}

// send sends a signed transaction, mines it, and reports whether it succeeded.
func (n *sweptNode) send(t *testing.T, raw string) bool {
	t.Helper()
	var tx string
	n.Call(t, &tx, "eth_sendRawTransaction", raw)
	n.MineBlock(t)
	mined, succeeded := n.Outcome(t, tx)
	return mined && succeeded
}

// spend sends the smallest unit of the token from an address to a contract.
func (n *sweptNode) spend(t *testing.T, from evm.Address) {
	t.Helper()
	n.Call(t, nil, "anvil_impersonateAccount", from.String())
	n.Call(t, nil, "anvil_setBalance", from.String(), "0x16345785d8a0000")
	var tx string
	n.Call(t, &tx, "eth_sendTransaction", map[string]string{
		"from": from.String(), "to": n.token, "data": ethereumtest.Data("transfer(address,uint256)", evm.Multicall3.String(), big.NewInt(1)), "gas": "0x186a0",
	})
	n.MineBlock(t)
	if mined, succeeded := n.Outcome(t, tx); !mined || !succeeded {
		t.Fatalf("the transfer is mined: %t, succeeded: %t", mined, succeeded)
	}
}

// submit submits the authorization of a row from an account of a stranger, and reports whether the call succeeded.
func (n *sweptNode) submit(t *testing.T, row int) bool {
	t.Helper()
	call := n.plan.Call(row, n.signed.Rows[row-1].Signature)
	tx := n.Transact(t, n.token, "0x"+hex.EncodeToString(call.Data))
	n.MineBlock(t, tx)
	_, succeeded := n.Outcome(t, tx)
	return succeeded
}

func TestDomain_is_that_of_the_token(t *testing.T) {
	t.Parallel()
	n := newSweptNode(t)
	got := n.plan.Domain(n.plan.Rows[0]).Separator().String()
	if want := fmt.Sprintf("0x%064x", n.Read(t, n.token, ethereumtest.Data("DOMAIN_SEPARATOR()"))); got != want {
		t.Errorf("separator = %s, want %s", got, want)
	}
}

// Row 2 is blocked by the issuer, and the amount of row 3 is spent, after the plan was signed. A stranger has
// submitted row 5.
func TestSigned_file_moves_each_row_alone_and_once(t *testing.T) {
	t.Parallel()
	n := newSweptNode(t)
	rows := n.plan.Rows
	n.MineBlock(t, n.Transact(t, n.token, ethereumtest.Data("setBlocked(address,uint256)", rows[1].From.String(), big.NewInt(1))))
	n.spend(t, rows[2].From)
	if !n.submit(t, 5) {
		t.Error("row 5 was not moved for a stranger")
	}
	for i, raw := range n.signed.Payer {
		if !n.send(t, raw) {
			t.Errorf("transaction %d of the payer failed", i+1)
		}
	}
	if !n.send(t, n.signed.Rows[3].Transaction) {
		t.Error("the transaction of row 4 failed")
	}

	var used []int
	for i, r := range rows {
		if r.Way == plan.ByAuthorization && n.isUsed(t, i+1) {
			used = append(used, i+1)
		}
	}
	if got := fmt.Sprint(used); got != "[1 5]" {
		t.Errorf("the rows %s are moved, want [1 5]", got)
	}
	want := new(big.Int).Add(rows[0].Amount, rows[4].Amount)
	if got := n.balance(t, n.plan.To); got.Cmp(want) != 0 {
		t.Errorf("the destination has %s of the token, want %s", got, want)
	}
	if got := n.Balance(t, n.plan.To.String()); got.Cmp(rows[3].Amount) != 0 {
		t.Errorf("the destination has %s wei, want %s", got, rows[3].Amount)
	}

	// Nothing moves twice. A row that failed can be submitted again while it is valid.
	for _, row := range []int{1, 5} {
		if n.submit(t, row) {
			t.Errorf("row %d was moved twice", row)
		}
	}
	n.MineBlock(t, n.Transact(t, n.token, ethereumtest.Data("setBlocked(address,uint256)", rows[1].From.String(), big.NewInt(0))))
	if !n.submit(t, 2) {
		t.Error("row 2 was not moved after the issuer released it")
	}
}

func TestSigned_file_moves_nothing_when_it_is_over(t *testing.T) {
	t.Parallel()
	n := newSweptNode(t)
	n.Call(t, nil, "evm_setNextBlockTimestamp", n.plan.ValidUntil.Unix())
	n.MineBlock(t)
	if n.submit(t, 1) || n.isUsed(t, 1) {
		t.Error("row 1 was moved after the end of the plan")
	}
}
