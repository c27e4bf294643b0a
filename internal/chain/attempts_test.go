package chain_test

import (
	"errors"
	"fmt"
	"testing"

	"chequer/internal/chain"
)

func TestAttempts(t *testing.T) {
	t.Parallel()
	unreachable := errors.New("unreachable")
	for _, tt := range []struct {
		name      string
		moves     int // number of scans during which the chain changes
		err       error
		calls     int
		want      error
		wantFault string
	}{
		{"an unchanged chain is scanned once", 0, nil, 1, nil, ""},
		{"a chain that changes twice is scanned three times", 2, nil, 3, nil, ""},
		{"a chain that keeps changing returns ErrChanged after three scans", 9, nil, 3, chain.ErrChanged, "block 8: " + chain.ErrChanged.Error()},
		{"another error is returned at once", 0, unreachable, 1, unreachable, "unreachable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var a chain.Attempts
			calls := 0
			_, err := a.Scan(chain.Cursor{Height: 7}, func() (chain.Snapshot, error) {
				if calls++; calls <= tt.moves {
					return chain.Snapshot{}, fmt.Errorf("block 8: %w", chain.ErrChanged)
				}
				return chain.Snapshot{}, tt.err
			})
			if !errors.Is(err, tt.want) || calls != tt.calls {
				t.Errorf("%d calls, error %v, want %d and %v", calls, err, tt.calls, tt.want)
			}
			if got := a.Health(chain.Health{}).Fault; got != tt.wantFault {
				t.Errorf("fault %q, want %q", got, tt.wantFault)
			}
			if got := a.Health(chain.Health{Fault: "its own"}).Fault; got != "its own" {
				t.Errorf("fault %q, want the source's own", got)
			}
		})
	}
}
