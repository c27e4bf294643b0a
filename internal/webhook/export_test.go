package webhook

// NextTry is nextTry.
var NextTry = nextTry
