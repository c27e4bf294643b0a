package bitcoin

import (
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// coinbaseMaturity is the number of confirmations that the output of a coinbase transaction needs
// before it can be spent: COINBASE_MATURITY of consensus.h.
const coinbaseMaturity = 100

// Mainnet is Bitcoin.
var Mainnet = Params{
	Name: "mainnet", Chain: "main", Keys: keys.Main, BlockTime: 10 * time.Minute,
	Genesis: "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
	// The first block that is not also one of Bitcoin Cash.
	Checkpoint: Checkpoint{478559, "00000000000000000019f112ec0a9982926f1258cdcc558dd7c3b7e5dc7fa148"},
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

// Litecoin has the rules of Bitcoin with a block every two and a half minutes.
var Litecoin = Params{
	Name: "mainnet", Chain: "main", Keys: keys.Main, BlockTime: 150 * time.Second, Extended: true,
	Genesis: "12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2",
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

// Bitcoins and Litecoins are the networks of each coin, the main network first. Coins of
// the test networks have no value. The first blocks are those of chainparams.cpp in
// Bitcoin Core and Litecoin Core.
var (
	Bitcoins = []Params{
		Mainnet,
		Mainnet.testNetwork("testnet4", "testnet4", keys.Test, "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043"),
		Mainnet.testNetwork("signet", "signet", keys.Test, "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6"),
		Mainnet.testNetwork("regtest", "regtest", keys.Regtest, "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206"),
	}
	Litecoins = []Params{
		Litecoin,
		Litecoin.testNetwork("testnet", "test", keys.Test, "4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0"),
		Litecoin.testNetwork("regtest", "regtest", keys.Regtest, "530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9"),
	}
)

// testNetwork returns a test network of a main network.
func (p Params) testNetwork(name, chainName string, network keys.Network, genesis string) Params {
	p.Name, p.Chain, p.Keys, p.Genesis, p.Checkpoint = name, chainName, network, genesis, Checkpoint{}
	p.Asset.Network += chain.ID("-" + name)
	p.Asset.NetworkName += " " + name
	p.Asset.Name += " " + name
	return p
}

// policy returns the confirmation counts of Bitcoin, multiplied by the number of blocks in the
// time of one Bitcoin block, so that the waiting time is equal on a network with faster blocks.
func policy(blocks int) chain.Policy {
	return chain.Policy{
		Depth: []chain.Depth{
			{BelowCents: 500_00, Confirmations: 1 * blocks},
			{BelowCents: 5_000_00, Confirmations: 2 * blocks},
			{BelowCents: 50_000_00, Confirmations: 6 * blocks},
			{Confirmations: 12 * blocks},
		},
		Coinbase: coinbaseMaturity,
		Mempool:  true,
	}
}
