package light

import (
	"math/big"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
)

// ledger adds up the work of a chain of headers as it grows.
type ledger struct {
	// sums are those of the newest blocks, the last one's last; what is below them
	// is added up anew when a reorganisation goes that deep.
	sums []sum
	bits uint32 // that each is the work of
	each *big.Int
}

// sum is the work of a chain up to a block.
type sum struct {
	height int64
	hash   chainhash.Hash
	work   *big.Int
}

// remembered is how deep a reorganisation may go without a new start.
const remembered = 300

// at is the work up to a height, where header reads the chain.
func (l *ledger) at(height int64, header func(height int64) (*wire.BlockHeader, error)) (*big.Int, error) {
	for len(l.sums) > 0 {
		last := l.sums[len(l.sums)-1]
		if last.height <= height {
			h, err := header(last.height)
			if err != nil {
				return nil, err
			}
			if h.BlockHash() == last.hash {
				break
			}
		}
		l.sums = l.sums[:len(l.sums)-1]
	}
	next, total := int64(0), new(big.Int)
	if n := len(l.sums); n > 0 {
		next = l.sums[n-1].height + 1
		total.Set(l.sums[n-1].work)
	}
	for ; next <= height; next++ {
		h, err := header(next)
		if err != nil {
			return nil, err
		}
		if l.each == nil || h.Bits != l.bits {
			l.bits, l.each = h.Bits, blockchain.CalcWork(h.Bits)
		}
		total.Add(total, l.each)
		if next > height-remembered {
			l.sums = append(l.sums, sum{next, h.BlockHash(), new(big.Int).Set(total)})
		}
	}
	if extra := len(l.sums) - 2*remembered; extra > 0 {
		l.sums = append(l.sums[:0], l.sums[extra:]...)
	}
	return total, nil
}
