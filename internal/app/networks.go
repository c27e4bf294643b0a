package app

import (
	"errors"
	"log/slog"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/rates"
)

// demoRates are made up, and marked as such wherever they are shown.
const demoRates = "BTC-EUR=86420.00,LTC-EUR=78.35,ETH-EUR=2650.10,EUR-USD=1.08"

// liveNetworks are the networks of real money.
func liveNetworks() []chain.Network {
	return []chain.Network{
		bitcoin.New(bitcoin.Mainnet),
		bitcoin.New(bitcoin.Litecoin),
		ethereum.New(ethereum.Mainnet),
		ethereum.New(ethereum.Base),
	}
}

// tellUnwatched logs which networks nobody looks at, and what follows.
func tellUnwatched(log *slog.Logger, offered bool) {
	for _, n := range liveNetworks() {
		switch _, watched := n.(chain.Scanner); {
		case watched:
		case offered:
			log.Warn("network is offered, but nobody looks for payments on it", "network", n.ID())
		default:
			log.Warn("network is not offered, as nobody looks for payments on it", "network", n.ID(), "setting", "CHEQUER_UNWATCHED")
		}
	}
}

// errNoRates says how to give rates.
var errNoRates = errors.New("CHEQUER_RATES is missing: say what coins cost, as in fixed:BTC-EUR=86420.00,ETH-EUR=2650.10,EUR-USD=1.08")

// rateTable is the table that the settings ask for.
func rateTable(c config.Config, o Options) (invoice.Rates, error) {
	text, fixed := strings.CutPrefix(c.Rates, "fixed:")
	switch {
	case fixed:
		return rates.ParseFixed(text, "fixed")
	case o.Demo:
		return rates.ParseFixed(demoRates, "demo")
	}
	return nil, errNoRates
}

// shopName is the name of the merchant that is made on an empty database.
func shopName(c config.Config, o Options) string {
	switch {
	case c.ShopName != "":
		return c.ShopName
	case o.Demo:
		return "Demo shop"
	}
	return "Shop"
}

// pageMode is the mode of the invoices that the storefront makes.
func pageMode(o Options) merchant.Mode {
	if o.Demo {
		return merchant.Test
	}
	return merchant.Live
}
