package invoice

import "sync"

// outgoing holds the changes of this process that are not announced yet. It is safe for concurrent
// use.
type outgoing struct {
	some chan struct{} // receives a value when there are changes

	mu      sync.Mutex
	running bool // a Follower takes the changes
	changes map[string]int64
}

func newOutgoing() *outgoing {
	return &outgoing{some: make(chan struct{}, 1), changes: map[string]int64{}}
}

// start makes add keep changes until take is called.
func (o *outgoing) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running = true
}

// add adds a change. It returns false if no Follower runs in this process, as in a command.
func (o *outgoing) add(c Change) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.running {
		return false
	}
	o.changes[c.ID] = max(o.changes[c.ID], c.Version)
	select {
	case o.some <- struct{}{}:
	default:
	}
	return true
}

// take returns the changes since the last call.
func (o *outgoing) take() (changes []Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, version := range o.changes {
		changes = append(changes, Change{id, version})
	}
	clear(o.changes)
	return changes
}
