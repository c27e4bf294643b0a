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
	sums         []sum
	bits         uint32 // difficulty bits of the last header
	workPerBlock *big.Int
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

// upTo returns the work up to a height; header returns the header at a height.
func (w *chainWork) upTo(height int64, header func(height int64) (*wire.BlockHeader, error)) (*big.Int, error) {
	for len(w.sums) > 0 {
		last := w.sums[len(w.sums)-1]
		if last.height <= height {
			h, err := header(last.height)
			if err != nil {
				return nil, err
			}
			if h.BlockHash() == last.hash {
				break
			}
		}
		w.sums = w.sums[:len(w.sums)-1]
	}
	next, total := int64(0), new(big.Int)
	if n := len(w.sums); n > 0 {
		next = w.sums[n-1].height + 1
		total.Set(w.sums[n-1].work)
	}
	for ; next <= height; next++ {
		h, err := header(next)
		if err != nil {
			return nil, err
		}
		if w.workPerBlock == nil || h.Bits != w.bits {
			w.bits, w.workPerBlock = h.Bits, blockchain.CalcWork(h.Bits)
		}
		total.Add(total, w.workPerBlock)
		if next > height-maxReorganisation {
			w.sums = append(w.sums, sum{next, h.BlockHash(), new(big.Int).Set(total)})
		}
	}
	if extra := len(w.sums) - 2*maxReorganisation; extra > 0 {
		w.sums = append(w.sums[:0], w.sums[extra:]...)
	}
	return total, nil
}
