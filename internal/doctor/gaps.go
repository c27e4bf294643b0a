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
			if err := e.examineLookAhead(ctx, e.wallets[i], unused, subject); err != nil {
				return err
			}
		case unused > keys.GapLimit:
			e.warn(subject, "the last %d addresses are unused, and many wallets look at no more than %d in a row: raise your wallet's gap limit above %d", unused, keys.GapLimit, unused)
		}
	}
	return nil
}

// examineLookAhead reports how far a Monero wallet must look ahead. unused is the number of its newest subaddresses in a row that are
// unused. A wallet that is restored finds all payments if it looks as far as the newest subaddress.
func (e *shopExamination) examineLookAhead(ctx context.Context, w merchant.Wallet, unused int64, subject string) error {
	next, err := e.Storage.NextIndex(ctx, w.Counter)
	if err != nil {
		return err
	}
	lookAhead := keys.XMR.GapLimit()
	const restore = "restore it with --subaddress-lookahead 50:%d"
	switch newest := int64(next) - 1; {
	case unused > lookAhead:
		e.warn(subject, "your wallet must look %d subaddresses ahead, because the last %d are unused; Monero's wallets look at %d: "+restore, unused, unused, lookAhead, newest)
	case newest > lookAhead:
		e.ok(subject, "invoices have used %d subaddresses; if you restore your wallet, "+restore, newest, newest)
	}
	return nil
}
