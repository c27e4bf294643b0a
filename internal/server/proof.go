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

// Proofs signs what an invoice's addresses are. It is safe for concurrent use.
type Proofs interface {
	// Sign writes a statement and signs it with the key in force.
	Sign(ctx context.Context, s proof.Statement) (string, error)
	// Keys are all keys of the installation, the newest first.
	Keys(ctx context.Context) ([]proof.Key, error)
}

// prove is the signed statement of an invoice's newest price; none once it was
// declined, as nothing is to be sent to its addresses then.
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

// statementOf is what our own resource tells of the newest price, at a server: what
// the page asks for, which after a part has come is the rest. Where nothing is due
// any more it is what the price was, as payment links are.
func statementOf(r api.Resource, baseURL string) (s proof.Statement, err error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return s, fmt.Errorf("base address: %w", err)
	}
	q := r.Quotes[len(r.Quotes)-1]
	s = proof.Statement{
		Server:  base.String(), // in ASCII
		Invoice: r.ForeignID, Mode: r.Mode, Quote: q.Number, Amount: q.DueAmount, Currency: r.ClientCurrency,
	}
	if s.From, err = time.Parse(time.RFC3339, q.From); err != nil {
		return s, err
	}
	if s.Until, err = time.Parse(time.RFC3339, q.Until); err != nil {
		return s, err
	}
	if !isNothing(r.DueAmount) {
		s.Amount = r.DueAmount
	}
	for _, m := range r.PaymentMethods {
		way := proof.Method{Currency: m.CryptoCurrency, Network: m.Network, Address: m.Address, Amount: m.DueAmount}
		if isNothing(m.DueAmount) {
			way.Amount = m.ExpectedAmount
		}
		if m.ChainID != "" {
			way.ChainID, way.Contract, way.Decimals = m.ChainID, m.Contract, m.Decimals
		}
		s.Methods = append(s.Methods, way)
	}
	return s, nil
}

// isNothing tells whether an amount as we write it is zero.
func isNothing(amount string) bool { return strings.Trim(amount, "0.") == "" }

// proofKeys is the list of the keys that statements are checked with. Whoever wants
// to trust them has them from elsewhere, too.
func (s *server) proofKeys(c echo.Context) error {
	keys, err := s.proofs.Keys(c.Request().Context())
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(proof.FormatKeys(keys)))
}
