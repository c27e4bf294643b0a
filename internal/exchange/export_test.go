package exchange

// KrakenSign is krakenSign.
var KrakenSign = krakenSign
