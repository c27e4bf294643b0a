package exchange

// KrakenSign exports krakenSign to the tests.
var KrakenSign = krakenSign
