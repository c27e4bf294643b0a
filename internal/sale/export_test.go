package sale

// Short exports short to the tests.
var Short = shortError
