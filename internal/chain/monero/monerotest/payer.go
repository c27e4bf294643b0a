package monerotest

import "testing"

// Payer is a wallet with many coins of one amount, each on a subaddress of its own, so that a test chooses the coin that a
// transaction spends. It does not read the chain, so that it can spend each coin in any number of transactions.
type Payer struct {
	*Wallet
	unused []int64 // subaddresses with coins that Pay has not chosen
}

// MaxDestinations is the number of destinations of a transaction, which has at most 16 outputs and needs one for change.
const MaxDestinations = 15

// confirmations is the number of confirmations that an output needs before it can be spent.
const confirmations = 10

// NewPayer returns a new Payer with a number of coins, which the miner pays. It mines blocks.
func (n *Node) NewPayer(t testing.TB, coins int, units uint64) *Payer {
	t.Helper()
	p := &Payer{Wallet: n.NewWallet(t)}
	p.Call(t, "auto_refresh", map[string]any{"enable": false}, nil)
	var to []To
	for i, address := range p.Subaddresses(t, coins) {
		p.unused = append(p.unused, int64(i)+1)
		to = append(to, To{Address: address, Amount: units})
		if len(to) == MaxDestinations || i == coins-1 {
			n.Miner.Transfer(t, 0, to...)
			to = nil
			if _, unlocked := n.Miner.Balance(t); unlocked < units*(MaxDestinations+1) { // the change is locked
				n.Mine(t, confirmations)
			}
		}
	}
	n.Mine(t, confirmations)
	p.Refresh(t)
	return p
}

// Coin returns the subaddress of a coin that it has not returned before.
func (p *Payer) Coin(t testing.TB) int64 {
	t.Helper()
	if len(p.unused) == 0 {
		t.Fatal("the payer has used all its coins: make more")
	}
	coin := p.unused[0]
	p.unused = p.unused[1:]
	return coin
}

// Prepare makes a transaction that spends outputs of a subaddress of account 0 only, and does not send it. Two transactions
// that spend the only output of a subaddress are a double spend. See Transfer for the unlock time, and Node.Submit.
func (w *Wallet) Prepare(t testing.TB, subaddress int64, unlock uint64, to ...To) Tx {
	t.Helper()
	return w.makeTx(t, "transfer", map[string]any{
		"destinations": to, "account_index": 0, "subaddr_indices": []int64{subaddress}, "unlock_time": unlock, "do_not_relay": true, "get_tx_hex": true,
	})
}
