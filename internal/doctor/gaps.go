package doctor

import (
	"context"
	"slices"

	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/networks"
)

// examineGaps warns if the software of a wallet of the shop may have stopped searching before the newest addresses.
func (e *shopExamination) examineGaps(ctx context.Context, all []networks.Network) error {
	for _, n := range all {
		i := slices.IndexFunc(e.wallets, func(w merchant.Wallet) bool { return w.Asset == n.Wallet() })
		if i < 0 {
			continue
		}
		unused, err := e.Storage.UnusedInARow(ctx, e.wallets[i], n.ID())
		if err != nil {
			return err
		}
		subject := e.about("network " + string(n.ID()))
		switch {
		case n.Wallet() == string(keys.XMR):
			if err := e.examineMonero(ctx, n.ID(), e.wallets[i], unused, subject); err != nil {
				return err
			}
		case unused > keys.GapLimit:
			e.warn(subject, "the last %d addresses are unused, and many wallets look at no more than %d in a row: raise your wallet's gap limit above %d", unused, keys.GapLimit, unused)
		}
	}
	return nil
}
