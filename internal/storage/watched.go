package storage

import (
	"context"
	"fmt"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// OpenWatched counts, by network, the live invoices that wait for money which was
// looked for when they were made, leaving out networks that are looked at now.
func (s *Storage) OpenWatched(ctx context.Context, now []chain.ID) (map[chain.ID]int, error) {
	found, err := answer(ctx, s.read, func(ctx context.Context, q querier) (map[chain.ID]int, error) {
		networks, err := list(ctx, q, func(row scanner) (network string, err error) {
			return network, row.Scan(&network)
		}, "SELECT DISTINCT network FROM destinations")
		if err != nil {
			return nil, err
		}
		found := map[chain.ID]int{}
		for _, network := range networks {
			if slices.Contains(now, chain.ID(network)) {
				continue
			}
			if err := countOpen(ctx, q, chain.ID(network), found); err != nil {
				return nil, err
			}
		}
		return found, nil
	})
	if err != nil {
		return nil, fmt.Errorf("open invoices by network: %w", err)
	}
	return found, nil
}

// OpenBalances counts, by network, the live invoices that wait for money which only
// balances show, on some networks.
func (s *Storage) OpenBalances(ctx context.Context, networks []chain.ID) (map[chain.ID]int, error) {
	found, err := answer(ctx, s.read, func(ctx context.Context, q querier) (map[chain.ID]int, error) {
		found := map[chain.ID]int{}
		for _, network := range networks {
			var count int
			err := q.QueryRowContext(ctx, `
				SELECT COUNT(*) FROM accounts a
				JOIN destinations d ON d.network = a.network AND d.script = a.script
				JOIN invoices i ON i.id = d.invoice_id
				WHERE a.network = $1 AND i.mode = 'live' AND i.next_check_at IS NOT NULL`, string(network)).Scan(&count)
			if err != nil {
				return nil, err
			}
			if count > 0 {
				found[network] = count
			}
		}
		return found, nil
	})
	if err != nil {
		return nil, fmt.Errorf("open invoices by balance: %w", err)
	}
	return found, nil
}

// countOpen counts a network's open invoices that were looked for.
func countOpen(ctx context.Context, q querier, network chain.ID, found map[chain.ID]int) error {
	return each(ctx, q, func(row scanner) error {
		var text string
		if err := row.Scan(&text); err != nil {
			return err
		}
		methods, err := parseMethods(text)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(methods, func(m invoice.Method) bool { return m.Asset.Network == network && m.Watched }) {
			found[network]++
		}
		return nil
	}, `
		SELECT i.methods FROM destinations d JOIN invoices i ON i.id = d.invoice_id
		WHERE d.network = $1 AND i.mode = 'live' AND i.next_check_at IS NOT NULL`, string(network))
}
