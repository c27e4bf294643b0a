package engine

import (
	"sync/atomic"
	"time"
)

// steadyTime is the time without a failure after which an outage is over. On a full disk, reads
// and some small writes still succeed.
const steadyTime = 10 * time.Second

// outageState records whether the database fails, so that only the changes are logged. The zero
// value is a database that answers. It is safe for concurrent use.
type outageState struct {
	away     atomic.Bool
	failedAt atomic.Int64 // Unix nanoseconds of the last failure
}

// failed records a failure and reports whether an outage begins.
func (o *outageState) failed(now time.Time) bool {
	o.failedAt.Store(now.UnixNano())
	return o.away.CompareAndSwap(false, true)
}

// answered records an answer and reports whether an outage is over.
func (o *outageState) answered(now time.Time) bool {
	if !o.away.Load() || now.Sub(time.Unix(0, o.failedAt.Load())) < steadyTime {
		return false
	}
	return o.away.CompareAndSwap(true, false)
}
