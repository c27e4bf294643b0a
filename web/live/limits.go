package live

import "chequer/internal/caller"

// Limits are the largest numbers of open streams.
type Limits struct {
	Total      int // over all invoices; the blocks around a caller are limited to shares of it, see caller.Blocks
	PerNetwork int // of one caller.Network
}

// limits counts the open streams of all callers together, of one caller's network, and of the address
// blocks around the network. It is protected by the mutex of the hub.
type limits struct {
	Limits
	total      int
	perNetwork map[string]int
	perBlock   map[string]int
}

func newLimits(l Limits) *limits {
	return &limits{Limits: l, perNetwork: map[string]int{}, perBlock: map[string]int{}}
}

// acquire counts a stream of a caller with an IP address. ok is false if a limit is reached. release must be called
// when the stream ends.
func (l *limits) acquire(address string) (release func(), ok bool) {
	network, blocks := caller.Network(address), caller.Blocks(address)
	if l.total >= l.Total || l.perNetwork[network] >= l.PerNetwork {
		return nil, false
	}
	for _, block := range blocks {
		if l.perBlock[block.Prefix] >= block.ShareOf(l.Total) {
			return nil, false
		}
	}
	l.total++
	l.perNetwork[network]++
	for _, block := range blocks {
		l.perBlock[block.Prefix]++
	}
	return func() { l.release(network, blocks) }, true
}

func (l *limits) release(network string, blocks []caller.Block) {
	l.total--
	decrement(l.perNetwork, network)
	for _, block := range blocks {
		decrement(l.perBlock, block.Prefix)
	}
}

// decrement subtracts one from a count, and deletes the count when it is zero.
func decrement(counts map[string]int, name string) {
	if counts[name]--; counts[name] == 0 {
		delete(counts, name)
	}
}
