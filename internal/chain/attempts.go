package chain

import (
	"errors"
	"fmt"
	"sync"
)

// ErrMoved means that a chain changed while it was read: a scan that ends with it
// is worth another attempt at once.
var ErrMoved = errors.New("the chain moved while it was read")

// attempts is how often a scan is tried while the chain moves under it.
const attempts = 3

// Attempts makes the scans of a network, one at a time, and remembers how the last
// one went. The zero value is ready; it is safe for concurrent use.
type Attempts struct {
	scanning sync.Mutex

	mu    sync.Mutex
	fault string // of the last scan
}

// Scan scans from a cursor, and again when the chain moved meanwhile.
func (a *Attempts) Scan(from Cursor, scan func() (Snapshot, error)) (Snapshot, error) {
	a.scanning.Lock()
	defer a.scanning.Unlock()
	for tries := 1; ; tries++ {
		snapshot, err := scan()
		if errors.Is(err, ErrMoved) && tries < attempts {
			continue
		}
		a.tell(err)
		if err != nil {
			return Snapshot{}, fmt.Errorf("scan from %d: %w", from.Height, err)
		}
		return snapshot, nil
	}
}

// Health is how a network's source fares, with the fault of the last scan where it
// tells none itself.
func (a *Attempts) Health(source Health) Health {
	a.mu.Lock()
	defer a.mu.Unlock()
	if source.Fault == "" {
		source.Fault = a.fault
	}
	return source
}

func (a *Attempts) tell(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = ""
	if err != nil {
		a.fault = err.Error()
	}
}
