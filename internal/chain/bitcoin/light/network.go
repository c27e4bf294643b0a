package light

import (
	"math/big"
	"time"

	"github.com/btcsuite/btcd/chaincfg"
)

// Network is one of Bitcoin's networks, with the trust in its peers.
type Network struct {
	Name   string
	Params *chaincfg.Params
	Trust  Trust
}

// MinWork is nMinimumChainWork of Bitcoin Core 30.0's src/kernel/chainparams.cpp: the work of the
// chains at blocks 912,683, 91,000 and 267,665.
var (
	Mainnet = Network{
		Name: "mainnet", Params: &chaincfg.MainNetParams,
		Trust: Trust{Peers: 4, Filters: 3, MaxTipAge: 3 * time.Hour, Announcers: 2, MinWork: parseWork("dee8e2a309ad8a9820433c68")},
	}
	Testnet4 = Network{
		Name: "testnet4", Params: &chaincfg.TestNet4Params,
		Trust: Trust{Peers: 4, Filters: 3, MaxTipAge: 3 * time.Hour, Announcers: 2, MinWork: parseWork("34a4690fe592dc49c7c")},
	}
	// Signet has few nodes that serve filters, and its blocks are signed.
	Signet = Network{
		Name: "signet", Params: &chaincfg.SigNetParams,
		Trust: Trust{Peers: 2, Filters: 1, MaxTipAge: 3 * time.Hour, Announcers: 1, MinWork: parseWork("67d328e681a")},
	}
	// Regtest is a local test network.
	Regtest = Network{
		Name: "regtest", Params: &chaincfg.RegressionNetParams,
		Trust: Trust{Peers: 1, Filters: 1, Announcers: 1},
	}
)

// Networks are all supported networks.
var Networks = []Network{Mainnet, Testnet4, Signet, Regtest}

func parseWork(hex string) *big.Int {
	w, ok := new(big.Int).SetString(hex, 16)
	if !ok {
		panic("not a number: " + hex)
	}
	return w
}
