package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"
)

// untrustedProxy is the name in meta of the address of a proxy that is not trusted.
const untrustedProxy = "untrusted_proxy"

// SaveUntrustedProxy stores the address of an untrusted proxy that forwarded requests.
func (s *Storage) SaveUntrustedProxy(ctx context.Context, proxy netip.Addr) error {
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		_, err := q.ExecContext(ctx, `
			INSERT INTO meta (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, untrustedProxy, proxy.String())
		return err
	})
	if err != nil {
		return fmt.Errorf("save untrusted proxy: %w", err)
	}
	return nil
}

// UntrustedProxy returns the address that SaveUntrustedProxy stored last, or the zero address if
// there is none.
func (s *Storage) UntrustedProxy(ctx context.Context) (netip.Addr, error) {
	text, err := answer(ctx, s.read, func(ctx context.Context, q querier) (text string, err error) {
		err = q.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = $1", untrustedProxy).Scan(&text)
		return text, err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return netip.Addr{}, nil
	}
	if err != nil {
		return netip.Addr{}, fmt.Errorf("read untrusted proxy: %w", err)
	}
	proxy, _ := netip.ParseAddr(text) // an invalid value counts as no address
	return proxy, nil
}
