package retention

import (
	"maps"
	"slices"
	"time"

	"chequer/internal/api"
	"chequer/internal/invoice"
)

// Removed counts the personal data that were removed from an invoice, by kind.
type Removed struct{ Notes, RefundAddresses, Metadata, ReturnAddresses int64 }

// kinds returns the kinds whose number is not zero.
func (r Removed) kinds() (kinds []invoice.PersonalData) {
	for _, k := range []struct {
		kind invoice.PersonalData
		n    int64
	}{{invoice.TeamNotes, r.Notes}, {invoice.RefundAddresses, r.RefundAddresses}, {invoice.ShopMetadata, r.Metadata}, {invoice.ReturnAddresses, r.ReturnAddresses}} {
		if k.n > 0 {
			kinds = append(kinds, k.kind)
		}
	}
	return kinds
}

// RelatedData describes the personal data about an invoice that are not stored in the invoice itself.
type RelatedData struct {
	Notes             int64 // number of the notes of the team
	NewestNote        time.Time
	HasPluginMetadata bool // whether a shop plug-in stored metadata
}

// Due reports whether the personal data of an invoice may be removed at a time on the real clock: the invoice is
// finished, and the given months have passed since its last activity and since the newest note.
func Due(inv *invoice.Invoice, months int, related RelatedData, now time.Time) bool {
	at := now.Add(inv.Clock)
	return isFinished(inv, at) && !at.Before(lastActivity(inv).AddDate(0, months, 0)) && !now.Before(related.NewestNote.AddDate(0, months, 0))
}

// PluginMetadataSince returns the zero time if the metadata of a shop plug-in may be removed from an invoice at a time on the
// real clock: the invoice is finished, and the given days have passed since its last activity. Otherwise it returns the
// earliest time, on the real clock, at which the period can have begun: the last activity, or the beginning of a period that
// ends now, because an invoice that is not finished waits for more.
func PluginMetadataSince(inv *invoice.Invoice, days int, now time.Time) time.Time {
	since, ended := lastActivity(inv).Add(-inv.Clock), now.AddDate(0, 0, -days)
	switch {
	case since.After(ended):
		return since
	case !isFinished(inv, now.Add(inv.Clock)):
		return ended
	}
	return time.Time{}
}

// RemovePluginMetadata records the removal of the metadata of a shop plug-in, which the caller deletes.
func RemovePluginMetadata(inv *invoice.Invoice, now time.Time) {
	recordRemoval(inv, []invoice.PersonalData{invoice.ShopMetadata}, now)
}

// isFinished reports whether an invoice waits for no payment, confirmation, decision, refund or sale at a time on its own
// clock.
func isFinished(inv *invoice.Invoice, at time.Time) bool {
	isOpen := inv.State.Status == invoice.Created || inv.State.Status == invoice.Pending || !inv.State.NextCheck.IsZero()
	if isOpen || inv.NeedsDecision() || at.Before(inv.ExpiresAt().Add(invoice.WatchPeriod)) {
		return false
	}
	unconfirmed := func(t invoice.Transfer) bool {
		return t.Presence == invoice.Present && (t.Block == nil || t.Confirmations < t.Required)
	}
	watched := func(r invoice.Refund) bool { return r.WatchUntil.Add(inv.Clock).After(at) }
	unsold := func(s invoice.Sale) bool {
		return s.State == invoice.SaleWaiting || s.State == invoice.SaleSending || s.State == invoice.SaleFailed
	}
	return !slices.ContainsFunc(inv.Transfers, unconfirmed) && !slices.ContainsFunc(inv.Refunds, invoice.Refund.Open) && !slices.ContainsFunc(inv.Refunds, watched) && !slices.ContainsFunc(inv.Sales, unsold)
}

// lastActivity returns the latest time, on the invoice's own clock, of its creation, expiry, transfers, decisions, refunds
// and sales.
func lastActivity(inv *invoice.Invoice) time.Time {
	times := []time.Time{inv.CreatedAt, inv.ExpiresAt(), inv.State.PaidAt, inv.DeclinedAt, inv.AcceptedAt, inv.Kept.At}
	for _, t := range inv.Transfers {
		times = append(times, t.FirstSeen, t.ConfirmedAt)
	}
	for _, r := range inv.Refunds {
		times = append(times, r.Asked.At, r.Prepared.At, r.AnsweredAt, r.Sent.At, r.Closed.At)
	}
	for _, s := range inv.Sales {
		times = append(times, s.CreatedAt, s.Since)
	}
	return slices.MaxFunc(times, time.Time.Compare)
}

// RemoveFrom removes the personal data from an invoice, and records their removal and that of the related data, which
// the caller deletes. It returns the numbers of both. If there is nothing to remove, the first call records the removal,
// and later calls do not change the invoice.
func RemoveFrom(inv *invoice.Invoice, related RelatedData, now time.Time) (removed Removed) {
	removed.Notes = related.Notes
	if !inv.RefundAddress.IsZero() {
		removed.RefundAddresses++
		inv.RefundAddress = invoice.RefundAddress{}
	}
	for i := range inv.Refunds {
		if r := &inv.Refunds[i]; r.Address != "" {
			removed.RefundAddresses++
			r.Address, r.Script, r.AddressBy = "", "", ""
		}
	}
	if kept := keptMetadata(inv); len(kept) < len(inv.Terms.Metadata) || related.HasPluginMetadata {
		removed.Metadata = 1
		inv.Terms.Metadata = kept
	}
	for _, url := range []*string{&inv.Terms.URLSuccess, &inv.Terms.URLFailure} {
		if *url != "" {
			removed.ReturnAddresses++
			*url = ""
		}
	}
	if kinds := removed.kinds(); len(kinds) > 0 || inv.Removal.At.IsZero() {
		recordRemoval(inv, kinds, now)
	}
	return removed
}

// recordRemoval records that kinds of personal data were removed from an invoice.
func recordRemoval(inv *invoice.Invoice, kinds []invoice.PersonalData, now time.Time) {
	kinds = append(kinds, inv.Removal.Kinds...)
	slices.Sort(kinds)
	inv.Removal = invoice.Removal{At: now, Kinds: slices.Compact(kinds)}
}

// keptMetadata returns the metadata that stay: those that the server set for an invoice of a product or a terminal,
// such as the product and its quantity.
func keptMetadata(inv *invoice.Invoice) map[string]string {
	if inv.Origin.Kind != invoice.FromProduct && inv.Origin.Kind != invoice.FromTerminal {
		return nil
	}
	kept := maps.Clone(inv.Terms.Metadata)
	maps.DeleteFunc(kept, func(name, _ string) bool {
		switch name {
		case api.MetadataProduct, api.MetadataQuantity, api.MetadataUnitPrice, api.MetadataTerminal, api.MetadataOrderIDFrom:
			return false
		}
		return true
	})
	if len(kept) == 0 {
		return nil
	}
	return kept
}
