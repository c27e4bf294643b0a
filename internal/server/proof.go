package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/proof"
)

// Proofs signs statements about an invoice's addresses. It is safe for concurrent use.
type Proofs interface {
	// Sign encodes a statement and signs it with the current key.
	Sign(ctx context.Context, s proof.Statement) (string, error)
	// Keys returns all keys of the installation, newest first.
	Keys(ctx context.Context) ([]proof.Key, error)
}

// prove returns the signed statement about the newest quote of an invoice. It returns "" for a declined
// invoice, because nothing must be sent to its addresses.
func (s *server) prove(ctx context.Context, r api.Resource) (string, error) {
	if r.Status == api.StatusDeclined || len(r.PaymentMethods) == 0 {
		return "", nil
	}
	statement, err := statementOf(r, s.baseURL)
	if err != nil {
		return "", err
	}
	text, err := s.proofs.Sign(ctx, statement)
	if err != nil {
		return "", fmt.Errorf("proof of invoice %s: %w", r.ForeignID, err)
	}
	return text, nil
}

// statementOf returns the statement about the newest quote of a resource at a server. The amounts are
// the amounts that are still due. If nothing is due, they are the amounts of the quote, as in payment
// links.
func statementOf(r api.Resource, baseURL string) (s proof.Statement, err error) {
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

// proofKeys returns the keys that verify statements. A verifier must also obtain the keys from another
// source before it trusts them.
func (s *server) proofKeys(c echo.Context) error {
	keys, err := s.proofs.Keys(c.Request().Context())
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(proof.FormatKeys(keys)))
}
