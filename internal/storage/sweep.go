package storage

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/audit"
	"chequer/internal/chain"
	"chequer/internal/seal"
	"chequer/internal/storage/engine"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
)

// sweepRecord is a recorded plan as stored in columns.
type sweepRecord struct {
	id, merchantID string
	madeAt         int64
	stoppedAt      int64  // 0 if it was not stopped; not covered by the MAC, because it moves nothing
	plan           string // exact bytes of the file
	mac            string
}

// fields returns the fields that the MAC covers.
func (r sweepRecord) fields() []string {
	return []string{r.id, r.merchantID, strconv.FormatInt(r.madeAt, 10), r.plan}
}

// unseal verifies the row and reads its plan. It returns recorded.ErrTampered if the MAC is wrong.
func (r sweepRecord) unseal(box *seal.Box) (recorded.Sweep, error) {
	if !box.Check(r.mac, "sweeps", r.fields()...) {
		return recorded.Sweep{}, fmt.Errorf("sweep %s: %w", r.id, recorded.ErrTampered)
	}
	p, err := plan.Read([]byte(r.plan))
	if err != nil {
		return recorded.Sweep{}, fmt.Errorf("sweep %s: %w", r.id, err)
	}
	found := recorded.Sweep{MerchantID: r.merchantID, Plan: p}
	if r.stoppedAt > 0 {
		found.StoppedAt = utc(r.stoppedAt)
	}
	return found, nil
}

// AddSweep records a new plan with the states of its rows.
func (s *Storage) AddSweep(ctx context.Context, added recorded.Sweep) error {
	p := added.Plan
	r := sweepRecord{id: p.ID, merchantID: added.MerchantID, madeAt: p.MadeAt.UnixMilli(), plan: string(p.Bytes())}
	r.mac = s.box.MAC("sweeps", r.fields()...)
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		_, err := q.ExecContext(ctx, "INSERT INTO sweeps (id, merchant_id, made_at, stopped_at, plan, mac) VALUES ($1, $2, $3, 0, $4, $5)", r.id, r.merchantID, r.madeAt, r.plan, r.mac)
		if err != nil {
			return err
		}
		for i, row := range added.Rows {
			_, err := q.ExecContext(ctx, "INSERT INTO sweep_rows (sweep_id, number, state, tx, changed_at, fee, funding_fee, fee_eur) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
				r.id, i+1, string(row.State), row.Tx, row.ChangedAt.UnixMilli(), feeText(row.Fee), feeText(row.FundingFee), euroText(row.FeeEUR))
			if err != nil {
				return fmt.Errorf("row %d: %w", i+1, err)
			}
		}
		return s.record(ctx, q, audit.Change{MerchantID: r.merchantID, Action: "sweep.planned", Subject: p.ID, After: audit.Fields{
			"network": p.Network.ID, "to": p.To.String(), "sum": p.SumText(), "rows": strconv.Itoa(len(p.Rows)), "fingerprint": p.Fingerprint(),
		}})
	})
	if err != nil {
		return fmt.Errorf("record sweep %s: %w", p.ID, err)
	}
	return nil
}

// Sweep returns a recorded plan of a merchant, or recorded.ErrNotFound.
func (s *Storage) Sweep(ctx context.Context, merchantID, id string) (recorded.Sweep, error) {
	found, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (recorded.Sweep, error) {
		r, err := readSweepColumns(q.QueryRowContext(ctx, selectSweep+" AND id = $2", merchantID, id))
		if engine.Absent(err) {
			return recorded.Sweep{}, recorded.ErrNotFound
		}
		if err != nil {
			return recorded.Sweep{}, err
		}
		return s.sweepOf(ctx, q, r)
	})
	if err != nil {
		return recorded.Sweep{}, fmt.Errorf("read sweep %s: %w", id, err)
	}
	return found, nil
}

// Sweeps returns the newest recorded plans of a merchant, newest first.
func (s *Storage) Sweeps(ctx context.Context, merchantID string, limit int) ([]recorded.Sweep, error) {
	return s.SweepsAfter(ctx, merchantID, "", limit)
}

// SweepsAfter returns recorded plans of a merchant, newest first: those before the plan with the ID after, or the newest if it is "".
func (s *Storage) SweepsAfter(ctx context.Context, merchantID, after string, limit int) ([]recorded.Sweep, error) {
	found, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) ([]recorded.Sweep, error) {
		page := newSweepsPage(merchantID, after, limit)
		rows, err := list(ctx, q, readSweepColumns, page.text, page.args...)
		if err != nil {
			return nil, err
		}
		var all []recorded.Sweep
		for _, r := range rows {
			one, err := s.sweepOf(ctx, q, r)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list sweeps: %w", err)
	}
	return found, nil
}

// selectSweep selects the recorded plans of a merchant.
const selectSweep = "SELECT id, merchant_id, made_at, stopped_at, plan, mac FROM sweeps WHERE merchant_id = $1"

// newSweepsPage returns the statement of SweepsAfter.
func newSweepsPage(merchantID, after string, limit int) statement {
	const end = " ORDER BY made_at DESC, id DESC LIMIT $2"
	if after == "" {
		return statement{selectSweep + end, []any{merchantID, limit}}
	}
	const before = " AND (made_at, id) < (SELECT made_at, id FROM sweeps WHERE merchant_id = $1 AND id = $3)"
	return statement{selectSweep + before + end, []any{merchantID, limit, after}}
}

func readSweepColumns(row scanner) (r sweepRecord, err error) {
	err = row.Scan(&r.id, &r.merchantID, &r.madeAt, &r.stoppedAt, &r.plan, &r.mac)
	return r, err
}

// feeText returns a fee as it is stored; "" if it is not known.
func feeText(fee *big.Int) string {
	if fee == nil {
		return ""
	}
	return fee.String()
}

// euroText returns the value of a fee as it is stored; "" if it is not known.
func euroText(value decimal.NullDecimal) string {
	if !value.Valid {
		return ""
	}
	return value.Decimal.String()
}

// parseFee parses a text of feeText.
func parseFee(text string) (*big.Int, error) {
	if text == "" {
		return nil, nil
	}
	return parseSum(text)
}

// sweepOf returns the recorded plan of a row, with the states of its rows.
func (s *Storage) sweepOf(ctx context.Context, q querier, r sweepRecord) (recorded.Sweep, error) {
	found, err := r.unseal(s.box)
	if err != nil {
		return found, err
	}
	found.Rows, err = list(ctx, q, func(row scanner) (state recorded.Row, err error) {
		var changedAt int64
		var fee, fundingFee, euro string
		if err := row.Scan(&state.State, &state.Tx, &changedAt, &fee, &fundingFee, &euro); err != nil {
			return state, err
		}
		state.ChangedAt = utc(changedAt)
		if state.Fee, err = parseFee(fee); err != nil {
			return state, err
		}
		if state.FundingFee, err = parseFee(fundingFee); err != nil || euro == "" {
			return state, err
		}
		value, err := decimal.NewFromString(euro)
		state.FeeEUR = decimal.NewNullDecimal(value)
		return state, err
	}, "SELECT state, tx, changed_at, fee, funding_fee, fee_eur FROM sweep_rows WHERE sweep_id = $1 ORDER BY number", r.id)
	if err != nil {
		return found, fmt.Errorf("read the rows of %s: %w", r.id, err)
	}
	if len(found.Rows) != len(found.Plan.Rows) {
		return found, fmt.Errorf("sweep %s has the states of %d rows, and %d rows", r.id, len(found.Rows), len(found.Plan.Rows))
	}
	return found, nil
}

// IsDestination reports whether a script is that of an invoice, of any merchant and on any network.
func (s *Storage) IsDestination(ctx context.Context, script string) (bool, error) {
	found, err := readOne(ctx, s, column[bool], "SELECT EXISTS (SELECT 1 FROM destinations WHERE script = $1)", script)
	if err != nil {
		return false, fmt.Errorf("look for a destination: %w", err)
	}
	return found, nil
}

// WatchedScripts returns those of the scripts on a network that are watched at a time, sorted.
func (s *Storage) WatchedScripts(ctx context.Context, network chain.ID, scripts []string, at time.Time) ([]string, error) {
	watched, err := answer(ctx, s.read, func(ctx context.Context, q querier) (watched []string, err error) {
		for _, script := range scripts {
			var isWatched bool
			err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM destinations WHERE script = $1 AND network = $2 AND watch_until >= $3)",
				script, string(network), at.UnixMilli()).Scan(&isWatched)
			if err != nil {
				return nil, err
			}
			if isWatched {
				watched = append(watched, script)
			}
		}
		return watched, nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for watched destinations on %s: %w", network, err)
	}
	slices.Sort(watched)
	return watched, nil
}
