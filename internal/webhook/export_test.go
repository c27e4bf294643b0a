package webhook

// NextTry is nextTry, for tests of the schedule alone.
var NextTry = nextTry
