package bitcoin

import (
	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// coinbase is how many confirmations a mined output needs before it can be spent
// at all: COINBASE_MATURITY of consensus.h.
const coinbase = 100

// Mainnet is Bitcoin itself.
var Mainnet = Params{
	Keys: keys.Main,
	Asset: chain.Asset{
		Code:        "BTC",
		Symbol:      "BTC",
		Name:        "Bitcoin",
		Network:     "bitcoin",
		NetworkName: "Bitcoin",
		Currency:    money.BTC,
		Wallet:      string(keys.BTC),
		Rate:        "BTC",
		// The largest dust limit of Bitcoin Core's GetDustThreshold, that of P2PKH,
		// so that one limit fits every script.
		Dust:     money.MustParse("0.00000546", money.BTC),
		Scheme:   "bitcoin",
		Volatile: true,
		Policy:   policy(1),
	},
}

// Litecoin is Bitcoin's rules with a block every two and a half minutes.
var Litecoin = Params{
	Keys: keys.Main,
	Asset: chain.Asset{
		Code:        "LTC",
		Symbol:      "LTC",
		Name:        "Litecoin",
		Network:     "litecoin",
		NetworkName: "Litecoin",
		Currency:    money.LTC,
		Wallet:      string(keys.LTC),
		Rate:        "LTC",
		// Litecoin Core's dust relay fee is ten times Bitcoin's.
		Dust:     money.MustParse("0.0000546", money.LTC),
		Scheme:   "litecoin",
		Volatile: true,
		Policy:   policy(4),
	},
}

// policy asks for as many blocks as fit the time of one of Bitcoin's, so that
// the same money waits as long on a network with faster blocks.
func policy(blocks int) chain.Policy {
	return chain.Policy{
		Depth: []chain.Depth{
			{BelowCents: 500_00, Confirmations: 1 * blocks},
			{BelowCents: 5_000_00, Confirmations: 2 * blocks},
			{BelowCents: 50_000_00, Confirmations: 6 * blocks},
			{Confirmations: 12 * blocks},
		},
		Coinbase: coinbase,
		Mempool:  true,
	}
}
