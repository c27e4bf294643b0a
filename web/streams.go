package web

import "sync"

// streams counts the open streams, so that neither one page nor all of them can
// use up the server.
type streams struct {
	max, maxPerInvoice int

	mu         sync.Mutex
	total      int
	perInvoice map[string]int
}

func newStreams(max, maxPerInvoice int) *streams {
	return &streams{max: max, maxPerInvoice: maxPerInvoice, perInvoice: map[string]int{}}
}

// open takes a place for a stream of an invoice, or tells that there is none.
// The place is given back by calling release.
func (s *streams) open(id string) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= s.max || s.perInvoice[id] >= s.maxPerInvoice {
		return nil, false
	}
	s.total++
	s.perInvoice[id]++
	return func() { s.release(id) }, true
}

func (s *streams) release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	s.perInvoice[id]--
	if s.perInvoice[id] == 0 {
		delete(s.perInvoice, id)
	}
}
