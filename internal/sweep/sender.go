package sweep

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/clock"
	"chequer/internal/config"
	"chequer/internal/evm"
	"chequer/internal/networks"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
	"chequer/internal/token"
)

// SendStorage has the recorded plans of a merchant.
type SendStorage interface {
	// Sweep returns a recorded plan of a merchant, or recorded.ErrNotFound.
	Sweep(ctx context.Context, merchantID, id string) (recorded.Sweep, error)
	// SaveSweepRows saves new states of rows. A row that is moved keeps its state.
	SaveSweepRows(ctx context.Context, id string, changes []recorded.Change) error
	// RecordSweepSent records that transactions are being sent, or returns recorded.ErrStopped.
	RecordSweepSent(ctx context.Context, merchantID, id string, transactions int) error
	// IsDestination reports whether a script is that of an invoice, of any merchant.
	IsDestination(ctx context.Context, script string) (bool, error)
	// AcquireSweepLease acquires or renews a lease, or returns recorded.ErrHeld.
	AcquireSweepLease(ctx context.Context, name, holder string, now time.Time, ttl time.Duration) error
	// ReleaseSweepLease releases a lease that the holder has.
	ReleaseSweepLease(ctx context.Context, name, holder string) error
}

// Sender sends one signed plan. It is not safe for concurrent use.
//
// A plan moves each amount at most once, however often it is sent and by how many processes: the contract of a token accepts an
// authorization once, and the network accepts a transaction once. The lease and the recorded states avoid transactions that would move
// nothing and cost a fee.
type Sender struct {
	storage SendStorage
	evm     networks.EVM
	rates   Rates // nil if the fees are not valued
	now     func() time.Time
	record  recorded.Sweep
	signed  plan.Signed
	steps   []step
	holder  string // of the lease
	ttl     time.Duration
	maxGas  uint64        // of a carrier that a browser wallet sends
	refused *RefusedError // of the transactions that were given to the network last; nil if none was refused
}

// step is a transaction of a signed file.
type step struct {
	raw  string // 0x and hex digits
	hash evm.Hash
	evm.Transaction
	from evm.Address
	kind stepKind
	rows []int // numbers, from 1
}

// stepKind is the purpose of a transaction of a signed file.
type stepKind int

const (
	moving   stepKind = iota // moves a row from its address
	funding                  // sends the coin for the fee of a row to its address
	carrying                 // carries authorizations
)

// isPayers reports whether the payer sends the transaction.
func (s step) isPayers() bool { return s.kind != moving }

// leaseTTL is the time after which the lease of a process that ended without releasing it is taken over.
const leaseTTL = 30 * time.Second

// NewSender returns a new sender of a signed file. It returns an error if the file differs from the recorded plan of the merchant in any
// way, so that only what was planned is sent. The fees are recorded with their values at the rates.
func NewSender(ctx context.Context, c config.Config, s SendStorage, rates Rates, merchantID string, content []byte, now func() time.Time) (*Sender, error) {
	signed, err := readSigned(content)
	if err != nil {
		return nil, err
	}
	record, err := s.Sweep(ctx, merchantID, signed.Plan)
	if errors.Is(err, recorded.ErrNotFound) {
		return nil, fmt.Errorf("this server has not made the plan %s for this shop", signed.Plan)
	}
	if err != nil {
		return nil, err
	}
	if err := checkSigned(signed, record.Plan); err != nil {
		return nil, err
	}
	sender, err := newSender(c, s, record, now)
	if err != nil {
		return nil, err
	}
	sender.rates = rates
	return sender, sender.use(signed)
}

// newSender returns a Sender without a signed file, see settles.
func newSender(c config.Config, s SendStorage, record recorded.Sweep, now func() time.Time) (*Sender, error) {
	e, err := queryableEVM(c, chain.ID(record.Plan.Network.ID), now)
	if err != nil {
		return nil, err
	}
	return &Sender{storage: s, evm: e, now: now, record: record, holder: token.New(idLength), ttl: leaseTTL, maxGas: carriedGas}, nil
}

// use sets the signed file, which was checked.
func (s *Sender) use(signed plan.Signed) (err error) {
	s.signed = signed
	s.steps, err = stepsOf(s.record.Plan, signed)
	return err
}

// readSigned reads a signed file.
func readSigned(content []byte) (plan.Signed, error) {
	signed, err := plan.ReadSigned(content)
	if err != nil {
		return signed, fmt.Errorf("the signed file is not valid: %w", err)
	}
	return signed, nil
}

// checkSigned returns an error if a signed file is not that of a recorded plan.
func checkSigned(signed plan.Signed, p plan.Plan) error {
	if err := signed.Check(p); err != nil {
		return fmt.Errorf("the signed file differs from the recorded plan: %w", err)
	}
	return nil
}

// settles reports whether the sender can find out the state of a row. Without the signed file, it does not know the transaction of a row whose
// address sends one, and not those of the payer, whose fees are recorded with their rows.
func (s *Sender) settles(n int) bool {
	p := s.record.Plan
	return p.Payer == nil && !p.Rows[n-1].SendsTransaction() || len(s.signed.Rows) > 0
}

// stepsOf returns the transactions of a signed file: those of the addresses, then those of the payer, in the order of its nonces.
func stepsOf(p plan.Plan, signed plan.Signed) (list []step, err error) {
	var authorized []int
	for i, r := range signed.Rows {
		if !p.Rows[i].SendsTransaction() {
			authorized = append(authorized, i+1)
			continue
		}
		one, err := newStep(r.Transaction, p.Rows[i].From, moving, []int{i + 1})
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		list = append(list, one)
	}
	funded := p.Funded()
	for i, raw := range signed.Payer {
		kind, rows := funding, funded[min(i, len(funded)):min(i+1, len(funded))]
		if i >= len(funded) {
			carried := p.Payer.Carriers[i-len(funded)].Rows
			kind, rows, authorized = carrying, authorized[:carried], authorized[carried:]
		}
		one, err := newStep(raw, p.Payer.Address, kind, rows)
		if err != nil {
			return nil, fmt.Errorf("payer %d: %w", i+1, err)
		}
		list = append(list, one)
	}
	return list, nil
}

// newStep returns a transaction from an address.
func newStep(raw string, from evm.Address, kind stepKind, rows []int) (step, error) {
	t, signature, err := evm.ParseTransaction(raw)
	if err != nil {
		return step{}, err
	}
	return step{raw: raw, hash: evm.Keccak256(t.Raw(signature)), Transaction: t, from: from, kind: kind, rows: rows}, nil
}

// step returns the transaction of a kind that belongs to a row; nil if the signed file has none.
func (s *Sender) step(kind stepKind, n int) *step {
	i := slices.IndexFunc(s.steps, func(one step) bool { return one.kind == kind && slices.Contains(one.rows, n) })
	if i < 0 {
		return nil
	}
	return &s.steps[i]
}

// Sweep returns the recorded plan with the states of its rows, as of the last call of Settle.
func (s *Sender) Sweep() recorded.Sweep { return s.record }

// leaseName returns the name of the lease: one process sends plans of a merchant on a network.
func (s *Sender) leaseName() string { return s.record.Plan.Network.ID + " " + s.record.MerchantID }

// pollInterval is the time between two reads of the network or of the lease.
const pollInterval = time.Second

// Acquire acquires the lease on sending plans. If a process that ended has not released it, Acquire waits until it can be taken over.
func (s *Sender) Acquire(ctx context.Context) error {
	deadline := s.now().Add(s.ttl + 5*pollInterval)
	for {
		err := s.renew(ctx)
		if err == nil || !errors.Is(err, recorded.ErrHeld) {
			return err
		}
		if s.now().After(deadline) {
			return fmt.Errorf("%w of this shop on %s: wait until it ends", recorded.ErrHeld, s.record.Plan.Network.Name)
		}
		if !clock.Sleep(ctx, pollInterval) {
			return ctx.Err()
		}
	}
}

// renew renews the lease.
func (s *Sender) renew(ctx context.Context) error {
	return s.storage.AcquireSweepLease(ctx, s.leaseName(), s.holder, s.now(), s.ttl)
}

// Release releases the lease.
func (s *Sender) Release(ctx context.Context) error {
	return s.storage.ReleaseSweepLease(ctx, s.leaseName(), s.holder)
}

// save saves new states of rows, and reads the record again.
func (s *Sender) save(ctx context.Context, changes []recorded.Change) error {
	id := s.record.Plan.ID
	if len(changes) > 0 {
		if err := s.storage.SaveSweepRows(ctx, id, changes); err != nil {
			return err
		}
	}
	record, err := s.storage.Sweep(ctx, s.record.MerchantID, id)
	if err != nil {
		return err
	}
	s.record = record
	return nil
}

// row returns the new state of a row.
func (s *Sender) row(n int, state recorded.State, tx string) recorded.Change {
	return recorded.Change{Number: n, Row: recorded.Row{State: state, Tx: tx, ChangedAt: s.now().UTC(), FundingFee: s.record.Rows[n-1].FundingFee}}
}

// feeOf returns the most that transactions cost, without the fee that a rollup adds for their data.
func feeOf(steps []step) *big.Int {
	total := new(big.Int)
	for _, one := range steps {
		total.Add(total, one.MaxFee())
	}
	return total
}
