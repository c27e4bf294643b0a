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
	return s.change(ctx, "save untrusted proxy", nil, `
		INSERT INTO meta (name, value) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, untrustedProxy, proxy.String())
}

// UntrustedProxy returns the address that SaveUntrustedProxy stored last, or the zero address if
// there is none.
func (s *Storage) UntrustedProxy(ctx context.Context) (netip.Addr, error) {
	text, err := readOne(ctx, s, column[string], "SELECT value FROM meta WHERE name = $1", untrustedProxy)
	if errors.Is(err, sql.ErrNoRows) {
		return netip.Addr{}, nil
	}
	if err != nil {
		return netip.Addr{}, fmt.Errorf("read untrusted proxy: %w", err)
	}
	proxy, _ := netip.ParseAddr(text) // an invalid value counts as no address
	return proxy, nil
}
