package present

import (
	"strconv"
	"time"

	"chequer/internal/api"
	"chequer/views"
)

func showPaid(p *views.Payment, r api.Resource, s pageContext) {
	p.Title = titleWithShop(s.Text("paid.title"), s)
	p.Announcement = joinSentences(s.Text("paid.say"), confirmedSubject(r, s))
	p.Due.Label, p.Due.Coins = s.Text("due.paid"), receivedAmounts(r, s, isCounted)
	if !isZero(r.PaidAmount) { // may be less than the price, if the merchant tolerates or accepted the shortfall
		p.Due.Amount = s.Fiat(r.PaidAmount, r.ClientCurrency)
	}
	p.Heading, p.CheckMark = s.Text("paid.heading"), true
	p.Lead = s.capitalized("paid.lead", "Shop", s.shop)
	p.Facts = receiptFacts(r, s)
	p.Footing = s.Text("paid.footing")
	p.PDF = views.Link{Text: s.Text("paid.pdf"), URL: s.WithLanguage(s.self + "/receipt.pdf")}
	p.Return = returnLink(r.URLSuccess, r, s, s.Text("link.return", "Shop", s.shop))
	p.AutoReturn = p.Return.URL != "" && p.Kind == string(paid)
	p.CountdownText.Before, p.CountdownText.After = s.Around("paid.leaving", "Seconds", "Shop", s.shop)
	p.Countdown = s.Text("paid.countdown", "Shop", s.shop)
	if p.Return.URL == "" && s.page.Home != "" {
		p.Return = views.Link{Text: s.Text("link.back", "Shop", s.shop), URL: s.page.Home}
	}
	if p.Kind == string(overpaid) {
		showSurplus(p, r, s)
	}
}

// confirmedSubject returns the sentence that the order or the payment is confirmed.
func confirmedSubject(r api.Resource, s pageContext) string {
	if r.OrderID != "" {
		return s.Text("paid.order", "Order", r.OrderID)
	}
	return s.Text("paid.payment")
}

// receiptFacts returns the facts of a paid page about the payment, or about each of several payments.
func receiptFacts(r api.Resource, s pageContext) []views.Fact {
	confirmed := moment(r.PaidAt, s)
	facts := []views.Fact{
		{Label: s.Text("fact.reference"), Value: views.Reference(r.ForeignID), Code: true},
		{Label: s.Text("fact.received"), Value: receivedAmounts(r, s, isCounted), Amount: true},
		{Label: s.Text("fact.confirmed"), Value: confirmed.Text, Machine: confirmed.Machine},
	}
	if waived := shortfall(r); waived != "" {
		facts = append(facts, views.Fact{Label: s.Text("fact.waived"), Value: s.Fiat(waived, r.ClientCurrency), Amount: true})
	}
	var payments []views.Fact
	number := 0
	for _, t := range r.Payments {
		if isCounted(t) {
			number++
			label := s.Text("fact.payment", "Number", strconv.Itoa(number))
			payments = append(payments, views.Fact{Label: label, Value: s.Decimal(t.Amount) + " " + unit(r, s, t.CryptoCurrency), Amount: true}, transactionFact(t.Tx, t.CryptoCurrency, s))
		}
	}
	if number <= 1 { // the facts above name the only payment
		payments = []views.Fact{{Label: s.Text("fact.rate"), Value: paidRate(r, s), Amount: true}, transactionFact(r.PaidTx, r.PaidCurrency, s)}
	}
	return nonEmpty(append(facts, payments...))
}

// shortfall returns the part of the price that the merchant accepted as missing; empty if there is none.
func shortfall(r api.Resource) string {
	if isZero(r.Accepted.Shortfall) {
		return ""
	}
	return r.Accepted.Shortfall
}

// paidRate returns the price at which the paid coin was converted; empty if there were several quotes.
func paidRate(r api.Resource, s pageContext) string {
	for _, m := range r.PaymentMethods {
		if m.CryptoCurrency == r.PaidCurrency && len(r.Quotes) == 1 {
			return unitPriceText(r, m, s)
		}
	}
	return ""
}

// showSurplus fills the page of an overpaid invoice.
func showSurplus(p *views.Payment, r api.Resource, s pageContext) {
	extra := s.Fiat(r.OverpaidAmount, r.ClientCurrency)
	p.Title = titleWithShop(s.Text("extra.title", "Amount", extra), s)
	p.Due.Amount = s.Fiat(sentValue(r), r.ClientCurrency)
	p.Announcement = s.Text("extra.say", "Amount", extra)
	p.Heading = s.Text("extra.heading")
	p.Lead = confirmedSubject(r, s)
	if !keepsSurplus(r) {
		p.Lead = joinSentences(p.Lead, s.Text("extra.lead", "Amount", extra))
	}
	p.Facts = append(p.Facts, views.Fact{Label: s.Text("fact.extra"), Value: extra, Amount: true})
	reference := views.Reference(r.ForeignID)
	advice := s.Text("extra.ask", "Shop", s.shop, "Reference", reference)
	switch {
	case len(receivedCurrencies(r, s)) > 0 && r.RefundAddress == "": // the page has the form for a refund address
		advice = s.Text("extra.tell", "Shop", s.shop)
	case r.RefundAddress != "":
		advice = s.capitalized("extra.told", "Shop", s.shop, "Reference", reference)
	}
	p.Notes = decisionNotes(r, views.Note{Kind: "ok", Strong: s.Text("extra.note", "Amount", extra), Text: advice})
}

func showExpired(p *views.Payment, r api.Resource, s pageContext) {
	p.Title = titleWithShop(s.Text("expired.title"), s)
	setQuoteEnd(&p.Due, r, s)
	p.Heading = s.Text("ended.heading")
	if isCheckedByHand(r) && isZero(r.PaidAmount) {
		showByHand(p, r, s)
		return
	}
	p.Again, p.Requote = againLink(r, s), requote(r, s)
	nextStep := "" // how to pay after all
	switch {
	case p.Requote.Action != "":
		p.Again = quietReturn(r, s)
		nextStep = requoteText(r, s)
	case p.Again.URL != "":
		nextStep = s.Text("expired.again")
	}
	p.Lead = joinSentences(s.Text("expired.lead"), nextStep)
	p.Announcement = joinSentences(s.Text("expired.say"), nextStep)
	if !isZero(r.PaidAmount) {
		part := s.Fiat(r.PaidAmount, r.ClientCurrency)
		p.Heading = s.Text("expired.part.heading")
		p.Lead = s.Text("expired.part.lead", "Amount", part, "Missing", s.Fiat(r.DueAmount, r.ClientCurrency), "Shop", s.shop)
		p.Announcement = s.Text("expired.part.say", "Amount", part)
		p.Facts = paymentFacts(r, s, isCounted)
	}
	p.Notes = []views.Note{sentAlready(r, s)}
}

// requote returns the form that asks for a new quote. The form is empty if no new quote is available, or
// if the shop checks payments by hand.
func requote(r api.Resource, s pageContext) views.RequoteForm {
	if !r.MayRequote || isCheckedByHand(r) || len(r.Quotes) == 0 {
		return views.RequoteForm{}
	}
	return views.RequoteForm{
		Action: s.address(s.self + "/quote"), Text: s.Text("requote.button"), Method: s.method,
		Quote: strconv.Itoa(r.Quotes[len(r.Quotes)-1].Number),
	}
}

// requoteText returns the sentence that the order or the payment can still be paid with a new quote.
func requoteText(r api.Resource, s pageContext) string {
	if r.OrderID != "" {
		return s.Text("expired.requote.order", "Order", r.OrderID)
	}
	return s.Text("expired.requote.payment")
}

// sentAlready returns the note for a shopper whose payment may arrive late.
func sentAlready(r api.Resource, s pageContext) views.Note {
	reference := views.Reference(r.ForeignID)
	note := views.Note{Strong: s.Text("sent.already"), Text: s.Text("expired.keep", "Reference", reference)}
	if watchedUntil := moment(r.WatchedUntil, s); watchedUntil.Text != "" && !isCheckedByHand(r) {
		note.Until = watchedUntil
		note.Text, note.After = s.Around("expired.watched", "Until", "Reference", reference)
	}
	return note
}

func showLate(p *views.Payment, r api.Resource, s pageContext) {
	p.Title = titleWithShop(s.Text("late.title"), s)
	p.Announcement = s.Text("late.say", "Shop", s.shop)
	p.Due = lateDue(r, s, p.Due)
	p.Heading = s.Text("late.heading")
	p.Lead = joinSentences(latenessText(r, s), s.Text("late.safe", "Shop", s.shop))
	p.Notes = decisionNotes(r, views.Note{Kind: "warn", Strong: s.capitalized("late.decides", "Shop", s.shop), Text: s.Text("late.nothing")})
	p.Facts = paymentFacts(r, s, isLate)
	p.Return = returnLink(r.URLFailure, r, s, s.Text("link.return", "Shop", s.shop))
}

// lateDue returns the late payments for the head of the page: their fiat value if it is known, otherwise
// their amounts. Late payments do not count, so the service usually reports no value. If the late payments
// cover the whole price, lateDue returns the price, which is the amount of requested.
func lateDue(r api.Resource, s pageContext, requested views.Due) views.Due {
	coins, label := receivedAmounts(r, s, isLate), s.Text("due.late")
	if value := fiatValue(r, isLate); value != "" {
		return views.Due{Label: label, Amount: s.Fiat(value, r.ClientCurrency), Coins: coins}
	}
	if latePaymentsCoverPrice(r) {
		return views.Due{Label: label, Amount: requested.Amount, Coins: coins}
	}
	if coins == "" {
		return requested // the service returned no payments
	}
	return views.Due{Label: label, Amount: coins, Long: true}
}

func showDeclined(p *views.Payment, r api.Resource, s pageContext) {
	p.Title = titleWithShop(s.Text("declined.title"), s)
	p.Announcement = s.capitalized("declined.say", "Shop", s.shop)
	p.Due.Label = s.Text("declined.title")
	p.Heading = s.Text("declined.heading")
	p.Lead = s.capitalized("declined.lead", "Shop", s.shop)
	p.Facts = paymentFacts(r, s, func(api.Payment) bool { return true })
	if !isZero(r.PaidAmount) || len(p.Facts) > 1 { // the last fact is the reference, the others are about payments
		p.Notes = decisionNotes(r, views.Note{
			Strong: s.Text("declined.sent"), Text: s.Text("declined.ask", "Shop", s.shop, "Reference", views.Reference(r.ForeignID)),
		})
	}
	p.Again = againLink(r, s)
}

// latenessText returns the sentence with the time between the end of the quote and the first late payment, in
// the largest unit that is precise enough.
func latenessText(r api.Resource, s pageContext) string {
	delay, known := lateness(r)
	switch {
	case !known:
		return s.Text("late.lead")
	case delay < time.Minute:
		return s.Text("late.lead.moment")
	case delay < 2*time.Hour:
		return s.Count("late.lead.minutes", int(delay/time.Minute))
	case delay < 48*time.Hour:
		return s.Count("late.lead.hours", int(delay/time.Hour))
	}
	return s.Count("late.lead.days", int(delay/(24*time.Hour)))
}

// lateness returns the time between the end of the quote and the first late payment. known is false if the
// service did not return the times.
func lateness(r api.Resource) (delay time.Duration, known bool) {
	end, err := time.Parse(time.RFC3339, r.ExpiredAt)
	if err != nil {
		return 0, false
	}
	for _, t := range r.Payments {
		at, err := time.Parse(time.RFC3339, t.FirstSeenAt)
		if err == nil && isLate(t) && at.After(end) {
			return at.Sub(end), true
		}
	}
	return 0, false
}
