package present

import (
	"strings"

	"chequer/internal/api"
	"chequer/internal/money"
	"chequer/views"
)

// counted reports whether a payment counts towards the price.
func counted(t api.Payment) bool { return t.State == "seen" || t.State == "confirmed" }

// wrong reports whether a payment is in an asset that the invoice does not offer.
func wrong(t api.Payment) bool { return t.State == "wrong_asset" }

// older reports whether a payment is older than the invoice.
func older(t api.Payment) bool { return t.State == "old" }

func isLate(t api.Payment) bool { return t.State == "late" }

// coin returns a currency with enough decimals to add amounts for display.
func coin(code string) money.Currency { return money.Currency{Code: code, Decimals: 18} }

// received returns the sum of the selected payments by currency: "0.0005 BTC + 12 EURC on Base".
func received(r api.Resource, s scene, selects func(api.Payment) bool) string {
	var order []string
	sums := map[string]money.Amount{}
	for _, t := range r.Payments {
		amount, err := money.Parse(t.Amount, coin(t.CryptoCurrency))
		if err != nil || !selects(t) {
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

// fiatValue returns the sum of the fiat values that the service states for the selected payments; empty if
// it states none.
func fiatValue(r api.Resource, selects func(api.Payment) bool) string {
	sum := money.Zero(coin(r.ClientCurrency))
	for _, t := range r.Payments {
		amount, err := money.Parse(t.FiatAmount, sum.Currency())
		if err == nil && selects(t) {
			sum = sum.Add(amount)
		}
	}
	if sum.IsZero() {
		return ""
	}
	return sum.String()
}

// sent returns the fiat value that the shopper sent to an invoice on which nothing is due: the price and
// the excess. The service reports the excess as overpaid only after the payment is confirmed, so before
// then the values of the payments are added up.
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
	if sum, err := money.Parse(fiatValue(r, counted), fiat); err == nil && r.Status != api.StatusPaid && sum.Cmp(total) > 0 {
		total = sum
	}
	return total.String()
}

// lateCovers reports whether the late payments of one method add up to its whole price.
func lateCovers(r api.Resource) bool {
	for _, m := range r.PaymentMethods {
		sum := money.Zero(coin(m.CryptoCurrency))
		for _, t := range r.Payments {
			if amount, err := money.Parse(t.Amount, sum.Currency()); err == nil && isLate(t) && t.CryptoCurrency == m.CryptoCurrency {
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

// arrived returns the fiat value that has arrived, confirmed or not: the price less the amount due.
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

// payments returns the facts of each selected payment, followed by the invoice's reference.
func payments(r api.Resource, s scene, selects func(api.Payment) bool) []views.Fact {
	var facts []views.Fact
	for _, t := range r.Payments {
		if !selects(t) {
			continue
		}
		at := moment(t.FirstSeenAt, s)
		facts = append(facts, views.Fact{Label: s.Text("fact.received"), Value: s.Decimal(t.Amount) + " " + unit(r, s, t.CryptoCurrency), Amount: true})
		if isLate(t) {
			facts = append(facts,
				views.Fact{Label: s.Text("fact.arrived"), Value: at.Text, Machine: at.Machine},
				views.Fact{Label: s.Text("fact.state"), Value: depth(t, s)})
		} else {
			facts = append(facts, views.Fact{Label: s.Text("fact.seen"), Value: at.Text, Machine: at.Machine})
		}
		facts = append(facts, transaction(t.Tx, s))
	}
	facts = append(facts, views.Fact{Label: s.Text("fact.reference"), Value: views.Reference(r.ForeignID), Code: true})
	return nonEmpty(facts)
}

func transaction(tx string, s scene) views.Fact {
	return views.Fact{Label: s.Text("fact.transaction"), Value: tx, Code: true, Long: true}
}

// depth returns the text on the confirmations of a payment; empty if the service does not report the required
// confirmations.
func depth(t api.Payment, s scene) string {
	switch {
	case t.Required == 0:
		return ""
	case t.Confirmations >= t.Required:
		return s.Text("step.confirmed")
	}
	return s.Text("step.seen")
}

// nonEmpty returns the facts that have a value.
func nonEmpty(facts []views.Fact) []views.Fact {
	var filled []views.Fact
	for _, f := range facts {
		if f.Value != "" {
			filled = append(filled, f)
		}
	}
	return filled
}

// slowest returns the payment that still needs the largest number of confirmations.
func slowest(r api.Resource) (api.Payment, bool) {
	var found api.Payment
	for _, t := range r.Payments {
		if t.State == "seen" && t.Required-t.Confirmations > found.Required-found.Confirmations {
			found = t
		}
	}
	return found, found.Required > 0
}

// moment converts a time in the API's format to the form that pages show. It returns the zero Moment if
// the time is invalid.
func moment(wire string, s scene) views.Moment {
	text := s.Moment(wire)
	if text == "" {
		return views.Moment{}
	}
	return views.Moment{Machine: wire, Text: text}
}
