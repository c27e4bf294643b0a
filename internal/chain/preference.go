package chain

import (
	"cmp"
	"slices"
)

// stable lists the rate codes of the stable tokens by how likely a shopper holds them.
var stable = []string{"USDC", "EURC", "USDT"}

// costly lists the EVM networks whose fee for a transfer is a notable part of a
// shopper's price: Ethereum and its test network.
var costly = []uint64{1, 11155111}

// ComparePreference compares two assets by the default order of payment methods,
// which applies if the merchant chose none. Assets that a shopper likely holds come
// first:
//
//  1. Bitcoin
//  2. stable tokens: first on networks with low fees, then on Ethereum; on each of
//     them USDC, EURC, USDT
//  3. Ether: first on Ethereum, where most of it is, then on other networks
//  4. Litecoin
//  5. all others
//
// It returns a negative number if a comes before b, a positive number if a comes
// after b, and zero if the rule does not decide: then the server's order of networks
// and assets stays.
func ComparePreference(a, b Asset) int {
	return cmp.Or(
		cmp.Compare(kindPreference(a), kindPreference(b)),
		cmp.Compare(networkPreference(a), networkPreference(b)),
		cmp.Compare(slices.Index(stable, a.Rate), slices.Index(stable, b.Rate)),
	)
}

// kindPreference returns the number of the asset's entry in the list of
// ComparePreference.
func kindPreference(a Asset) int {
	switch {
	case a.Rate == "BTC":
		return 1
	case slices.Contains(stable, a.Rate):
		return 2
	case a.Rate == "ETH":
		return 3
	case a.Rate == "LTC":
		return 4
	}
	return 5
}

// networkPreference returns 0 for the networks where the asset is preferred and 1
// for the others.
func networkPreference(a Asset) int {
	if slices.Contains(costly, a.ChainID) == (a.Rate == "ETH") {
		return 0
	}
	return 1
}
