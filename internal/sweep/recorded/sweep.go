// Package recorded has the recorded plans of sweeps, with the state of each row.
package recorded

import (
	"errors"
	"math/big"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/sweep/plan"
)

// Errors of the storage of recorded plans.
var (
	// ErrNotFound means that the merchant has no such plan.
	ErrNotFound = errors.New("there is no such sweep")
	// ErrTampered means that a recorded plan was changed without the master key.
	ErrTampered = errors.New("the recorded plan was changed without the master key")
	// ErrStopped means that an operator stopped the plan.
	ErrStopped = errors.New("the sweep was stopped")
	// ErrHeld means that another call or process holds the lease on the sweeps of the shop on the network.
	ErrHeld = errors.New("another process sends a sweep")
)

// State is the state of a row of a plan.
type State string

// The states. Moved is final. A row in another state after Sent may be sent again while its signature is valid.
const (
	Planned      State = "planned"
	Sent         State = "sent"          // a transaction that carries it was given to the endpoints
	Moved        State = "moved"         // the amount is at the destination
	NothingThere State = "nothing_there" // the address does not hold the amount any more
	Blocked      State = "blocked"       // by the issuer of the token
	Expired      State = "expired"       // the plan is over
	Refused      State = "refused"       // by the contract, for another reason
)

// States are the states in the order of a life.
var States = []State{Planned, Sent, Moved, NothingThere, Blocked, Expired, Refused}

// Row is the state of the row of a plan.
type Row struct {
	State     State
	Tx        string // hash of the transaction that moves it: 0x and hex digits; empty while it is planned
	ChangedAt time.Time
	// Fee is the row's share of the fee of its transaction, in the smallest units of the coin. It is nil if the row is neither moved nor the
	// transaction of its address failed, if its transaction is not one of the signed file, or if too few operators state the same fee.
	Fee *big.Int
	// FundingFee is the fee of the transaction that sent the coin for the fee to the address, in the smallest units of the coin. It is nil if
	// there is no such final transaction, or if too few operators state the same fee.
	FundingFee *big.Int
	// FeeEUR is the value of TotalFee in euro when the fees were read. It is empty if no price was known.
	FeeEUR decimal.NullDecimal
}

// TotalFee returns the sum of Fee and FundingFee; nil if Fee is not known.
func (r Row) TotalFee() *big.Int {
	if r.Fee == nil || r.FundingFee == nil {
		return r.Fee
	}
	return new(big.Int).Add(r.Fee, r.FundingFee)
}

// Change is a new state of the row with a number, from 1.
type Change struct {
	Number int
	Row    Row
}

// Sweep is a recorded plan.
type Sweep struct {
	MerchantID string
	Plan       plan.Plan
	Rows       []Row // of Plan.Rows, in the same order
	// StoppedAt is the time at which an operator stopped it; zero if it was not stopped.
	StoppedAt time.Time
}

// New returns the record of a new plan.
func New(merchantID string, p plan.Plan) Sweep {
	s := Sweep{MerchantID: merchantID, Plan: p, Rows: make([]Row, len(p.Rows))}
	for i := range s.Rows {
		s.Rows[i] = Row{State: Planned, ChangedAt: p.MadeAt}
	}
	return s
}

// Count returns the number of rows in a state.
func (s Sweep) Count(state State) (n int) {
	for _, r := range s.Rows {
		if r.State == state {
			n++
		}
	}
	return n
}

// Phase is the state of a plan as a whole.
type Phase string

// The phases.
const (
	PhasePlanned Phase = "planned" // nothing is sent
	PhaseSent    Phase = "sent"    // a row is sent, or rows are open
	PhaseDone    Phase = "done"    // all rows have a final state
	PhaseStopped Phase = "stopped" // an operator stopped it
)

// Phase returns the state of the plan as a whole.
func (s Sweep) Phase() Phase {
	planned, sent := s.Count(Planned), s.Count(Sent)
	switch {
	case planned+sent == 0:
		return PhaseDone
	case !s.StoppedAt.IsZero():
		return PhaseStopped
	case planned == len(s.Rows):
		return PhasePlanned
	}
	return PhaseSent
}

// MovedText returns the sums of the rows that are moved; "" if there are none.
func (s Sweep) MovedText() string {
	var numbers []int
	for i, r := range s.Rows {
		if r.State == Moved {
			numbers = append(numbers, i+1)
		}
	}
	return s.Plan.SumTextOf(numbers)
}
