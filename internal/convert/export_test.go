package convert

// Short is short.
var Short = short
