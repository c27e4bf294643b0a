package account

import "time"

// Attempts are the failed sign-ins of a name or a network address.
type Attempts struct {
	Failures      int       // since Since
	Since         time.Time // time of the first failure
	Last          time.Time // time of the last failure
	DisabledUntil time.Time // end of the time in which passwords are refused
}

const (
	maxDelay = 60 * time.Second
	// attemptWindow is the time after the first failure in which failures are counted together.
	attemptWindow = time.Hour
	// maxFailures is the number of failures in attemptWindow that disables a name's password.
	maxFailures = 10
	disabledFor = time.Hour
)

// delay returns the time after the last failure in which a further attempt is refused: 1, 2, 4 … 60
// seconds.
func (a Attempts) delay() time.Duration {
	switch {
	case a.Failures <= 0:
		return 0
	case a.Failures > 6: // 2^6 seconds are more than maxDelay
		return maxDelay
	}
	return min(time.Second<<(a.Failures-1), maxDelay)
}

// Begin counts an attempt as failed before it is made, so that concurrent attempts do not evade the
// delay. It returns a *WaitError if the attempt is refused.
func (a *Attempts) Begin(now time.Time) error {
	if now.Sub(a.Since) >= attemptWindow {
		a.Failures, a.Since = 0, now
	}
	wait := a.DisabledUntil.Sub(now)
	if a.Failures > 0 {
		wait = max(wait, a.Last.Add(a.delay()).Sub(now))
	}
	if wait > 0 {
		return &WaitError{wait}
	}
	a.Failures++
	a.Last = now
	return nil
}

// Disable refuses passwords for disabledFor after too many failures, and reports whether it did.
func (a *Attempts) Disable(now time.Time) bool {
	if a.Failures < maxFailures || a.DisabledUntil.After(now) {
		return false
	}
	a.DisabledUntil = now.Add(disabledFor)
	return true
}

// Undo removes the failure that Begin counted. The next attempt is not delayed.
func (a *Attempts) Undo() { a.Failures, a.Last = max(a.Failures-1, 0), time.Time{} }

// Reset removes all failures.
func (a *Attempts) Reset() { *a = Attempts{} }
