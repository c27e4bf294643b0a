package doctor

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/merchant"
	"chequer/internal/networks"
	"chequer/internal/readiness"
)

// examineConnections reports what the connections of the shops to Lightning wallets and nodes allow, and the payment
// requests that the running server could not look up. It asks all providers at once.
func (e *examination) examineConnections(ctx context.Context, shops []*shopExamination, running readiness.Answer, isRunning bool) error {
	var group sync.WaitGroup
	var probed []func()
	for _, s := range shops {
		all, err := e.Storage.AllWallets(ctx, s.shop.ID, merchant.Live)
		if err != nil {
			return err
		}
		for _, w := range all {
			if !w.IsConnection() {
				continue
			}
			report := func() { s.reportLookups(w, running, isRunning) }
			if w.ArchivedAt.IsZero() {
				var access lightning.Access
				var err error
				group.Go(func() {
					access, err = networks.ExamineWallet(ctx, e.Settings, w, e.Now, slog.New(slog.DiscardHandler))
				})
				probed = append(probed, func() { s.reportAccess(w, access, err) })
			}
			probed = append(probed, report)
		}
	}
	group.Wait()
	for _, report := range probed {
		report()
	}
	return nil
}

// connectionSubject returns the subject of a finding about a connection.
func (e *shopExamination) connectionSubject(w merchant.Wallet) string {
	return e.about("lightning (" + w.Key + ")")
}

// reportAccess reports what a connection allows, or the error of its examination.
func (e *shopExamination) reportAccess(w merchant.Wallet, access lightning.Access, err error) {
	switch subject := e.connectionSubject(w); {
	case err != nil:
		e.fail(subject, "%s", err)
	case access.Spending != "":
		e.warn(subject, "%s", access.Describe())
	default:
		e.ok(subject, "%s", access.Describe())
	}
}

// reportLookups reports the faults of the lookups of a connection in the running server. A former connection without
// requests is not looked up any more.
func (e *shopExamination) reportLookups(w merchant.Wallet, running readiness.Answer, isRunning bool) {
	subject, isActive := e.connectionSubject(w), w.ArchivedAt.IsZero()
	i := slices.IndexFunc(running.Networks, func(n readiness.Network) bool { return n.Network == chain.LightningID(w.ID) })
	switch {
	case i < 0 && isActive:
		e.warn(subject, "%s", e.notScanned(isRunning))
	case i < 0:
	case running.Networks[i].Fault != "":
		e.warn(subject, "%s", running.Networks[i].Fault)
	case !running.Networks[i].Reached && isActive:
		e.warn(subject, "no complete lookup within CHEQUER_MAX_SCAN_AGE: new invoices do not offer it")
	}
}
