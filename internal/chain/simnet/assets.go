package simnet

import (
	"chequer/internal/chain"
	"chequer/internal/money"
)

// Chain IDs of the public test networks that appear in the payment links of simnet. The contracts of their
// tokens are listed by the issuer, Circle, at developers.circle.com: "USDC contract addresses" and "EURC
// contract addresses", testnet.
const (
	sepolia     = 11155111
	baseSepolia = 84532
)

// policy equals the policy of Bitcoin, so that test payments in all assets behave like payments in Bitcoin.
var policy = chain.Policy{
	Depth: []chain.Depth{
		{BelowCents: 500_00, Confirmations: 1},
		{BelowCents: 5_000_00, Confirmations: 2},
		{BelowCents: 50_000_00, Confirmations: 6},
		{Confirmations: 12},
	},
	Coinbase: 100,
	Mempool:  true,
}

var assets = []chain.Asset{
	coin("BTC", "Bitcoin", "Bitcoin test network", money.BTC, "bitcoin", "0.00000546"),
	chain.LightningAsset(ID),
	coin("LTC", "Litecoin", "Litecoin test network", money.LTC, "litecoin", "0.0000546"),
	coin("XMR", "Monero", "Monero stagenet", money.XMR, "monero", "0.0001"),
	ether("ETH", "Ether", "Sepolia", sepolia),
	token("USDC", "USDC", "USD Coin", "Sepolia", sepolia, "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"),
	token("EURC", "EURC", "Euro Coin", "Sepolia", sepolia, "0x08210F9170F89Ab7658F0B5E3fF39b0E03C594D4"),
	token("EURC-BASE", "EURC", "Euro Coin", "Base Sepolia", baseSepolia, "0x808456652fdb597867f38412077A9182bf77359F"),
	token("USDC-BASE", "USDC", "USD Coin", "Base Sepolia", baseSepolia, "0x036CbD53842c5426634e7929541eC2318f3dCF7e"),
	ether("ETH-BASE", "Ether", "Base Sepolia", baseSepolia),
}

// Assets implements chain.Network.
func (n *Network) Assets() []chain.Asset { return assets }

func assetByCode(code string) (chain.Asset, bool) {
	for _, a := range assets {
		if a.Code == code {
			return a, true
		}
	}
	return chain.Asset{}, false
}

func coin(code, name, network string, currency money.Currency, scheme, dust string) chain.Asset {
	return chain.Asset{
		Code: code, Symbol: code, Name: name, Network: ID, NetworkName: network, Currency: currency,
		Wallet: code, Rate: code, Dust: money.MustParse(dust, currency), Scheme: scheme,
		Volatile: true, Policy: policy,
	}
}

func ether(code, name, network string, chainID uint64) chain.Asset {
	return chain.Asset{
		Code: code, Symbol: "ETH", Name: name, Network: ID, NetworkName: network, Currency: money.ETH,
		Wallet: "ETH", Rate: "ETH", Dust: money.Zero(money.ETH), Scheme: "ethereum", ChainID: chainID,
		Volatile: true, Policy: policy,
	}
}

func token(code, symbol, name, network string, chainID uint64, contract string) chain.Asset {
	currency := money.Currency{Code: symbol, Decimals: 6}
	return chain.Asset{
		Code: code, Symbol: symbol, Name: name, Network: ID, NetworkName: network, Currency: currency,
		Wallet: "ETH", Rate: symbol, Dust: money.Zero(currency), Scheme: "ethereum", ChainID: chainID,
		Contract: contract, Policy: policy,
	}
}
