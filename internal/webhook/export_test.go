package webhook

// NextAttempt is nextAttempt.
var NextAttempt = nextAttempt
