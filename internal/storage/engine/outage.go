package engine

import (
	"sync/atomic"
	"time"
)

// recoveryTime is the time without a failure after which an outage is over. It is not zero, because on
// a full disk reads and some small writes still succeed.
const recoveryTime = 10 * time.Second

// outageState records whether the database is failing, so that only the beginning and the end of an outage are
// logged. The zero value is the state of a database that does not fail. It is safe for concurrent use.
type outageState struct {
	failing  atomic.Bool
	failedAt atomic.Int64 // Unix nanoseconds of the last failure
}

// noteFailure records a failure and reports whether an outage begins.
func (o *outageState) noteFailure(now time.Time) bool {
	o.failedAt.Store(now.UnixNano())
	return o.failing.CompareAndSwap(false, true)
}

// noteAnswer ends an outage after recoveryTime without a failure, and reports whether it ended one.
func (o *outageState) noteAnswer(now time.Time) bool {
	if !o.failing.Load() || now.Sub(time.Unix(0, o.failedAt.Load())) < recoveryTime {
		return false
	}
	return o.failing.CompareAndSwap(true, false)
}
