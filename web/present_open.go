package web

import (
	"strconv"

	"chequer/internal/api"
	"chequer/views"
)

func showWaiting(p *views.Payment, r api.Resource, s scene) {
	p.Title = "Pay " + s.shop
	p.Heading, p.Open = "Waiting for your payment", true
	p.Clock = clock(r, s)
	p.Methods, p.Hold = methods(r, s, false), hold(r, s)
	p.Help = []string{
		"Send the exact amount in one payment. The fee is extra; your wallet sets it.",
		"You can close this page after sending. We keep looking, and its address stays the same.",
		"What arrives after the price has run out may need a decision by " + s.shop + ".",
	}
	if p.Hold.Action != "" {
		p.Help = append(p.Help, "Need more time? Have the price held again; it may be another one then.")
	}
	if byHand(r) {
		p.Help[1] = sentence(s.shop) + " checks its wallet by hand and uses the reference " + views.Reference(r.ForeignID) + "."
		return
	}
	p.Steps = steps("now", "", "")
}

func showPartial(p *views.Payment, r api.Resource, s scene) {
	due := views.Fiat(r.DueAmount, r.ClientCurrency)
	p.Title = title(due+" still due", s)
	p.Due = views.Due{Label: "Still due", Amount: due}
	p.Heading, p.Open = "Part of it arrived", true
	p.Meter = views.Meter{
		Paid: arrived(r), Total: r.ClientAmount,
		PaidText: views.Fiat(arrived(r), r.ClientCurrency), TotalText: views.Fiat(r.ClientAmount, r.ClientCurrency),
	}
	if r.SecondsLeft <= 0 {
		p.Say = "Part of the payment arrived, and the held price has run out. " + due + " is missing."
		p.Due.Line = "The price is held no more"
		p.Notes = []views.Note{{
			Kind: "warn", Strong: "Do not send the rest now.",
			Text: "The held price has run out. We are still looking for what was sent in time; after that " + s.shop + " decides.",
		}}
		if p.Hold = hold(r, s); p.Hold.Action != "" {
			p.Notes[0].Text = "The held price has run out. Hold it again, and send the rest that it asks for then."
			return
		}
		p.Again = again(r, s)
		return
	}
	p.Say = "Part of the payment arrived. " + due + " still due. The QR code now shows the rest."
	p.Clock = clock(r, s)
	p.Methods, p.Hold = methods(r, s, true), hold(r, s)
	p.Notes = []views.Note{{
		Kind: "warn", Strong: "Send the rest to the same address.",
		Text: "Some wallets and exchanges take their fee out of the amount. The code asks for the rest only.",
	}}
	p.Help = []string{
		"The rest may be paid by another method: both count together.",
		"If you cannot send the rest, ask " + s.shop + " and give the reference " + views.Reference(r.ForeignID) + ".",
	}
}

// showEnded is between the end of the held price and the decision that nothing
// came in time.
func showEnded(p *views.Payment, r api.Resource, s scene) {
	p.Title = title("Price run out", s)
	p.Due.Line = heldUntil(r, s)
	p.Heading = "The held price has run out"
	if byHand(r) {
		showByHand(p, r, s)
		return
	}
	p.Say = "The held price has run out. We are still looking for your payment."
	p.Lead = "We are still looking for a payment that was sent in time."
	p.Again = again(r, s)
	p.Again.Quiet = true
	p.Hold = hold(r, s)
	instead := offer(p.Again.URL, " Start again instead.")
	if p.Hold.Action != "" {
		p.Again = elsewhere(r, s)
		p.Say += " You can hold the price again."
		instead = " Hold the price again first: it may be another one by now."
	}
	p.Notes = []views.Note{
		{Strong: "Already sent it? Do not send it again.", Text: "This page changes when it arrives. Keep the reference " + views.Reference(r.ForeignID) + "."},
		{Strong: "Not sent yet? Do not send it now.", Text: "It would be too late for this price." + instead},
	}
}

// showByHand is a page whose held price has run out while nobody but the shop
// can tell whether money came. It must not invite to pay twice.
func showByHand(p *views.Payment, r api.Resource, s scene) {
	p.Lead = sentence(s.shop) + " checks by hand whether you paid; if you did, do nothing and keep the reference " + views.Reference(r.ForeignID) + "."
	p.Say = p.Heading + ". " + p.Lead
	p.Return = returnLink(r.URLFailure, r.ForeignID, "Return to "+s.shop)
}

// offer is words about a button, where there is that button with its address.
func offer(address, words string) string {
	if address == "" {
		return ""
	}
	return words
}

func showSeen(p *views.Payment, r api.Resource, s scene) {
	p.Title = title("Payment seen", s)
	p.Due = views.Due{Label: "Received", Amount: views.Fiat(sent(r), r.ClientCurrency), Line: received(r, counted)}
	p.Heading, p.Open = "Payment seen", true
	p.Steps = steps("done", "now", "")
	p.Lead = "The network is confirming it. There is nothing more for you to do, and you can close this page."
	p.Say = "Payment seen. You can close this page."
	if last, ok := slowest(r); ok {
		p.Depth = strconv.Itoa(last.Confirmations) + " of " + strconv.Itoa(last.Required)
		p.Say = "Payment seen. " + spokenDepth(last) + " You can close this page."
	}
	p.Facts = payments(r, counted)
}

// clock is how long the price is held.
func clock(r api.Resource, s scene) views.Clock {
	return views.Clock{
		Until: views.TimeOfDay(r.ExpiredAt, s.now), Machine: r.ExpiredAt,
		Left: strconv.FormatInt(r.SecondsLeft, 10),
	}
}

func heldUntil(r api.Resource, s scene) string {
	until := views.TimeOfDay(r.ExpiredAt, s.now)
	if until == "" {
		return ""
	}
	return "Price was held until " + until
}

func steps(wait, seen, confirmed string) []views.Step {
	return []views.Step{{Text: "Waiting", State: wait}, {Text: "Seen", State: seen}, {Text: "Confirmed", State: confirmed}}
}
