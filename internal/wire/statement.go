package wire

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/internal/proof"
)

// Statement returns the statement about the newest quote of a resource at a server. The amounts are
// the amounts that are still due. If nothing is due, they are the amounts of the quote, as in payment
// links.
func Statement(r api.Resource, baseURL string) (s proof.Statement, err error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return s, fmt.Errorf("base address: %w", err)
	}
	q := r.Quotes[len(r.Quotes)-1]
	s = proof.Statement{
		Server:  base.String(), // ASCII
		Invoice: r.ForeignID, Mode: r.Mode, Quote: q.Number, Amount: q.DueAmount, Currency: r.ClientCurrency,
	}
	if s.From, err = time.Parse(time.RFC3339, q.From); err != nil {
		return s, err
	}
	if s.Until, err = time.Parse(time.RFC3339, q.Until); err != nil {
		return s, err
	}
	if !isZero(r.DueAmount) {
		s.Amount = r.DueAmount
	}
	for _, m := range r.PaymentMethods {
		if m.Address == "" { // a payment request is not made yet, or has ended
			continue
		}
		method := proof.Method{Currency: m.CryptoCurrency, Network: m.Network, Address: m.Address, Amount: m.DueAmount}
		if isZero(m.DueAmount) {
			method.Amount = m.ExpectedAmount
		}
		if m.ChainID != "" {
			method.ChainID, method.Contract, method.Decimals = m.ChainID, m.Contract, m.Decimals
		}
		s.Methods = append(s.Methods, method)
	}
	return s, nil
}

// isZero reports whether a decimal amount of the API is zero.
func isZero(amount string) bool { return strings.Trim(amount, "0.") == "" }
