package present

import (
	"strings"

	"chequer/internal/api"
	"chequer/internal/money"
	"chequer/views"
)

// isCounted reports whether a payment counts towards the price.
func isCounted(t api.Payment) bool { return t.State == "seen" || t.State == "confirmed" }

// isWrongAsset reports whether a payment is in an asset that the invoice does not offer.
func isWrongAsset(t api.Payment) bool { return t.State == "wrong_asset" }

// isOld reports whether a payment is older than the invoice.
func isOld(t api.Payment) bool { return t.State == "old" }

// isLate reports whether a payment arrived after the quote expired.
func isLate(t api.Payment) bool { return t.State == "late" }

// displayCurrency returns a fiat or crypto currency with enough decimals to add amounts for display.
func displayCurrency(code string) money.Currency { return money.Currency{Code: code, Decimals: 18} }

// receivedAmounts returns the sums of the selected payments by currency: "0.0005 BTC + 12 EURC on Base".
func receivedAmounts(r api.Resource, s pageContext, selects func(api.Payment) bool) string {
	var order []string
	sums := map[string]money.Amount{}
	for _, t := range r.Payments {
		amount, err := money.Parse(t.Amount, displayCurrency(t.CryptoCurrency))
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

// fiatValue returns the sum of the fiat values that the service reports for the selected payments; empty if
// it reports none.
func fiatValue(r api.Resource, selects func(api.Payment) bool) string {
	sum := money.Zero(displayCurrency(r.ClientCurrency))
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

// sentValue returns the fiat value that the shopper sent to an invoice on which nothing is due: the price plus
// the surplus. The service reports the surplus only after the payment is confirmed. Before then, sentValue
// returns the sum of the payments' values if that is larger than the price.
func sentValue(r api.Resource) string {
	fiat := displayCurrency(r.ClientCurrency)
	price, err := money.Parse(r.ClientAmount, fiat)
	if err != nil {
		return r.ClientAmount
	}
	total := price
	if surplus, err := money.Parse(r.OverpaidAmount, fiat); err == nil {
		total = price.Add(surplus)
	}
	if sum, err := money.Parse(fiatValue(r, isCounted), fiat); err == nil && r.Status != api.StatusPaid && sum.Cmp(total) > 0 {
		total = sum
	}
	return total.String()
}

// latePaymentsCoverPrice reports whether the late payments of one method add up to its whole price.
func latePaymentsCoverPrice(r api.Resource) bool {
	for _, m := range r.PaymentMethods {
		sum := money.Zero(displayCurrency(m.CryptoCurrency))
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

// arrivedValue returns the fiat value that has arrived, confirmed or not: the price less the amount due.
func arrivedValue(r api.Resource) string {
	fiat := displayCurrency(r.ClientCurrency)
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

// paymentFacts returns the facts of each selected payment, followed by the invoice's reference.
func paymentFacts(r api.Resource, s pageContext, selects func(api.Payment) bool) []views.Fact {
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
				views.Fact{Label: s.Text("fact.state"), Value: confirmationText(t, s)})
		} else {
			facts = append(facts, views.Fact{Label: s.Text("fact.seen"), Value: at.Text, Machine: at.Machine})
		}
		facts = append(facts, transactionFact(t.Tx, t.CryptoCurrency, s))
	}
	facts = append(facts, views.Fact{Label: s.Text("fact.reference"), Value: views.Reference(r.ForeignID), Code: true})
	return nonEmpty(facts)
}

// transactionFact returns the fact with the transaction of a payment, or with the payment hash of a payment request.
func transactionFact(tx, code string, s pageContext) views.Fact {
	label := "fact.transaction"
	if code == api.MethodLightning {
		label = "fact.hash"
	}
	return views.Fact{Label: s.Text(label), Value: tx, Code: true, Long: true}
}

// confirmationText returns the text on the confirmations of a payment; empty if the service does not report the required
// confirmations.
func confirmationText(t api.Payment, s pageContext) string {
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

// slowestPayment returns the unconfirmed payment that still needs the largest number of confirmations; ok is false if
// there is none.
func slowestPayment(r api.Resource) (slowest api.Payment, ok bool) {
	for _, t := range r.Payments {
		if t.State == "seen" && t.Required-t.Confirmations > slowest.Required-slowest.Confirmations {
			slowest = t
		}
	}
	return slowest, slowest.Required > 0
}

// moment returns a time in the API's format as pages show it. It returns the zero Moment if the time is
// invalid.
func moment(apiTime string, s pageContext) views.Moment {
	text := s.Moment(apiTime)
	if text == "" {
		return views.Moment{}
	}
	return views.Moment{Machine: apiTime, Text: text}
}
