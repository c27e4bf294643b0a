package app

import (
	"log/slog"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
	"chequer/internal/merchant"
)

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
