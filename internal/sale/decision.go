package sale

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"chequer/internal/invoice"
)

// CoinOf returns the coin of the sale that the operator decides about: the given coin, or the only coin
// of the invoice if it is "".
func CoinOf(inv *invoice.Invoice, coin string) (string, error) {
	if coin != "" {
		return strings.ToUpper(coin), nil
	}
	switch len(inv.Sales) {
	case 0:
		return "", errors.New("this invoice has no sale")
	case 1:
		return inv.Sales[0].Coin, nil
	}
	var coins []string
	for _, s := range inv.Sales {
		coins = append(coins, s.Coin)
	}
	return "", fmt.Errorf("this invoice was paid in several coins: name one with --coin %s", strings.Join(coins, " or "))
}

// RetryAll retries the failed sales of invoices, and returns the retried ones. It skips and counts sales
// whose last order has an unknown outcome.
func (r Resolver) RetryAll(ctx context.Context, invoices []Listed) (retried []Listed, unknown int, err error) {
	for _, inv := range invoices {
		for _, s := range inv.Sales {
			if s.State != invoice.SaleFailed {
				continue
			}
			changed, err := r.Retry(ctx, inv.ID, s.Coin, false)
			switch {
			case errors.Is(err, invoice.ErrUnknownOrder):
				unknown++
			case err != nil:
				return retried, unknown, fmt.Errorf("retry sale of invoice %s: %w", inv.ID, err)
			default:
				retried = append(retried, NewListed(changed))
			}
		}
	}
	return retried, unknown, nil
}
