package light

import (
	"chequer/internal/format"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
)

// Trust is the number of peers that must agree before their answers are trusted. The peers of one group
// of addresses count once.
type Trust struct {
	Peers     int           // that agree on the tip
	Filters   int           // that serve the same filter header for it
	MaxTipAge time.Duration // 0 for any age
	MinWork   *big.Int      // least work of the tip's chain; nil for any
	// Announcers is the number of peers that must announce a transaction before it counts as seen.
	Announcers int
}

// tip is the newest block with a stored header and filter header.
type tip struct {
	height       int64
	hash, parent chainhash.Hash
	filter       chainhash.Hash // header of its filter
	time         time.Time
	work         *big.Int // of the chain up to the block
}

// check returns an error if a tip is not trusted.
func (t Trust) check(tip tip, witnesses []tipAnswer, now time.Time) error {
	agree, filters := map[group]bool{}, map[group]bool{}
	others := map[chainhash.Hash]map[group]bool{} // groups that serve another filter header
	largest := 0
	for _, w := range witnesses {
		if w.tip == tip.hash {
			agree[w.group] = true
		}
		switch {
		case w.filterOf != tip.hash:
		case w.filter == tip.filter:
			filters[w.group] = true
		default:
			if others[w.filter] == nil {
				others[w.filter] = map[group]bool{}
			}
			others[w.filter][w.group] = true
			largest = max(largest, len(others[w.filter]))
		}
	}
	block := "block " + format.Grouped(tip.height)
	switch {
	case tip.work == nil:
		return errors.New("no block is known yet")
	case largest >= max(t.Filters, 1) && largest > len(filters):
		return fmt.Errorf("%d peers serve another filter header for %s than the stored one", largest, block)
	case len(agree) < t.Peers:
		return fmt.Errorf("%d of %d peers agree on %s", len(agree), t.Peers, block)
	case len(filters) < t.Filters:
		return fmt.Errorf("%d of %d peers serve the same filter header for %s", len(filters), t.Filters, block)
	case t.MaxTipAge > 0 && now.Sub(tip.time) > t.MaxTipAge:
		return fmt.Errorf("the newest block, %s, is of %s: more than %s ago", format.Grouped(tip.height), tip.time.UTC().Format(time.DateTime), t.MaxTipAge)
	case t.MinWork != nil && tip.work.Cmp(t.MinWork) < 0:
		return fmt.Errorf("the chain up to %s has less work than the network had when this program was released", block)
	}
	return nil
}
