package doctor

import (
	"context"

	"chequer/internal/chain"
	"chequer/internal/format"
	"chequer/internal/keys"
	"chequer/internal/merchant"
)

// examineMonero reports how far a Monero wallet must look ahead, and the time-locked payments that wait for a decision. unused is the number of its newest subaddresses in a row that are
// unused. A wallet that is restored finds all payments if it looks as far as the newest subaddress.
func (e *shopExamination) examineMonero(ctx context.Context, network chain.ID, w merchant.Wallet, unused int64, subject string) error {
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
	locked, err := e.Storage.UnsureWaiting(ctx, e.shop.ID, network)
	if err != nil {
		return err
	}
	if locked > 0 {
		e.warn(subject, "%s time-locked and waiting for your decision: see Needs attention at the desk", format.Plural(locked, "payment"))
	}
	return nil
}
