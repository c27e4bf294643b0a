package storage

import (
	"context"
	"fmt"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// OpenWatched returns, by network, the number of live invoices that wait for payments which were
// watched at creation. It leaves out the networks that are watched now.
func (s *Storage) OpenWatched(ctx context.Context, now []chain.ID) (map[chain.ID]int, error) {
	found, err := answer(ctx, s.read, func(ctx context.Context, q querier) (map[chain.ID]int, error) {
		networks, err := list(ctx, q, column[string], "SELECT DISTINCT network FROM destinations")
		if err != nil {
			return nil, err
		}
		found := map[chain.ID]int{}
		for _, network := range networks {
			if slices.Contains(now, chain.ID(network)) {
				continue
			}
			err := s.eachOpen(ctx, q, chain.ID(network), func(methods []invoice.Method) {
				if slices.ContainsFunc(methods, func(m invoice.Method) bool { return m.Watched }) {
					found[chain.ID(network)]++
				}
			})
			if err != nil {
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

// OpenBalances returns, by network, the number of live invoices that wait for payments which only
// balances show.
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

// OpenAssets returns, by asset, the number of live invoices that wait for an asset of a network
// which was watched at creation. It leaves out the assets that are watched now.
func (s *Storage) OpenAssets(ctx context.Context, network chain.ID, now []string) (map[string]int, error) {
	found, err := answer(ctx, s.read, func(ctx context.Context, q querier) (map[string]int, error) {
		found := map[string]int{}
		err := s.eachOpen(ctx, q, network, func(methods []invoice.Method) {
			for _, m := range methods {
				if m.Watched && !slices.Contains(now, m.Asset.Code) {
					found[m.Asset.Code]++
				}
			}
		})
		return found, err
	})
	if err != nil {
		return nil, fmt.Errorf("open invoices by asset: %w", err)
	}
	return found, nil
}

// eachOpen calls do with the methods on a network of each live invoice that waits for a payment
// there.
func (s *Storage) eachOpen(ctx context.Context, q querier, network chain.ID, do func([]invoice.Method)) error {
	rows, err := list(ctx, q, func(row scanner) (r invoiceRow, err error) {
		err = row.Scan(&r.id, &r.methods, &r.shared)
		return r, err
	}, `
		SELECT i.id, i.methods, i.shared_terms FROM destinations d JOIN invoices i ON i.id = d.invoice_id
		WHERE d.network = $1 AND i.mode = 'live' AND i.next_check_at IS NOT NULL`, string(network))
	if err != nil {
		return err
	}
	for _, r := range rows {
		shared, err := s.shared.read(ctx, q, r)
		if err != nil {
			return err
		}
		methods, err := parseMethods(r.methods, shared)
		if err != nil {
			return fmt.Errorf("invoice %s: %w", r.id, err)
		}
		do(slices.DeleteFunc(methods, func(m invoice.Method) bool { return m.Asset.Network != network }))
	}
	return nil
}
