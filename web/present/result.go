package present

import (
	"strconv"
	"time"

	"chequer/internal/api"
	"chequer/views"
)

func showPaid(p *views.Payment, r api.Resource, s pageContext) {
	p.Title = title(s.Text("paid.title"), s)
	p.Announcement = joinSentences(s.Text("paid.say"), confirmedSubject(r, s))
	p.Due.Label, p.Due.Coins = s.Text("due.paid"), received(r, s, counted)
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
		showExtra(p, r, s)
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
		{Label: s.Text("fact.received"), Value: received(r, s, counted), Amount: true},
		{Label: s.Text("fact.confirmed"), Value: confirmed.Text, Machine: confirmed.Machine},
	}
	if waived := shortfall(r); waived != "" {
		facts = append(facts, views.Fact{Label: s.Text("fact.waived"), Value: s.Fiat(waived, r.ClientCurrency), Amount: true})
	}
	var parts []views.Fact
	for _, t := range r.Payments {
		if counted(t) {
			number := s.Text("fact.payment", "Number", strconv.Itoa(len(parts)/2+1))
			parts = append(parts, views.Fact{Label: number, Value: s.Decimal(t.Amount) + " " + unit(r, s, t.CryptoCurrency), Amount: true}, transaction(t.Tx, s))
		}
	}
	if len(parts) <= 2 {
		parts = []views.Fact{{Label: s.Text("fact.rate"), Value: paidRate(r, s), Amount: true}, transaction(r.PaidTx, s)}
	}
	return nonEmpty(append(facts, parts...))
}

// shortfall returns the part of the price that the merchant accepted as missing; empty if there is none.
func shortfall(r api.Resource) string {
	if isZero(r.Accepted.Shortfall) {
		return ""
	}
	return r.Accepted.Shortfall
}

// paidRate returns the price at which a coin was counted; empty if there were several quotes.
func paidRate(r api.Resource, s pageContext) string {
	for _, m := range r.PaymentMethods {
		if m.CryptoCurrency == r.PaidCurrency && len(r.Quotes) == 1 {
			return price(r, m, s)
		}
	}
	return ""
}

// showExtra fills the page of an overpaid invoice.
func showExtra(p *views.Payment, r api.Resource, s pageContext) {
	extra := s.Fiat(r.OverpaidAmount, r.ClientCurrency)
	p.Title = title(s.Text("extra.title", "Amount", extra), s)
	p.Due.Amount = s.Fiat(sent(r), r.ClientCurrency)
	p.Announcement = s.Text("extra.say", "Amount", extra)
	p.Heading = s.Text("extra.heading")
	p.Lead = confirmedSubject(r, s)
	if !keepsSurplus(r) {
		p.Lead = joinSentences(p.Lead, s.Text("extra.lead", "Amount", extra))
	}
	p.Facts = append(p.Facts, views.Fact{Label: s.Text("fact.extra"), Value: extra, Amount: true})
	reference := views.Reference(r.ForeignID)
	request := s.Text("extra.ask", "Shop", s.shop, "Reference", reference)
	switch {
	case len(currencies(r, s)) > 0 && r.RefundAddress == "":
		request = s.Text("extra.tell", "Shop", s.shop)
	case r.RefundAddress != "":
		request = s.capitalized("extra.told", "Shop", s.shop, "Reference", reference)
	}
	p.Notes = openDecision(r, views.Note{Kind: "ok", Strong: s.Text("extra.note", "Amount", extra), Text: request})
}

func showExpired(p *views.Payment, r api.Resource, s pageContext) {
	p.Title = title(s.Text("expired.title"), s)
	setQuoteEnd(&p.Due, r, s)
	p.Heading = s.Text("ended.heading")
	if isCheckedByHand(r) && isZero(r.PaidAmount) {
		showByHand(p, r, s)
		return
	}
	p.Again, p.Requote = againLink(r, s), requote(r, s)
	start := ""
	switch {
	case p.Requote.Action != "":
		p.Again = quietReturn(r, s)
		start = requoteText(r, s)
	case p.Again.URL != "":
		start = s.Text("expired.again")
	}
	p.Lead = joinSentences(s.Text("expired.lead"), start)
	p.Announcement = joinSentences(s.Text("expired.say"), start)
	if !isZero(r.PaidAmount) {
		part := s.Fiat(r.PaidAmount, r.ClientCurrency)
		p.Heading = s.Text("expired.part.heading")
		p.Lead = s.Text("expired.part.lead", "Amount", part, "Missing", s.Fiat(r.DueAmount, r.ClientCurrency), "Shop", s.shop)
		p.Announcement = s.Text("expired.part.say", "Amount", part)
		p.Facts = payments(r, s, counted)
	}
	p.Notes = []views.Note{sentAlready(r, s)}
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
	p.Title = title(s.Text("late.title"), s)
	p.Announcement = s.Text("late.say", "Shop", s.shop)
	p.Due = lateDue(r, s, p.Due)
	p.Heading = s.Text("late.heading")
	p.Lead = joinSentences(latenessText(r, s), s.Text("late.safe", "Shop", s.shop))
	p.Notes = openDecision(r, views.Note{Kind: "warn", Strong: s.capitalized("late.decides", "Shop", s.shop), Text: s.Text("late.nothing")})
	p.Facts = payments(r, s, isLate)
	p.Return = returnLink(r.URLFailure, r, s, s.Text("link.return", "Shop", s.shop))
}

// lateDue returns the late payments for the head of the page: their fiat value if it is known, otherwise
// their amounts. Late payments do not count, so the service usually states no value. If the late payments
// cover the whole price, their value is that price.
func lateDue(r api.Resource, s pageContext, requested views.Due) views.Due {
	coins, label := received(r, s, isLate), s.Text("due.late")
	if value := fiatValue(r, isLate); value != "" {
		return views.Due{Label: label, Amount: s.Fiat(value, r.ClientCurrency), Coins: coins}
	}
	if lateCovers(r) {
		return views.Due{Label: label, Amount: requested.Amount, Coins: coins}
	}
	if coins == "" {
		return requested // the service returned no payments
	}
	return views.Due{Label: label, Amount: coins, Long: true}
}

func showDeclined(p *views.Payment, r api.Resource, s pageContext) {
	p.Title = title(s.Text("declined.title"), s)
	p.Announcement = s.capitalized("declined.say", "Shop", s.shop)
	p.Due.Label = s.Text("declined.title")
	p.Heading = s.Text("declined.heading")
	p.Lead = s.capitalized("declined.lead", "Shop", s.shop)
	p.Facts = payments(r, s, func(api.Payment) bool { return true })
	if !isZero(r.PaidAmount) || len(p.Facts) > 1 {
		p.Notes = openDecision(r, views.Note{
			Strong: s.Text("declined.sent"), Text: s.Text("declined.ask", "Shop", s.shop, "Reference", views.Reference(r.ForeignID)),
		})
	}
	p.Again = againLink(r, s)
}

// latenessText returns the sentence with the time between the end of the quote and the first late payment, in
// the largest unit that is precise enough.
func latenessText(r api.Resource, s pageContext) string {
	late, known := lateBy(r)
	switch {
	case !known:
		return s.Text("late.lead")
	case late < time.Minute:
		return s.Text("late.lead.moment")
	case late < 2*time.Hour:
		return s.Count("late.lead.minutes", int(late/time.Minute))
	case late < 48*time.Hour:
		return s.Count("late.lead.hours", int(late/time.Hour))
	}
	return s.Count("late.lead.days", int(late/(24*time.Hour)))
}

// lateBy returns the time between the end of the quote and the first late payment. known is false if the
// service did not return the times.
func lateBy(r api.Resource) (late time.Duration, known bool) {
	end, err := time.Parse(time.RFC3339, r.ExpiredAt)
	if err != nil {
		return 0, false
	}
	for _, t := range r.Payments {
		at, err := time.Parse(time.RFC3339, t.FirstSeenAt)
		if err == nil && t.State == "late" && at.After(end) {
			return at.Sub(end), true
		}
	}
	return 0, false
}
