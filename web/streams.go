package web

import (
	"sync"

	"chequer/internal/caller"
)

// streams limits the open streams of all callers together, of one invoice, of one caller's network,
// and of the address blocks around the network.
type streams struct {
	max, maxPerInvoice, maxPerNetwork int

	mu         sync.Mutex
	total      int
	perInvoice map[string]int
	perNetwork map[string]int
	perBlock   map[string]int
}

func newStreams(c Config) *streams {
	return &streams{
		max: c.MaxStreams, maxPerInvoice: c.MaxStreamsPerInvoice, maxPerNetwork: c.MaxStreamsPerNetwork,
		perInvoice: map[string]int{}, perNetwork: map[string]int{}, perBlock: map[string]int{},
	}
}

// open counts a caller's stream of an invoice. ok is false if a limit is reached. The caller calls
// release when the stream ends.
func (s *streams) open(id, address string) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	network, blocks := caller.Network(address), caller.Blocks(address)
	if s.total >= s.max || s.perInvoice[id] >= s.maxPerInvoice || s.perNetwork[network] >= s.maxPerNetwork {
		return nil, false
	}
	for _, block := range blocks {
		if s.perBlock[block.Prefix] >= block.Of(s.max) {
			return nil, false
		}
	}
	s.total++
	s.perInvoice[id]++
	s.perNetwork[network]++
	for _, block := range blocks {
		s.perBlock[block.Prefix]++
	}
	return func() { s.release(id, network, blocks) }, true
}

func (s *streams) release(id, network string, blocks []caller.Block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	countDown(s.perInvoice, id)
	countDown(s.perNetwork, network)
	for _, block := range blocks {
		countDown(s.perBlock, block.Prefix)
	}
}

// countDown subtracts one from a count, and deletes the count when it is zero.
func countDown(counts map[string]int, name string) {
	if counts[name]--; counts[name] == 0 {
		delete(counts, name)
	}
}
