package ethereum

import (
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// The tokens of an issuer have one currency, and so one exchange rate, on every network.
var (
	usdc = money.Currency{Code: "USDC", Decimals: 6}
	eurc = money.Currency{Code: "EURC", Decimals: 6}
	usdt = money.Currency{Code: "USDT", Decimals: 6}

	pol  = money.Currency{Code: "POL", Decimals: 18}
	xdai = money.Currency{Code: "XDAI", Decimals: 18}
	avax = money.Currency{Code: "AVAX", Decimals: 18}
)

// Networks are all known networks in the order in which they are offered: first the main
// networks, then the test networks.
var Networks = []Params{Mainnet, Base, Arbitrum, Optimism, Polygon, Gnosis, Avalanche, Sepolia, BaseSepolia}

// The contracts are those that their issuers publish: developers.circle.com/stablecoins,
// "USDC Contract Addresses" and "EURC Contract Addresses"; tether.to, "Supported
// protocols". The comment at each contract names the source that it was last compared with,
// on 2026-11-28:
//
//	circle page  the issuer's list itself
//	circle code  github.com/circlefin/circle-gateway-wallet, lib/wagmi/usdcAddresses.ts,
//	             and for test networks circle-cctp-crosschain-transfer, src/lib/chains.ts
//	circle kit   npm @circle-fin/bridge-kit 1.15.1, the issuer's own, which has all of
//	             these of USDC and EURC; for USDT it is not the issuer's list
//	others       only lists of third parties, which agree: the issuer's list could not be
//	             read (on tether.to only the names of the networks, without addresses)
//
// The contracts of bridged tokens, with their decimals, are those of the aave list:
// github.com/bgd-labs/aave-address-book, src/AaveV3*.sol and src/AaveV2Avalanche.sol.
// The comment at each contract names the other list that it was compared with, on 2026-11-28:
//
//	optimism list  github.com/ethereum-optimism/ethereum-optimism.github.io,
//	               data/BridgedUSDC/data.json, that of the bridge
//	avalanche list github.com/ava-labs/avalanche-bridge-resources,
//	               avalanche_contract_address.json, that of the bridge
//	uniswap list   github.com/Uniswap/default-token-list, src/tokens
//
// The public endpoints are those of chainid.network, the list of
// github.com/ethereum-lists/chains, that need no account, each of a different operator. Some of
// them forward requests to others, so they are not entirely independent. The merchant's
// own node is better.

// Mainnet is Ethereum.
var Mainnet = Params{
	ID:        "ethereum",
	Keys:      keys.Main,
	ChainID:   mainnet.chainID,
	BlockTime: 12 * time.Second,
	Tags:      true,
	Assets: []chain.Asset{
		mainnet.asset("ETH", "ETH", "Ether", money.ETH, ""),
		mainnet.asset("USDC", "USDC", "USD Coin", usdc, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),  // circle code
		mainnet.asset("EURC", "EURC", "Euro Coin", eurc, "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c"), // circle kit
	},
	More: []chain.Asset{
		mainnet.asset("USDT", "USDT", "Tether USD", usdt, "0xdAC17F958D2ee523a2206206994597C13D831ec7"), // others: ava-labs/avalanche-bridge-resources
	},
	Public: []string{
		"https://ethereum-rpc.publicnode.com",
		"https://eth.drpc.org",
		"https://1rpc.io/eth",
		"https://mainnet.gateway.tenderly.co",
	},
}

// Base is the rollup Base, where a transfer costs a cent or less.
var Base = Params{
	ID:        "base",
	Keys:      keys.Main,
	ChainID:   base.chainID,
	BlockTime: 2 * time.Second,
	Tags:      true,
	Assets: []chain.Asset{
		base.asset("EURC-BASE", "EURC", "Euro Coin", eurc, "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"), // circle page
		base.asset("USDC-BASE", "USDC", "USD Coin", usdc, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),  // circle code
		base.asset("ETH-BASE", "ETH", "Ether", money.ETH, ""),
	},
	Bridged: []chain.Asset{
		base.bridged("USDBC", "USDbC", "USD Base Coin", "USDC", "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"), // optimism list
	},
	Public: []string{
		"https://mainnet.base.org",
		"https://base-rpc.publicnode.com",
		"https://base.drpc.org",
		"https://1rpc.io/base",
	},
}

// Arbitrum is Arbitrum One.
var Arbitrum = Params{
	ID:        "arbitrum",
	Keys:      keys.Main,
	ChainID:   arbitrum.chainID,
	BlockTime: time.Second / 4,
	Tags:      true,
	Assets: []chain.Asset{
		arbitrum.asset("USDC-ARBITRUM", "USDC", "USD Coin", usdc, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"), // circle code
		arbitrum.asset("ETH-ARBITRUM", "ETH", "Ether", money.ETH, ""),
	},
	Bridged: []chain.Asset{
		arbitrum.bridged("USDCE-ARBITRUM", "USDC.e", "Bridged USDC", "USDC", "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8"), // uniswap list
	},
	Public: []string{
		"https://arb1.arbitrum.io/rpc",
		"https://arbitrum-one-rpc.publicnode.com",
		"https://arbitrum.drpc.org",
		"https://1rpc.io/arb",
	},
}

// Optimism is OP Mainnet.
var Optimism = Params{
	ID:        "optimism",
	Keys:      keys.Main,
	ChainID:   optimism.chainID,
	BlockTime: 2 * time.Second,
	Tags:      true,
	Assets: []chain.Asset{
		optimism.asset("USDC-OPTIMISM", "USDC", "USD Coin", usdc, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"), // circle code
		optimism.asset("ETH-OPTIMISM", "ETH", "Ether", money.ETH, ""),
	},
	Bridged: []chain.Asset{
		optimism.bridged("USDCE-OPTIMISM", "USDC.e", "Bridged USDC", "USDC", "0x7F5c764cBc14f9669B88837ca1490cCa17c31607"), // optimism list
	},
	Public: []string{
		"https://mainnet.optimism.io",
		"https://optimism-rpc.publicnode.com",
		"https://optimism.drpc.org",
		"https://1rpc.io/op",
	},
}

// Polygon is Polygon PoS.
var Polygon = Params{
	ID:        "polygon",
	Keys:      keys.Main,
	ChainID:   polygon.chainID,
	BlockTime: 2 * time.Second,
	Tags:      true,
	Assets: []chain.Asset{
		polygon.asset("USDC-POLYGON", "USDC", "USD Coin", usdc, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"), // circle code
		polygon.asset("POL", "POL", "POL", pol, ""),
	},
	Bridged: []chain.Asset{
		polygon.bridged("USDCE-POLYGON", "USDC.e", "USD Coin (PoS)", "USDC", "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174"), // uniswap list
	},
	Public: []string{
		"https://polygon-rpc.com",
		"https://polygon-bor-rpc.publicnode.com",
		"https://polygon.drpc.org",
		"https://1rpc.io/matic",
	},
}

// Gnosis is Gnosis Chain. Circle and Tether issue nothing there: all of USDC is bridged.
var Gnosis = Params{
	ID:        "gnosis",
	Keys:      keys.Main,
	ChainID:   gnosis.chainID,
	BlockTime: 5 * time.Second,
	Tags:      true,
	Assets: []chain.Asset{
		gnosis.asset("XDAI", "xDAI", "xDAI", xdai, ""),
	},
	Bridged: []chain.Asset{
		gnosis.bridged("USDCE-GNOSIS", "USDC.e", "Bridged USDC", "USDC", "0x2a22f9c3b484c3629090FeED35F17Ff8F88f76F0"), // aave list alone
		gnosis.bridged("USDC-XDAI", "USDC", "USD//C on Gnosis", "USDC", "0xDDAfbb505ad214D7b80b1f830fcCc89B60fb7A83"),  // aave list alone
	},
	Public: []string{
		"https://rpc.gnosischain.com",
		"https://gnosis-rpc.publicnode.com",
		"https://gnosis.drpc.org",
		"https://1rpc.io/gnosis",
	},
}

// Avalanche is the C-Chain of Avalanche.
var Avalanche = Params{
	ID:        "avalanche",
	Keys:      keys.Main,
	ChainID:   avalanche.chainID,
	BlockTime: 2 * time.Second,
	Tags:      true,
	Assets: []chain.Asset{
		avalanche.asset("EURC-AVALANCHE", "EURC", "Euro Coin", eurc, "0xC891EB4cbdEFf6e073e859e987815Ed1505c2ACD"), // circle page
		avalanche.asset("USDC-AVALANCHE", "USDC", "USD Coin", usdc, "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E"),  // circle kit
		avalanche.asset("AVAX", "AVAX", "Avalanche", avax, ""),
	},
	More: []chain.Asset{
		avalanche.asset("USDT-AVALANCHE", "USDT", "Tether USD", usdt, "0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7"), // others
	},
	Bridged: []chain.Asset{
		avalanche.bridged("USDCE-AVALANCHE", "USDC.e", "USD Coin", "USDC", "0xA7D7079b0FEaD91F3e65f86E8915Cb59c1a4C664"),   // avalanche list
		avalanche.bridged("USDTE-AVALANCHE", "USDT.e", "Tether USD", "USDT", "0xc7198437980c041c805A1EDcbA50c1Ce5db95118"), // avalanche list
	},
	Public: []string{
		"https://api.avax.network/ext/bc/C/rpc",
		"https://avalanche-c-chain-rpc.publicnode.com",
		"https://avalanche.drpc.org",
		"https://1rpc.io/avax/c",
	},
}

// Sepolia is Ethereum's test network.
var Sepolia = Mainnet.testNetwork("sepolia", "Sepolia", 11155111, map[string]string{
	"ETH":  "",
	"USDC": "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238", // circle code
	"EURC": "0x08210F9170F89Ab7658F0B5E3fF39b0E03C594D4", // circle kit
},
	"https://ethereum-sepolia-rpc.publicnode.com",
	"https://sepolia.drpc.org",
	"https://1rpc.io/sepolia",
)

// BaseSepolia is Base's test network.
var BaseSepolia = Base.testNetwork("base-sepolia", "Base Sepolia", 84532, map[string]string{
	"EURC-BASE": "0x808456652fdb597867f38412077A9182bf77359F", // circle kit
	"USDC-BASE": "0x036CbD53842c5426634e7929541eC2318f3dCF7e", // circle code
	"ETH-BASE":  "",
},
	"https://sepolia.base.org",
	"https://base-sepolia-rpc.publicnode.com",
	"https://base-sepolia.drpc.org",
)

// testNetwork returns the test network of a main network, with those of its assets that
// have an entry in contracts. Keys and codes are those of the main network, as for
// Bitcoin, so the two are never offered together.
func (p Params) testNetwork(id chain.ID, name string, chainID uint64, contracts map[string]string, public ...string) Params {
	var assets []chain.Asset
	for _, a := range p.Assets {
		if contract, isListed := contracts[a.Code]; isListed {
			a.Network, a.NetworkName, a.ChainID, a.Contract = id, name, chainID, contract
			assets = append(assets, a)
		}
	}
	p.ID, p.ChainID, p.Assets, p.More, p.Bridged, p.Public, p.Testnet = id, chainID, assets, nil, nil, public, true
	return p
}

// Token returns a token on the network that is not in the lists of this file. Its currency sets its rate.
func (p Params) Token(code string, contract keys.EthereumAddress, currency money.Currency) chain.Asset {
	a := p.Assets[0] // the parameters of the network are equal in all assets
	a.Code, a.Symbol, a.Name, a.Contract = code, code, code, contract.String()
	a.Currency, a.Rate, a.Dust, a.Volatile = currency, currency.Code, money.Zero(currency), false
	a.Policy.Balance, a.Policy.Gas = false, money.Amount{}
	return a
}

// network is the data that all assets of one network share.
type network struct {
	id      chain.ID
	name    string
	chainID uint64 // EIP-155
	depth   []chain.Depth
	// gas is the amount that a merchant may send to an address to pay for a sweep of its
	// tokens: several hundred thousand gas at a high gas price.
	gas string
}

// depth returns the numbers of blocks required below 500 EUR, below 5,000 EUR and above.
func depth(small, middle, large int) []chain.Depth {
	return []chain.Depth{
		{BelowCents: 500_00, Confirmations: small},
		{BelowCents: 5_000_00, Confirmations: middle},
		{Confirmations: large},
	}
}

var (
	// mainnet has a block every 12 seconds. Exchanges require 12 blocks, two and a half
	// minutes. 32 blocks are an epoch. After 64 blocks, two epochs, a block is final unless
	// validators forfeit a third of the stake. See the consensus specifications, "Casper FFG".
	mainnet = network{id: "ethereum", name: "Ethereum", chainID: 1, depth: depth(12, 32, 64), gas: "0.002"}

	// base has a block every 2 seconds, from one sequencer. 30 blocks, a minute, depend on
	// the sequencer alone. After 150 blocks, five minutes, they are usually on Ethereum.
	// After 900 blocks, half an hour, their blocks on Ethereum are final. See docs.base.org,
	// "Transaction Finality".
	base = network{id: "base", name: "Base", chainID: 8453, depth: depth(30, 150, 900), gas: "0.0002"}

	// optimism has the design of Base; arbitrum is similar, with four blocks a second.
	optimism = network{id: "optimism", name: "OP Mainnet", chainID: 10, depth: depth(30, 150, 900), gas: "0.0002"}
	arbitrum = network{id: "arbitrum", name: "Arbitrum One", chainID: 42161, depth: depth(240, 1200, 7200), gas: "0.0002"}

	// polygon had reorganisations of more than a hundred blocks before it had milestones,
	// which make a block final within seconds.
	polygon = network{id: "polygon", name: "Polygon PoS", chainID: 137, depth: depth(32, 128, 256), gas: "0.5"}

	// gnosis works like Ethereum, with a block every 5 seconds and 16 blocks in an epoch.
	gnosis = network{id: "gnosis", name: "Gnosis Chain", chainID: 100, depth: depth(12, 32, 64), gas: "0.05"}

	// avalanche never replaces an accepted block. Since the Helicon upgrade, blocks are executed after they are accepted: "latest"
	// is the block that the endpoint has executed last, and "safe" and "finalized" are the last block whose results the validators
	// have agreed on in a later block, five seconds after its execution or more (ACP-194, "Named blocks"). A block takes two
	// seconds or less, as the validators choose (ACP-226), so that 12 blocks are longer than that.
	avalanche = network{id: "avalanche", name: "Avalanche C-Chain", chainID: 43114, depth: depth(12, 24, 60), gas: "0.01"}
)

// blockGrace allows for slow blocks: without a mempool, only the time of the block shows when
// a transfer arrived.
const blockGrace = 3 * time.Minute

// asset returns the network's native coin, or a token if a contract is given. Only the coin is
// volatile: the tokens represent fiat money.
func (n network) asset(code, symbol, name string, currency money.Currency, contract string) chain.Asset {
	policy := chain.Policy{Depth: n.depth, BlockGrace: blockGrace}
	if contract == "" {
		policy.Balance, policy.Gas = true, money.MustParse(n.gas, currency)
	}
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
		Policy:      policy,
	}
}

// bridged returns a bridged token. of is the symbol of the issuer's token. The two have
// different currencies, so that their amounts are never added up. A bridged token is never
// offered, so it has no rate.
func (n network) bridged(code, symbol, name, of, contract string) chain.Asset {
	a := n.asset(code, symbol, name, money.Currency{Code: code, Decimals: 6}, contract)
	a.Rate, a.BridgeOf = "", of
	return a
}
