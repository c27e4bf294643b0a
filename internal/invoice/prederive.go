package invoice

import (
	"sync"

	"chequer/internal/chain"
)

// farAhead is the largest number of outstanding guesses for a counter.
const farAhead = 64

// guesses predicts, for each counter, the index that the next creation will get. The zero value is
// ready to use.
type guesses struct {
	mu   sync.Mutex
	next map[string]uint32
}

// take returns the predicted index of the next creation.
func (g *guesses) take(counter string) uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next = map[string]uint32{}
	}
	index := g.next[counter]
	g.next[counter] = index + 1
	return index
}

// learn corrects the prediction with an index that was really allocated.
func (g *guesses) learn(counter string, index uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if next := g.next[counter]; next <= index || next > index+farAhead {
		g.next[counter] = index + 1
	}
}

// prederive derives the destinations that this creation will probably need. Networks cache them,
// so the transaction, which blocks other writers, finds them ready. A wrong guess costs only the
// time of the derivation.
func (s *Service) prederive(offers []offer) {
	guessed := map[string]uint32{}
	done := map[string]bool{}
	for _, o := range offers {
		index, known := guessed[o.wallet.Counter]
		if !known {
			index = s.guesses.take(o.wallet.Counter)
			guessed[o.wallet.Counter] = index
		}
		if key := string(o.network.ID()) + o.wallet.Counter; !done[key] {
			done[key] = true
			_, _ = o.network.NewDestination(chain.Request{Asset: o.asset, Key: o.wallet.Key, Index: index})
		}
	}
}
