package sweep

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/report"
	"chequer/internal/sweep/recorded"
)

// Reconciled compares the coins that the records of a merchant say to be at the addresses of its invoices on a network with those that the
// network shows. The numbers are in whole coins.
type Reconciled struct {
	Asset      string `json:"asset"`
	Received   string `json:"received"` // confirmed payments
	Funded     string `json:"funded"`   // sent to the addresses by the payer of a sweep, for fees
	Swept      string `json:"swept"`    // rows of sweeps that are moved
	Fees       string `json:"fees"`     // paid by the addresses themselves
	Expected   string `json:"expected"`
	Held       string `json:"held"`
	Difference string `json:"difference"` // held and not expected; negative if less is held
}

// ReconcileStorage reads what was received and swept.
type ReconcileStorage interface {
	Storage
	Received(ctx context.Context, merchantID string) (report.Received, error)
	Sweeps(ctx context.Context, merchantID string, limit int) ([]recorded.Sweep, error)
	RemovedBefore(ctx context.Context, merchantID string) (before, at time.Time, err error)
}

// maxReconciled is the largest number of sweeps that are read.
const maxReconciled = 10_000

// Reconcile compares the records with the balances after the newest block, by asset of a network.
func Reconcile(ctx context.Context, storage ReconcileStorage, c config.Config, merchantID string, network chain.ID, now func() time.Time) ([]Reconciled, error) {
	before, _, err := storage.RemovedBefore(ctx, merchantID)
	switch {
	case err != nil:
		return nil, err
	case !before.IsZero():
		return nil, fmt.Errorf("the coins cannot be reconciled, because invoices before %s were removed from the books", before.Format(time.DateOnly))
	}
	received, err := storage.Received(ctx, merchantID)
	switch {
	case err != nil:
		return nil, err
	case !received.Complete:
		return nil, errors.New("the received sums are being computed: try again later")
	}
	sweeps, err := storage.Sweeps(ctx, merchantID, maxReconciled)
	if err != nil {
		return nil, err
	}
	e, held, err := readHoldings(ctx, storage, c, merchantID, network, now)
	if err != nil {
		return nil, err
	}
	list := []Reconciled{}
	for _, asset := range e.Assets() {
		in, funded, out, fees, there := new(big.Int), new(big.Int), new(big.Int), new(big.Int), new(big.Int)
		for _, sums := range received.ByKey {
			for _, sum := range sums {
				if sum.Asset == asset.Code {
					in.Add(in, sum.Amount.Minor())
				}
			}
		}
		for _, s := range sweeps {
			if err := addSwept(s, asset, funded, out, fees); err != nil {
				return nil, err
			}
		}
		for _, h := range held {
			if h.asset.Code == asset.Code {
				there.Add(there, h.units)
			}
		}
		expected := new(big.Int).Add(in, funded)
		expected.Sub(expected, out)
		expected.Sub(expected, fees)
		if in.Sign() == 0 && there.Sign() == 0 && out.Sign() == 0 && funded.Sign() == 0 {
			continue
		}
		text := func(units *big.Int) string { return decimal.NewFromBigInt(units, -asset.Currency.Decimals).String() }
		list = append(list, Reconciled{
			Asset: asset.Code, Received: text(in), Funded: text(funded), Swept: text(out), Fees: text(fees), Expected: text(expected), Held: text(there), Difference: text(new(big.Int).Sub(there, expected)),
		})
	}
	return list, nil
}

// addSwept adds what the payer of a sweep sent to addresses in an asset, the moved rows in it, and the fees that the addresses paid in it.
func addSwept(s recorded.Sweep, asset chain.Asset, funded, out, fees *big.Int) error {
	if s.Plan.Network.ID != string(asset.Network) {
		return nil
	}
	for i, row := range s.Rows {
		planned := s.Plan.Rows[i]
		if row.FundingFee != nil && asset.Policy.Balance {
			funded.Add(funded, planned.Funding)
		}
		isMoved := row.State == recorded.Moved
		if isMoved && planned.Asset == asset.Code {
			out.Add(out, planned.Amount)
		}
		if !planned.SendsTransaction() || !asset.Policy.Balance || row.Fee == nil && !isMoved {
			continue
		}
		if row.Fee == nil {
			return fmt.Errorf("the fee of row %d of sweep %s is not known, so the coins cannot be reconciled", i+1, s.Plan.ID)
		}
		fees.Add(fees, row.Fee)
	}
	return nil
}
