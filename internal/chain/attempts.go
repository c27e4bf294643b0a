package chain

import (
	"errors"
	"fmt"
	"sync"
)

// ErrChanged means that the chain changed while it was read. The scan can be repeated at once.
var ErrChanged = errors.New("the chain changed while it was read")

// maxAttempts is the maximum number of attempts of a scan that fails with ErrChanged.
const maxAttempts = 3

// Attempts runs the scans of a network one at a time, repeats those that fail with ErrChanged,
// and stores the error of the last scan. The zero value is ready to use. It is safe for concurrent use.
type Attempts struct {
	scanning sync.Mutex

	mu    sync.Mutex
	fault string // error of the last scan; "" if it succeeded
}

// Scan calls scan, up to maxAttempts times while it returns ErrChanged. Errors name the height of from.
func (a *Attempts) Scan(from Cursor, scan func() (Snapshot, error)) (Snapshot, error) {
	a.scanning.Lock()
	defer a.scanning.Unlock()
	for attempt := 1; ; attempt++ {
		snapshot, err := scan()
		if errors.Is(err, ErrChanged) && attempt < maxAttempts {
			continue
		}
		a.setFault(err)
		if err != nil {
			return Snapshot{}, fmt.Errorf("scan from %d: %w", from.Height, err)
		}
		return snapshot, nil
	}
}

// Health returns source with the error of the last scan as its Fault, unless the source already reports
// a fault.
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
