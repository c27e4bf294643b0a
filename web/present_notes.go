package web

import (
	"cmp"

	"chequer/internal/api"
	"chequer/views"
)

// showSetback makes a step back the news of the page: what the network dropped
// or took back, and that nothing is lost.
func showSetback(p *views.Payment, r api.Resource, s scene) {
	kind := state(p.Kind)
	switch {
	case has(r, api.ExceptionReplaced) && kind == waiting:
		p.Title = title("Payment dropped", s)
		p.Say = "The network dropped the payment. Nothing was taken."
	case has(r, api.ExceptionReplaced) && kind == partial:
		p.Say = "The network dropped a payment. " + p.Say
	case has(r, api.ExceptionWrongAsset) && (kind == waiting || kind == partial):
		p.Title = title("Another currency arrived", s)
		p.Say = sentence(wrongNews(r)) + " arrived, which is not asked for here. Do not send it again. " + p.Say
	case has(r, api.ExceptionReorged) && (kind == waiting || kind == partial || kind == seen):
		p.Title = title("Confirmation taken back", s)
		p.Say = "The network took the confirmation back. We keep watching."
	}
}

// exceptionNotes is what went differently, in words. What a state is made of
// already, such as a late payment of an expired invoice, is not said twice.
func exceptionNotes(r api.Resource, s scene) []views.Note {
	var notes []views.Note
	unpaid := r.Status == api.StatusCreated || r.Status == api.StatusPending
	if has(r, api.ExceptionReplaced) && unpaid && !isZero(r.DueAmount) {
		look := " whether the payment is gone from there too"
		if r.SecondsLeft > 0 {
			look = ": if the payment is gone from there too, you can send it again"
		}
		notes = append(notes, views.Note{
			Kind: "warn", Strong: "The network dropped that transaction. Nothing was taken.",
			Text: "Look in your wallet" + look + ".",
		})
	}
	if has(r, api.ExceptionReorged) && unpaid {
		notes = append(notes, views.Note{
			Kind: "warn", Strong: "The network took a confirmation back.",
			Text: "That happens, and mostly it confirms again by itself. Do not send anything again while your wallet shows the payment.",
		})
	}
	if has(r, api.ExceptionWrongAsset) {
		notes = append(notes, views.Note{
			Kind: "warn", Strong: sentence(wrongNews(r)) + " arrived, which is not asked for here.",
			Text: "Do not send it again. It does not count by itself: " + s.shop + " decides whether it does or goes back to you. " +
				"Ask there and give the reference " + views.Reference(r.ForeignID) + ".",
		})
	}
	if has(r, api.ExceptionDelayed) && unpaid {
		notes = append(notes, views.Note{
			Kind: "warn", Strong: "This takes longer than usual.",
			Text: "We cannot see the network well at the moment. Nothing that you sent is lost.",
		})
	}
	if has(r, api.ExceptionLate) && r.Status != api.StatusExpired {
		notes = append(notes, views.Note{
			Kind: "warn", Strong: "A payment arrived late.",
			Text: sentence(s.shop) + " decides whether it counts or goes back to you.",
		})
	}
	return notes
}

// wrongNews is what arrived and is not asked for: "3 USDC on Base". A service
// that tells of no payments does not say.
func wrongNews(r api.Resource) string {
	return cmp.Or(received(r, wrong), "another currency")
}
