package present

import (
	"slices"
	"strconv"

	"chequer/internal/api"
	"chequer/views"
)

func showWaiting(p *views.Payment, r api.Resource, s pageContext) {
	p.Title = s.Text("pay.title", "Shop", s.shop)
	p.Heading, p.Open = s.Text("waiting.heading"), true
	p.Clock = clock(r, s)
	p.Methods, p.Requote = methods(r, s, false), requote(r, s)
	p.Help = []string{
		s.Text("waiting.help.exact"),
		s.Text("waiting.help.close"),
		s.Text("waiting.help.late", "Shop", s.shop),
	}
	if p.Requote.Action != "" {
		p.Help = append(p.Help, s.Text("waiting.help.requote"))
	}
	if isCheckedByHand(r) {
		p.Help[1] = s.capitalized("waiting.help.hand", "Shop", s.shop, "Reference", views.Reference(r.ForeignID))
		return
	}
	p.Steps = steps(s, "now", "", "")
}

func showPartial(p *views.Payment, r api.Resource, s pageContext) {
	due := s.Fiat(r.DueAmount, r.ClientCurrency)
	p.Title = titleWithShop(s.Text("partial.title", "Amount", due), s)
	p.Due = views.Due{Label: s.Text("due.rest"), Amount: due}
	p.Heading, p.Open = s.Text("partial.heading"), true
	p.Meter = views.Meter{
		Paid: arrivedValue(r), Total: r.ClientAmount,
		PaidText: s.Fiat(arrivedValue(r), r.ClientCurrency), TotalText: s.Fiat(r.ClientAmount, r.ClientCurrency),
	}
	if r.SecondsLeft <= 0 {
		showPartialEnded(p, r, s, due)
		return
	}
	p.Announcement = s.Text("partial.say", "Amount", due)
	p.Clock = clock(r, s)
	p.Methods, p.Requote = methods(r, s, true), requote(r, s)
	p.Notes = []views.Note{{Kind: "warn", Strong: s.Text("partial.note"), Text: s.Text("partial.note.text")}}
	p.Help = []string{
		s.Text("partial.help.method"),
		s.Text("partial.help.rest", "Shop", s.shop, "Reference", views.Reference(r.ForeignID)),
	}
}

// showPartialEnded fills the page of a partly paid invoice whose quote expired.
func showPartialEnded(p *views.Payment, r api.Resource, s pageContext, due string) {
	p.Announcement = s.Text("partial.ended.say", "Amount", due)
	p.Due.Line = s.Text("partial.ended.line")
	p.Notes = []views.Note{{
		Kind: "warn", Strong: s.Text("partial.ended.note"), Text: s.Text("partial.ended.decides", "Shop", s.shop),
	}}
	if p.Requote = requote(r, s); p.Requote.Action != "" {
		p.Notes[0].Text = s.Text("partial.ended.requote")
		return
	}
	p.Again = againLink(r, s)
}

// showEnded fills the page of an invoice whose quote expired, but which has not expired itself yet.
func showEnded(p *views.Payment, r api.Resource, s pageContext) {
	p.Title = titleWithShop(s.Text("ended.title"), s)
	setQuoteEnd(&p.Due, r, s)
	p.Heading = s.Text("ended.heading")
	if isCheckedByHand(r) {
		showByHand(p, r, s)
		return
	}
	p.Announcement = s.Text("ended.say")
	p.Lead = s.Text("ended.lead")
	p.Again = againLink(r, s)
	p.Again.Quiet = true
	p.Requote = requote(r, s)
	unsentText := s.Text("ended.unsent.text")
	switch {
	case p.Requote.Action != "":
		p.Again = quietReturn(r, s)
		p.Announcement = joinSentences(p.Announcement, s.Text("ended.say.requote"))
		unsentText = s.Text("ended.unsent.requote")
	case p.Again.URL != "":
		unsentText = s.Text("ended.unsent.again")
	}
	p.Notes = []views.Note{
		{Strong: s.Text("sent.already"), Text: s.Text("ended.sent.text", "Reference", views.Reference(r.ForeignID))},
		{Strong: s.Text("ended.unsent"), Text: unsentText},
	}
}

// showByHand fills the page of an invoice whose quote expired and whose payments the shop checks by hand.
// The page must not invite the shopper to pay twice.
func showByHand(p *views.Payment, r api.Resource, s pageContext) {
	p.Lead = s.capitalized("ended.hand", "Shop", s.shop, "Reference", views.Reference(r.ForeignID))
	p.Announcement = joinSentences(s.Text("ended.say.hand"), p.Lead)
	p.Return = returnLink(r.URLFailure, r, s, s.Text("link.return", "Shop", s.shop))
}

func showSeen(p *views.Payment, r api.Resource, s pageContext) {
	p.Title = titleWithShop(s.Text("seen.title"), s)
	p.Due = views.Due{Label: s.Text("due.received"), Amount: s.Fiat(sentValue(r), r.ClientCurrency), Coins: receivedAmounts(r, s, isCounted)}
	p.Heading, p.Open = s.Text("seen.heading"), true
	p.Steps = steps(s, "done", "now", "")
	p.Lead = s.Text("seen.lead")
	if slices.ContainsFunc(r.Payments, func(t api.Payment) bool { return t.State == "seen" && t.Contested }) {
		p.Lead = s.Text("seen.contested")
	}
	p.Announcement = s.Text("seen.say")
	if slowest, ok := slowestPayment(r); ok {
		confirmations := strconv.Itoa(slowest.Confirmations)
		p.Depth = s.Count("seen.depth", slowest.Required, "Have", confirmations)
		p.Announcement = s.Count("seen.say.depth", slowest.Required, "Have", confirmations)
	}
	p.Facts = paymentFacts(r, s, isCounted)
}

// clock returns the end of the quote and the time until then.
func clock(r api.Resource, s pageContext) views.Clock {
	return views.Clock{
		Until: s.TimeOfDay(r.ExpiredAt, s.Now), Machine: r.ExpiredAt,
		Left: strconv.FormatInt(r.SecondsLeft, 10),
	}
}

// setQuoteEnd sets the line with the time at which the quote expired.
func setQuoteEnd(due *views.Due, r api.Resource, s pageContext) {
	if end := s.TimeOfDay(r.ExpiredAt, s.Now); end != "" {
		due.Until = views.Moment{Machine: r.ExpiredAt, Text: end}
		due.Line, due.After = s.Around("ended.held", "Time")
	}
}

// steps returns the steps of a payment. The state of each step is "done", "now" or empty.
func steps(s pageContext, wait, seen, confirmed string) []views.Step {
	return []views.Step{
		{Text: s.Text("step.waiting"), State: wait}, {Text: s.Text("step.seen"), State: seen}, {Text: s.Text("step.confirmed"), State: confirmed},
	}
}
