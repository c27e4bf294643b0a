package web

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"chequer/internal/api"
	"chequer/internal/money"
	"chequer/views"
)

// counted tells whether a payment is one towards the price.
func counted(t api.Payment) bool { return t.State == "seen" || t.State == "confirmed" }

// wrong tells whether a payment is in something that the invoice does not offer.
func wrong(t api.Payment) bool { return t.State == "wrong_asset" }

// older reports whether a payment was there before the invoice.
func older(t api.Payment) bool { return t.State == "old" }

func lateOnes(t api.Payment) bool { return t.State == "late" }

// coin is a currency as amounts of it are summed for display.
func coin(code string) money.Currency { return money.Currency{Code: code, Decimals: 18} }

// received is the sum of some payments, by currency: "0.0005 BTC + 12 EURC on
// Base".
func received(r api.Resource, s scene, which func(api.Payment) bool) string {
	var order []string
	sums := map[string]money.Amount{}
	for _, t := range r.Payments {
		amount, err := money.Parse(t.Amount, coin(t.CryptoCurrency))
		if err != nil || !which(t) {
			continue
		}
		if sum, ok := sums[t.CryptoCurrency]; ok {
			sums[t.CryptoCurrency] = sum.Add(amount)
			continue
		}
		order = append(order, t.CryptoCurrency)
		sums[t.CryptoCurrency] = amount
	}
	parts := make([]string, len(order))
	for i, code := range order {
		parts[i] = s.Decimal(sums[code].String()) + " " + unit(r, s, code)
	}
	return strings.Join(parts, " + ")
}

// worth is the value of some payments as the service states it; empty when it
// does not.
func worth(r api.Resource, which func(api.Payment) bool) string {
	sum := money.Zero(coin(r.ClientCurrency))
	for _, t := range r.Payments {
		amount, err := money.Parse(t.FiatAmount, sum.Currency())
		if err == nil && which(t) {
			sum = sum.Add(amount)
		}
	}
	if sum.IsZero() {
		return ""
	}
	return sum.String()
}

// sent is the fiat that was sent where nothing is due any more: the price and
// what is above it. Before it is confirmed the service calls nothing overpaid.
func sent(r api.Resource) string {
	fiat := coin(r.ClientCurrency)
	price, err := money.Parse(r.ClientAmount, fiat)
	if err != nil {
		return r.ClientAmount
	}
	total := price
	if extra, err := money.Parse(r.OverpaidAmount, fiat); err == nil {
		total = price.Add(extra)
	}
	if sum, err := money.Parse(worth(r, counted), fiat); err == nil && r.Status != api.StatusPaid && sum.Cmp(total) > 0 {
		total = sum
	}
	return total.String()
}

// lateCovers tells whether the late payments of some method come to all of its
// price.
func lateCovers(r api.Resource) bool {
	for _, m := range r.PaymentMethods {
		sum := money.Zero(coin(m.CryptoCurrency))
		for _, t := range r.Payments {
			if amount, err := money.Parse(t.Amount, sum.Currency()); err == nil && lateOnes(t) && t.CryptoCurrency == m.CryptoCurrency {
				sum = sum.Add(amount)
			}
		}
		expected, err := money.Parse(m.ExpectedAmount, sum.Currency())
		if err == nil && !expected.IsZero() && sum.Cmp(expected) >= 0 {
			return true
		}
	}
	return false
}

// arrived is the fiat that has come, confirmed or not: what is not due any more.
func arrived(r api.Resource) string {
	fiat := coin(r.ClientCurrency)
	total, err := money.Parse(r.ClientAmount, fiat)
	if err != nil {
		return r.PaidAmount
	}
	due, err := money.Parse(r.DueAmount, fiat)
	if err != nil {
		return r.PaidAmount
	}
	return total.Sub(due).String()
}

// payments is what came, row by row, and the reference to it.
func payments(r api.Resource, s scene, which func(api.Payment) bool) []views.Fact {
	var facts []views.Fact
	for _, t := range r.Payments {
		if !which(t) {
			continue
		}
		at := moment(t.FirstSeenAt, s)
		facts = append(facts, views.Fact{Label: s.Text("fact.received"), Value: s.Decimal(t.Amount) + " " + unit(r, s, t.CryptoCurrency), Amount: true})
		if lateOnes(t) {
			facts = append(facts,
				views.Fact{Label: s.Text("fact.arrived"), Value: at.Text, Machine: at.Machine},
				views.Fact{Label: s.Text("fact.state"), Value: depth(t, s)})
		} else {
			facts = append(facts, views.Fact{Label: s.Text("fact.seen"), Value: at.Text, Machine: at.Machine})
		}
		facts = append(facts, transaction(t.Tx, s))
	}
	facts = append(facts, views.Fact{Label: s.Text("fact.reference"), Value: views.Reference(r.ForeignID), Code: true})
	return told(facts)
}

func transaction(tx string, s scene) views.Fact {
	return views.Fact{Label: s.Text("fact.transaction"), Value: tx, Code: true, Long: true}
}

// depth is how far a payment has come; empty when the service does not tell how
// far it should.
func depth(t api.Payment, s scene) string {
	switch {
	case t.Required == 0:
		return ""
	case t.Confirmations >= t.Required:
		return s.Text("step.confirmed")
	}
	return s.Text("step.seen")
}

// told leaves out what the service did not tell.
func told(facts []views.Fact) []views.Fact {
	var kept []views.Fact
	for _, f := range facts {
		if f.Value != "" {
			kept = append(kept, f)
		}
	}
	return kept
}

// slowest is the payment that needs most confirmations yet.
func slowest(r api.Resource) (api.Payment, bool) {
	var found api.Payment
	for _, t := range r.Payments {
		if t.State == "seen" && t.Required-t.Confirmations > found.Required-found.Confirmations {
			found = t
		}
	}
	return found, found.Required > 0
}

// moment is a time of the wire as a page shows it; the zero Moment when it is none.
func moment(wire string, s scene) views.Moment {
	text := s.Moment(wire)
	if text == "" {
		return views.Moment{}
	}
	return views.Moment{Machine: wire, Text: text}
}

// joined is whole sentences, one after another.
func joined(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// sentence begins one.
func sentence(words string) string {
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}
