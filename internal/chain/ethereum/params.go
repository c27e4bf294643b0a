package ethereum

import (
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// The tokens of Circle have one currency, and so one rate, on every network.
var (
	usdc = money.Currency{Code: "USDC", Decimals: 6}
	eurc = money.Currency{Code: "EURC", Decimals: 6}
)

// Mainnet is Ethereum itself, home of its tokens. The contracts are those that
// their issuer publishes: developers.circle.com/stablecoins, "USDC Contract
// Addresses" and "EURC Contract Addresses".
var Mainnet = Params{
	ID:   "ethereum",
	Keys: keys.Main,
	Assets: []chain.Asset{
		mainnet.asset("ETH", "ETH", "Ether", money.ETH, ""),
		mainnet.asset("USDC", "USDC", "USD Coin", usdc, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
		mainnet.asset("EURC", "EURC", "Euro Coin", eurc, "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c"),
	},
}

// Base is the rollup of that name, where a transfer costs a cent or less. Its
// contracts are from the same pages.
var Base = Params{
	ID:   "base",
	Keys: keys.Main,
	Assets: []chain.Asset{
		base.asset("EURC-BASE", "EURC", "Euro Coin", eurc, "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"),
		base.asset("USDC-BASE", "USDC", "USD Coin", usdc, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
		base.asset("ETH-BASE", "ETH", "Ether", money.ETH, ""),
	},
}

// network is what all assets of one network share.
type network struct {
	id      chain.ID
	name    string
	chainID uint64 // EIP-155
	depth   []chain.Depth
}

// mainnet has a block every 12 seconds. 12 blocks are two and a half minutes, as
// exchanges ask; 32 are an epoch; after 64, two epochs, a block is final unless a
// third of the stake is given up. See the consensus specifications, "Casper FFG".
var mainnet = network{
	id: "ethereum", name: "Ethereum", chainID: 1,
	depth: []chain.Depth{
		{BelowCents: 500_00, Confirmations: 12},
		{BelowCents: 5_000_00, Confirmations: 32},
		{Confirmations: 64},
	},
}

// base has a block every 2 seconds, from one sequencer. 30 blocks are a minute of
// its word alone; after 150, five minutes, they usually stand on Ethereum too;
// after 900, half an hour, that part of Ethereum is final. See docs.base.org,
// "Transaction Finality".
var base = network{
	id: "base", name: "Base", chainID: 8453,
	depth: []chain.Depth{
		{BelowCents: 500_00, Confirmations: 30},
		{BelowCents: 5_000_00, Confirmations: 150},
		{Confirmations: 900},
	},
}

// blockGrace is for blocks that take their time: there is no mempool to see the
// money in before, so only the block's own time tells when it came.
const blockGrace = 3 * time.Minute

// asset is the network's own coin, or a token where a contract is named. Only the
// coin is volatile: the tokens stand for fiat money.
func (n network) asset(code, symbol, name string, currency money.Currency, contract string) chain.Asset {
	return chain.Asset{
		Code:        code,
		Symbol:      symbol,
		Name:        name,
		Network:     n.id,
		NetworkName: n.name,
		Currency:    currency,
		Wallet:      string(keys.ETH),
		Rate:        currency.Code,
		Dust:        money.Zero(currency),
		Scheme:      "ethereum",
		ChainID:     n.chainID,
		Contract:    contract,
		Volatile:    contract == "",
		Policy:      chain.Policy{Depth: n.depth, BlockGrace: blockGrace},
	}
}
