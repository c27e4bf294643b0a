package doctor

import (
	"context"
	"slices"

	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/networks"
)

// examineGaps warns if a wallet's software may have stopped searching before the newest addresses.
func (e *examination) examineGaps(ctx context.Context, all []networks.Network, wallets []merchant.Wallet) error {
	for _, n := range all {
		i := slices.IndexFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == n.Wallet() })
		if i < 0 {
			continue
		}
		unused, err := e.Storage.UnusedInARow(ctx, wallets[i], n.ID())
		if err != nil {
			return err
		}
		if unused > keys.GapLimit {
			e.warn("network "+string(n.ID()), "the last %d addresses are unused, and many wallets look at no more than %d in a row: raise your wallet's gap limit above %d", unused, keys.GapLimit, unused)
		}
	}
	return nil
}
