package storage

import (
	"sync/atomic"
	"time"
)

// steadyTime is how long a database must answer without a failure for an outage to be
// over: on a full disk reads go on, and so do small writes now and then.
const steadyTime = 10 * time.Second

// outageState is whether the database is away, so that the log tells of changes only.
// Its zero value is a database that answers. It is safe for concurrent use.
type outageState struct {
	away     atomic.Bool
	failedAt atomic.Int64 // Unix nanoseconds of the last failure
}

// failed takes note of a failure and reports whether an outage begins.
func (o *outageState) failed(now time.Time) bool {
	o.failedAt.Store(now.UnixNano())
	return o.away.CompareAndSwap(false, true)
}

// answered takes note of an answer and reports whether an outage is over.
func (o *outageState) answered(now time.Time) bool {
	if !o.away.Load() || now.Sub(time.Unix(0, o.failedAt.Load())) < steadyTime {
		return false
	}
	return o.away.CompareAndSwap(true, false)
}
