package node

import (
	"encoding/json"
	"math/big"
	"strings"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
)

// feeRates are the least fee rates of the node's mempool in coins per 1000 virtual bytes, as getmempoolinfo reports
// them. They are empty in btcd.
type feeRates struct{ MempoolMinFee, MinRelayTxFee json.Number }

// least returns the larger rate in the smallest units per 1000 virtual bytes, or 0 if the node reports none. ok is false if a
// rate is malformed.
func (r feeRates) least() (units int64, ok bool) {
	for _, text := range []json.Number{r.MempoolMinFee, r.MinRelayTxFee} {
		if text == "" {
			continue
		}
		rate, err := parseUnits(text)
		if err != nil {
			return 0, false
		}
		units = max(units, rate)
	}
	return units, true
}

// poolEntry is an entry of the mempool in the answer of getmempoolentry. Time is in whole seconds. VSize and Fees are
// absent in btcd.
type poolEntry struct {
	Time  int64
	VSize int64
	Fees  struct{ Base json.Number }
}

// fee is the fee of a transaction in the smallest units, and the transaction's size in virtual bytes. The size is 0 if the fee is
// not known.
type fee struct{ units, size int64 }

// fee returns the fee of the entry.
func (p poolEntry) fee() fee {
	units, err := parseUnits(p.Fees.Base)
	if err != nil || p.VSize <= 0 {
		return fee{}
	}
	return fee{units, p.VSize}
}

// isAtLeast reports whether the fee rate is at least rate, in the smallest units per 1000 virtual bytes, or the fee is not known.
func (f fee) isAtLeast(rate int64) bool {
	paid := new(big.Int).Mul(big.NewInt(f.units), big.NewInt(1000))
	return f.size == 0 || paid.Cmp(new(big.Int).Mul(big.NewInt(rate), big.NewInt(f.size))) >= 0
}

// firm returns the IDs of the firm transactions that pay destinations; see chain.Transfer.
func (m *mempool) firm(rates feeRates) map[string]bool {
	least, ok := rates.least()
	if !ok {
		return nil
	}
	firm := map[string]bool{}
	for _, e := range m.entries {
		if e.tx != nil && e.timeRequested && !e.tx.Replaceable && e.fee.isAtLeast(least) && !m.hasUnconfirmedInput(e.tx.Spends) {
			firm[e.tx.ID] = true
		}
	}
	return firm
}

// hasUnconfirmedInput reports whether one of the outpoints is an output of a transaction in the mempool. If that transaction is
// replaced, all transactions that spend from it become invalid.
func (m *mempool) hasUnconfirmedInput(outpoints []string) bool {
	for _, o := range outpoints {
		tx, _, _ := strings.Cut(o, ":")
		id, err := chainhash.NewHashFromStr(tx)
		if err != nil || m.entries[*id] != nil {
			return true
		}
	}
	return false
}
