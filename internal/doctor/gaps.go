package doctor

import (
	"context"

	"chequer/internal/keys"
	"chequer/internal/networks"
)

// examineGaps warns if a wallet may have stopped searching before the newest addresses.
func (e *shopExamination) examineGaps(ctx context.Context, all []networks.Network) error {
	for _, n := range all {
		unused, err := e.Storage.UnusedInARow(ctx, e.shop.ID, n.ID())
		if err != nil {
			return err
		}
		if unused > keys.GapLimit {
			e.warn(e.about("network "+string(n.ID())), "the last %d addresses are unused, and many wallets look at no more than %d in a row: raise your wallet's gap limit above %d", unused, keys.GapLimit, unused)
		}
	}
	return nil
}
