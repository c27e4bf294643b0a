package sale

// ShortError exports shortError to the tests.
var ShortError = shortError
