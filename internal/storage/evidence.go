package storage

import (
	"context"
	"fmt"
)

// Evidence implements invoice.Storage.
func (s *Storage) Evidence(ctx context.Context, name string) (string, error) {
	text, err := readOne(ctx, s, column[string], "SELECT body FROM evidence WHERE name = $1", name)
	if err != nil {
		return "", notFound(err, "read evidence", name)
	}
	return text, nil
}

// saveEvidence writes a text under its name, unless the text is empty or stored already.
func saveEvidence(ctx context.Context, q querier, name, text string) error {
	if text == "" {
		return nil
	}
	_, err := q.ExecContext(ctx, "INSERT INTO evidence (name, body) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, text)
	if err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	return nil
}
