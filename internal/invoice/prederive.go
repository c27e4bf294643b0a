package invoice

import (
	"sync"

	"chequer/internal/chain"
)

// maxPredicted is the largest number of outstanding predictions for a counter.
const maxPredicted = 64

// indexPredictor predicts, for each counter, the index that the next creation will get. The zero value is
// ready to use.
type indexPredictor struct {
	mu   sync.Mutex
	next map[string]uint32
}

// predict returns the predicted index of the next creation.
func (p *indexPredictor) predict(counter string) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = map[string]uint32{}
	}
	index := p.next[counter]
	p.next[counter] = index + 1
	return index
}

// correct corrects the prediction with an index that was allocated.
func (p *indexPredictor) correct(counter string, index uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if next := p.next[counter]; next <= index || next > index+maxPredicted {
		p.next[counter] = index + 1
	}
}

// prederive derives the destinations that a creation will probably need, before the transaction that
// allocates their indexes. Networks cache destinations, so the transaction, which blocks other
// writers, does not derive them. A wrong prediction costs only the time of the derivation.
func (s *Service) prederive(methods []pricedMethod) {
	predicted := map[string]uint32{}
	done := map[string]bool{}
	for _, m := range methods {
		index, known := predicted[m.wallet.Counter]
		if !known {
			index = s.predictor.predict(m.wallet.Counter)
			predicted[m.wallet.Counter] = index
		}
		if key := string(m.network.ID()) + m.wallet.Counter; !done[key] {
			done[key] = true
			_, _ = m.network.NewDestination(chain.Request{Asset: m.asset, Key: m.wallet.Key, Index: index})
		}
	}
}
