package doctor

import (
	"context"
	"errors"

	"chequer/internal/format"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// examineSales reports whether received coins are sold, and which sales the operator must
// decide about.
func (e *shopExamination) examineSales(ctx context.Context) error {
	a, err := e.Accounts.Account(ctx, e.shop.ID)
	counts, countErr := e.Storage.SaleCountsOf(ctx, e.shop.ID)
	switch {
	case countErr != nil:
		return countErr
	case errors.Is(err, merchant.ErrNotFound):
		if waiting := counts[invoice.SaleWaiting] + counts[invoice.SaleSending]; waiting > 0 {
			e.warn(e.about("selling for euro"), "%s waiting, and there is no exchange account: chequer sale add", format.Plural(waiting, "sale"))
		}
		return nil
	case err != nil:
		return err
	}
	subject := e.about("selling at " + a.Exchange)
	switch {
	case a.Active && e.Settings.Worthless():
		e.warn(subject, "nothing is sold while a test network is switched on: its coins have no value")
	case a.Active:
		e.ok(subject, "on, %s waiting", format.Plural(counts[invoice.SaleWaiting]+counts[invoice.SaleSending], "sale"))
	default:
		e.warn(subject, "off: nothing is sold before chequer sale on")
	}
	if err := e.Accounts.Examine(ctx, a); err != nil {
		e.warn(subject, "%v", err)
	}
	if n := counts[invoice.SaleFailed]; n > 0 {
		e.warn(subject, "%s failed, which you must decide about: chequer sale list --state failed", format.Plural(n, "sale"))
	}
	return nil
}
