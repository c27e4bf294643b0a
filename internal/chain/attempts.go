package chain

import (
	"errors"
	"fmt"
	"sync"
)

// ErrMoved means that the chain changed while it was read. A scan that fails with it can be
// repeated at once.
var ErrMoved = errors.New("the chain moved while it was read")

// maxAttempts is the number of times that a scan is tried while the chain changes.
const maxAttempts = 3

// Attempts runs the scans of a network one at a time, repeats those that fail with ErrMoved
// and keeps the error of the last scan. The zero value is ready; it is safe for concurrent use.
type Attempts struct {
	scanning sync.Mutex

	mu    sync.Mutex
	fault string // of the last scan
}

// Scan scans from a cursor, and again if the chain changed meanwhile.
func (a *Attempts) Scan(from Cursor, scan func() (Snapshot, error)) (Snapshot, error) {
	a.scanning.Lock()
	defer a.scanning.Unlock()
	for attempt := 1; ; attempt++ {
		snapshot, err := scan()
		if errors.Is(err, ErrMoved) && attempt < maxAttempts {
			continue
		}
		a.setFault(err)
		if err != nil {
			return Snapshot{}, fmt.Errorf("scan from %d: %w", from.Height, err)
		}
		return snapshot, nil
	}
}

// Health returns the health of a network's source. If the source reports no fault, Fault is
// the error of the last scan.
func (a *Attempts) Health(source Health) Health {
	a.mu.Lock()
	defer a.mu.Unlock()
	if source.Fault == "" {
		source.Fault = a.fault
	}
	return source
}

func (a *Attempts) setFault(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = ""
	if err != nil {
		a.fault = err.Error()
	}
}
