package present

import (
	"chequer/internal/api"
	"chequer/views"
)

// showSetback sets the title and the announcement for a payment that the network dropped or reorganised,
// or that is in an asset that the invoice does not offer. The texts say that no money is lost.
func showSetback(p *views.Payment, r api.Resource, s pageContext) {
	kind := state(p.Kind)
	switch {
	case hasException(r, api.ExceptionReplaced) && kind == waiting:
		p.Title = titleWithShop(s.Text("dropped.title"), s)
		p.Announcement = s.Text("dropped.say")
	case hasException(r, api.ExceptionReplaced) && kind == partial:
		p.Announcement = joinSentences(s.Text("dropped.say.part"), p.Announcement)
	case hasException(r, api.ExceptionWrongAsset) && (kind == waiting || kind == partial):
		p.Title = titleWithShop(s.Text("wrong.title"), s)
		p.Announcement = joinSentences(wrongAssetText(r, s), s.Text("wrong.again"), p.Announcement)
	case hasException(r, api.ExceptionReorged) && (kind == waiting || kind == partial || kind == seen):
		p.Title = titleWithShop(s.Text("reorged.title"), s)
		p.Announcement = s.Text("reorged.say")
	}
}

// exceptionNotes returns notes about the invoice's exceptions. It omits exceptions that the state of the
// page already shows, such as a late payment of an expired invoice.
func exceptionNotes(r api.Resource, s pageContext) []views.Note {
	var notes []views.Note
	unpaid := r.Status == api.StatusCreated || r.Status == api.StatusPending
	if hasException(r, api.ExceptionReplaced) && unpaid && !isZero(r.DueAmount) {
		advice := s.Text("dropped.look")
		if r.SecondsLeft > 0 {
			advice = s.Text("dropped.look.again")
		}
		notes = append(notes, views.Note{Kind: "warn", Strong: s.Text("dropped.note"), Text: advice})
	}
	if hasException(r, api.ExceptionReorged) && unpaid {
		notes = append(notes, views.Note{Kind: "warn", Strong: s.Text("reorged.note"), Text: s.Text("reorged.note.text")})
	}
	if hasException(r, api.ExceptionWrongAsset) {
		notes = append(notes, views.Note{
			Kind: "warn", Strong: wrongAssetText(r, s),
			Text: joinSentences(s.Text("wrong.again"), s.Text("wrong.note", "Shop", s.shop, "Reference", views.Reference(r.ForeignID))),
		})
	}
	if hasException(r, api.ExceptionOld) {
		if amounts := receivedAmounts(r, s, isOld); amounts != "" {
			notes = append(notes, views.Note{
				Kind: "warn", Strong: s.Text("old.note", "Amount", amounts),
				Text: s.Text("wrong.note", "Shop", s.shop, "Reference", views.Reference(r.ForeignID)),
			})
		}
	}
	if hasException(r, api.ExceptionDelayed) && unpaid {
		notes = append(notes, views.Note{Kind: "warn", Strong: s.Text("delayed.note"), Text: s.Text("delayed.note.text")})
	}
	if hasException(r, api.ExceptionLate) && r.Status != api.StatusExpired {
		notes = append(notes, views.Note{
			Kind: "warn", Strong: s.Text("late.one"), Text: s.capitalized("late.decides", "Shop", s.shop),
		})
	}
	return notes
}

// wrongAssetText returns the sentence that names the payments in assets that the invoice does not offer.
// If the service returned no payments, the sentence names no amount.
func wrongAssetText(r api.Resource, s pageContext) string {
	if amounts := receivedAmounts(r, s, isWrongAsset); amounts != "" {
		return s.Text("wrong.arrived", "Amount", amounts)
	}
	return s.Text("wrong.arrived.unknown")
}
