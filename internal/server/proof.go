package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/proof"
	"chequer/internal/wire"
)

// Proofs signs statements about an invoice's addresses. It is safe for concurrent use.
type Proofs interface {
	// Sign encodes a statement and signs it with the current key.
	Sign(ctx context.Context, s proof.Statement) (string, error)
	// Keys returns all keys of the installation, newest first.
	Keys(ctx context.Context) ([]proof.Key, error)
}

// prove returns the signed statement about the newest quote of an invoice. It returns "" for a declined
// invoice, because nothing must be sent to its addresses, and while it has none, because no payment request
// is valid.
func (s *server) prove(ctx context.Context, r api.Resource) (string, error) {
	if r.Status == api.StatusDeclined || len(r.PaymentMethods) == 0 {
		return "", nil
	}
	statement, err := wire.Statement(r, s.BaseURL)
	if err != nil {
		return "", err
	}
	if len(statement.Methods) == 0 {
		return "", nil
	}
	text, err := s.Proofs.Sign(ctx, statement)
	if err != nil {
		return "", fmt.Errorf("proof of invoice %s: %w", r.ForeignID, err)
	}
	return text, nil
}

// proofKeys returns the keys that verify statements. A verifier must also obtain the keys from another
// source before it trusts them.
func (s *server) proofKeys(c echo.Context) error {
	keys, err := s.Proofs.Keys(c.Request().Context())
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(proof.FormatKeys(keys)))
}
