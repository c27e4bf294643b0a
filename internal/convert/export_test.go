package convert

// Short is how much of an error is kept.
var Short = short
