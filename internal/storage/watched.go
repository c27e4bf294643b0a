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
	found := map[chain.ID]int{}
	err := s.eachOpen(ctx, func(methods []invoice.Method) {
		countOnce(found, methods, func(m invoice.Method) (chain.ID, bool) {
			return m.Asset.Network, m.Watched && !slices.Contains(now, m.Asset.Network)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("open invoices by network: %w", err)
	}
	return found, nil
}

// OpenBalances returns, by network, the number of live invoices that wait for payments which only
// balances show.
func (s *Storage) OpenBalances(ctx context.Context, networks []chain.ID) (map[chain.ID]int, error) {
	found := map[chain.ID]int{}
	err := s.eachOpen(ctx, func(methods []invoice.Method) {
		countOnce(found, methods, func(m invoice.Method) (chain.ID, bool) {
			return m.Asset.Network, m.Watched && m.Asset.Policy.Balance && slices.Contains(networks, m.Asset.Network)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("open invoices by balance: %w", err)
	}
	return found, nil
}

// OpenAssets returns, by asset, the number of live invoices that wait for an asset of a network
// which was watched at creation. It leaves out the assets that are watched now.
func (s *Storage) OpenAssets(ctx context.Context, network chain.ID, now []string) (map[string]int, error) {
	found := map[string]int{}
	err := s.eachOpen(ctx, func(methods []invoice.Method) {
		countOnce(found, methods, func(m invoice.Method) (string, bool) {
			return m.Asset.Code, m.Watched && m.Asset.Network == network && !slices.Contains(now, m.Asset.Code)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("open invoices by asset: %w", err)
	}
	return found, nil
}

// countOnce adds an invoice to the counts of the keys of its methods, once to each.
func countOnce[K comparable](counts map[K]int, methods []invoice.Method, key func(invoice.Method) (K, bool)) {
	var counted []K
	for _, m := range methods {
		if k, is := key(m); is && !slices.Contains(counted, k) {
			counted = append(counted, k)
			counts[k]++
		}
	}
}

// openMethods selects the methods of the live invoices that wait for a payment, by an index that
// holds only open invoices.
const openMethods = "SELECT id, methods, shared_terms FROM invoices WHERE next_check_at IS NOT NULL AND mode = 'live'"

// eachOpen calls do with the methods of each live invoice that waits for a payment.
func (s *Storage) eachOpen(ctx context.Context, do func([]invoice.Method)) error {
	all, err := answer(ctx, s.read, func(ctx context.Context, q querier) (all [][]invoice.Method, err error) {
		rows, err := list(ctx, q, func(row scanner) (r invoiceRow, err error) {
			err = row.Scan(&r.id, &r.methods, &r.shared)
			return r, err
		}, openMethods)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			shared, err := s.shared.read(ctx, q, r)
			if err != nil {
				return nil, err
			}
			methods, err := parseMethods(r.methods, shared)
			if err != nil {
				return nil, fmt.Errorf("invoice %s: %w", r.id, err)
			}
			all = append(all, methods)
		}
		return all, nil
	})
	for _, methods := range all {
		do(methods)
	}
	return err
}
