package web

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/views"
)

func showPaid(p *views.Payment, r api.Resource, s scene) {
	p.Title = title("Paid", s)
	p.Say = "Paid. " + subject(r) + " is confirmed."
	p.Due.Label, p.Due.Line = "Paid", received(r, counted)
	p.Heading, p.Seal = "Paid. Thank you.", true
	p.Lead = s.shop + " has your payment. This page is your receipt: keep its address, or print it."
	p.Facts = receiptFacts(r)
	p.Footing = "This is the receipt of a payment, not a VAT invoice."
	p.PDF = views.Link{Text: "Receipt as PDF", URL: s.self + "/receipt.pdf"}
	p.Return = returnLink(r.URLSuccess, r.ForeignID, "Return to "+s.shop)
	p.Leave = p.Return.URL != "" && p.Kind == string(paid)
	if p.Return.URL == "" && s.page.Home != "" {
		p.Return = views.Link{Text: "Back to " + s.shop, URL: s.page.Home}
	}
	p.Final = !slices.ContainsFunc(r.Payments, func(t api.Payment) bool { return t.State == "seen" })
	if p.Kind == string(overpaid) {
		showExtra(p, r, s)
	}
}

// receiptFacts is what a paid page says of the payment, or of each if there were
// several.
func receiptFacts(r api.Resource) []views.Fact {
	confirmed := views.NewMoment(r.PaidAt)
	facts := []views.Fact{
		{Label: "Reference", Value: views.Reference(r.ForeignID), Code: true},
		{Label: "Received", Value: received(r, counted)},
		{Label: "Confirmed", Value: confirmed.Text, Machine: confirmed.Machine},
	}
	var parts []views.Fact
	for _, t := range r.Payments {
		if counted(t) {
			number := strconv.Itoa(len(parts)/2 + 1)
			parts = append(parts, views.Fact{Label: "Payment " + number, Value: t.Amount + " " + unit(r, t.CryptoCurrency)}, transaction(t.Tx))
		}
	}
	if len(parts) <= 2 {
		parts = []views.Fact{{Label: "Rate", Value: paidRate(r)}, transaction(r.PaidTx)}
	}
	return told(append(facts, parts...))
}

// paidRate is what one coin counted as, where there was one price only.
func paidRate(r api.Resource) string {
	for _, m := range r.PaymentMethods {
		if m.CryptoCurrency == r.PaidCurrency && len(r.Quotes) == 1 {
			return strings.TrimPrefix(price(r, m), " · ")
		}
	}
	return ""
}

// showExtra is what a paid page says when more came than was asked.
func showExtra(p *views.Payment, r api.Resource, s scene) {
	extra := views.Fiat(r.OverpaidAmount, r.ClientCurrency)
	p.Title = title("Paid, with "+extra+" extra", s)
	p.Due.Amount = views.Fiat(sent(r), r.ClientCurrency)
	p.Say = "Paid. You sent " + extra + " more than needed and can ask for it back."
	p.Heading = "Paid. You sent a little extra."
	p.Lead = subject(r) + " is confirmed. " + extra + " is above the price and belongs to you."
	p.Facts = append(p.Facts, views.Fact{Label: "Extra", Value: extra})
	ask := "Ask " + s.shop + " for it and give the reference " + views.Reference(r.ForeignID) + "."
	switch {
	case len(currencies(r)) > 0 && r.RefundAddress == "":
		ask = "Tell " + s.shop + " below where to send it, now or at any time on this page."
	case r.RefundAddress != "":
		ask = sentence(s.shop) + " knows the address below. If nothing comes, ask and give the reference " + views.Reference(r.ForeignID) + "."
	}
	p.Notes = []views.Note{{Kind: "ok", Strong: "Get " + extra + " back.", Text: ask}}
}

func showExpired(p *views.Payment, r api.Resource, s scene) {
	p.Title = title("Price expired", s)
	p.Due.Line = heldUntil(r, s)
	p.Heading = "The held price has run out"
	if byHand(r) && isZero(r.PaidAmount) {
		showByHand(p, r, s)
		return
	}
	p.Again, p.Hold = again(r, s), hold(r, s)
	start := offer(p.Again.URL, " You can start again with a new price.")
	if p.Hold.Action != "" {
		p.Again = elsewhere(r, s)
		start = " " + subject(r) + " is still here: hold the price again to pay it."
	}
	p.Lead = "No payment was seen in time." + start
	p.Say = "The held price has expired. No payment was seen." + start
	if !isZero(r.PaidAmount) {
		some := views.Fiat(r.PaidAmount, r.ClientCurrency)
		p.Heading = "Only part of it arrived in time"
		p.Lead = some + " arrived before the price ran out, " + views.Fiat(r.DueAmount, r.ClientCurrency) + " is missing. The money is with " + s.shop + ", who decides what happens with it."
		p.Say = "The held price has expired. Only " + some + " arrived in time."
		p.Facts = payments(r, counted)
	}
	p.Notes = []views.Note{sentAlready(r)}
}

// sentAlready is for those who pay late without knowing it.
func sentAlready(r api.Resource) views.Note {
	note := views.Note{
		Strong: "Already sent it? Do not send it again.",
		Text:   "Keep the reference " + views.Reference(r.ForeignID) + ".",
	}
	if until := views.NewMoment(r.WatchedUntil); until.Text != "" && !byHand(r) {
		note.Text, note.Until = note.Text+" We look for your payment until", until
		note.Rest = "and match it to this page."
	}
	return note
}

func showLate(p *views.Payment, r api.Resource, s scene) {
	p.Title = title("Payment arrived late", s)
	p.Say = "Your payment arrived after the price expired. " + sentence(s.shop) + " is checking it."
	p.Due = lateDue(r, p.Due)
	p.Heading = "Your payment arrived late"
	p.Lead = "It came in " + lateness(r) + "after the price had run out. The money is safe with " + s.shop + "."
	p.Notes = []views.Note{{
		Kind: "warn", Strong: sentence(s.shop) + " decides",
		Text: "whether it counts or goes back to you. You need not send anything more.",
	}}
	p.Facts = payments(r, lateOnes)
	p.Return = returnLink(r.URLFailure, r.ForeignID, "Return to "+s.shop)
}

// lateDue is what came late: its worth where that is known, else the coins. Late
// money does not count, so the service mostly puts no worth to it; what covers
// the whole price is worth that.
func lateDue(r api.Resource, asked views.Due) views.Due {
	coins := received(r, lateOnes)
	if value := worth(r, lateOnes); value != "" {
		return views.Due{Label: "Received late", Amount: views.Fiat(value, r.ClientCurrency), Line: coins}
	}
	if lateCovers(r) {
		return views.Due{Label: "Received late", Amount: asked.Amount, Line: coins}
	}
	if coins == "" {
		return asked // the service does not tell what came
	}
	return views.Due{Label: "Received late", Amount: coins, Long: true}
}

func showDeclined(p *views.Payment, r api.Resource, s scene) {
	p.Title = title("Cancelled", s)
	p.Say = sentence(s.shop) + " cancelled this payment. Do not send anything."
	p.Due.Label = "Cancelled"
	p.Heading = "This payment was cancelled"
	p.Lead = sentence(s.shop) + " cancelled it. Please do not send anything to its addresses."
	p.Facts = payments(r, func(api.Payment) bool { return true })
	if !isZero(r.PaidAmount) || len(p.Facts) > 1 {
		p.Notes = []views.Note{{Strong: "Already sent it?", Text: "Ask " + s.shop + " and give the reference " + views.Reference(r.ForeignID) + "."}}
	}
	p.Again = again(r, s)
	p.Final = true
}

// lateness is how long after the held price the first late money came, with a
// space after it; empty when the times were not told.
func lateness(r api.Resource) string {
	end, err := time.Parse(time.RFC3339, r.ExpiredAt)
	if err != nil {
		return ""
	}
	for _, t := range r.Payments {
		at, err := time.Parse(time.RFC3339, t.FirstSeenAt)
		if err == nil && t.State == "late" && at.After(end) {
			return views.Span(at.Sub(end)) + " "
		}
	}
	return ""
}

// subject is what a paid page confirms.
func subject(r api.Resource) string {
	if r.OrderID != "" {
		return "Your order " + r.OrderID
	}
	return "Your payment"
}
