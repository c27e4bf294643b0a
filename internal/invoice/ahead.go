package invoice

import (
	"sync"

	"chequer/internal/chain"
)

// farAhead is how many guesses may be open at once.
const farAhead = 64

// guesses are the indexes that creations will probably be given, by counter. The
// zero value is ready.
type guesses struct {
	mu   sync.Mutex
	next map[string]uint32
}

// take guesses the index that the next creation gets.
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

// learn corrects the guesses by an index that was given.
func (g *guesses) learn(counter string, index uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if next := g.next[counter]; next <= index || next > index+farAhead {
		g.next[counter] = index + 1
	}
}

// deriveAhead makes the destinations that a creation will probably ask for.
// Networks remember them, so that the transaction, which others wait for, finds
// them made. A wrong guess costs no more than the time.
func (s *Service) deriveAhead(offers []offer) {
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
