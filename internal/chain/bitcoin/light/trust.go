package light

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"

	"chequer/internal/chain"
)

// Trust is the number of peers that must agree before their answers are trusted. The peers of one group
// of addresses count once.
type Trust struct {
	Peers   int           // that agree on the tip
	Filters int           // that serve the same filter header for it
	Fresh   time.Duration // greatest age of the tip; 0 for any age
	Work    *big.Int      // least work of its chain; nil for any
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

// judge returns why a tip is not trusted; nil if it is.
func (t Trust) judge(tip tip, witnesses []tipAnswer, now time.Time) error {
	agree, filters := map[group]bool{}, map[group]bool{}
	others := map[chainhash.Hash]map[group]bool{} // groups that serve another filter header
	most := 0
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
			most = max(most, len(others[w.filter]))
		}
	}
	block := "block " + chain.Grouped(tip.height)
	switch {
	case tip.work == nil:
		return errors.New("no block is known yet")
	case most >= max(t.Filters, 1) && most > len(filters):
		return fmt.Errorf("%d peers serve another filter header for %s than the stored one", most, block)
	case len(agree) < t.Peers:
		return fmt.Errorf("%d of %d peers agree on %s", len(agree), t.Peers, block)
	case len(filters) < t.Filters:
		return fmt.Errorf("%d of %d peers serve the same filter header for %s", len(filters), t.Filters, block)
	case t.Fresh > 0 && now.Sub(tip.time) > t.Fresh:
		return fmt.Errorf("the newest block, %s, is of %s: more than %s ago", chain.Grouped(tip.height), tip.time.UTC().Format(time.DateTime), t.Fresh)
	case t.Work != nil && tip.work.Cmp(t.Work) < 0:
		return fmt.Errorf("the chain up to %s has less work than the network had when this program was released", block)
	}
	return nil
}
