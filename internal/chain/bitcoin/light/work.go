package light

import (
	"math/big"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
)

// chainWork sums up the work of a growing chain of headers.
type chainWork struct {
	// sums are the sums up to each of the newest blocks, in order. The rest is summed up
	// again after a deeper reorganisation.
	sums []sum
	bits uint32 // difficulty bits of the last header
	each *big.Int
}

// sum is the work of a chain up to a block.
type sum struct {
	height int64
	hash   chainhash.Hash
	work   *big.Int
}

// maxReorganisation is the largest depth of a reorganisation after which the work is not summed up
// again from the first header.
const maxReorganisation = 300

// at returns the work up to a height; header returns the header at a height.
func (l *chainWork) at(height int64, header func(height int64) (*wire.BlockHeader, error)) (*big.Int, error) {
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
		if next > height-maxReorganisation {
			l.sums = append(l.sums, sum{next, h.BlockHash(), new(big.Int).Set(total)})
		}
	}
	if extra := len(l.sums) - 2*maxReorganisation; extra > 0 {
		l.sums = append(l.sums[:0], l.sums[extra:]...)
	}
	return total, nil
}
