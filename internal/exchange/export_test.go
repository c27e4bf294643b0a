package exchange

// KrakenSign is the signature of a call to Kraken.
var KrakenSign = krakenSign
