package sweep

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/clock"
	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
)

// Outlook describes what sending a plan would do now.
type Outlook struct {
	// Moves are the numbers of the rows that would be moved, and Transactions the number of transactions that would be sent.
	Moves        []int
	Transactions int
	// Fee is the most that they cost, without the fee that a rollup adds for their data, in the coin's smallest units.
	Fee *big.Int
	// Failing are the rows that are open and would not be moved.
	Failing []recorded.Failing
	// Waiting are the numbers of the rows that are sent and not final.
	Waiting []int
	// Unsent are the numbers of the open rows that no transaction of the signed file can move.
	Unsent []int
	// Fault is why nothing can be sent now; empty if there is no such reason.
	Fault string

	at    time.Time // when the network was read
	send  []step
	later []step // transactions of addresses that the payer funds before
	rows  []condition
}

// Outlook settles the plan, simulates the transactions that are not sent yet, and returns what sending them would do.
func (s *Sender) Outlook(ctx context.Context) (Outlook, error) {
	at := s.now()
	v, err := s.settle(ctx)
	if err != nil {
		return Outlook{}, err
	}
	if err := s.simulateFunding(ctx, v); err != nil {
		return Outlook{}, err
	}
	o := Outlook{at: at, rows: v.rows}
	var held []step // of the payer, which are sent only if a later one moves a row, because nonces have no gaps
	for _, one := range s.openSteps(v) {
		isAwaited := func(n int) bool {
			return slices.Contains(o.Moves, n) && v.rows[n-1].awaitsFunding && !s.isLateToFund(v)
		}
		moves := slices.DeleteFunc(slices.Clone(one.rows), func(n int) bool { return !isAwaited(n) })
		if one.kind != funding { // those of the addresses are before those that fund them
			if moves, err = s.simulate(ctx, v, one); err != nil {
				return Outlook{}, err
			}
			o.Moves = append(o.Moves, moves...)
		}
		switch {
		case one.isPayers():
			held = append(held, one)
			if len(moves) > 0 {
				o.send, held = append(o.send, held...), nil
			}
		case len(moves) > 0 && v.rows[moves[0]-1].awaitsFunding:
			o.later = append(o.later, one)
		case len(moves) > 0:
			o.send = append(o.send, one)
		}
	}
	slices.Sort(o.Moves)
	o.Transactions, o.Fee = len(o.send)+len(o.later), feeOf(slices.Concat(o.send, o.later))
	s.sortRows(v, &o)
	o.Fault, err = s.fault(ctx, v, o)
	return o, err
}

// openSteps returns the transactions that are in no block and whose nonces are not used.
func (s *Sender) openSteps(v *survey) (open []step) {
	for _, one := range s.steps {
		if v.isOpen(one) {
			open = append(open, one)
		}
	}
	return open
}

// simulateFunding simulates the transactions that fund addresses, and sets the conditions of the rows whose addresses would not get the coin. One
// for which the payer holds too little is not simulated, because it would fail for that.
func (s *Sender) simulateFunding(ctx context.Context, v *survey) error {
	var steps []step
	for _, one := range s.openSteps(v) {
		if one.kind == funding && v.rows[one.rows[0]-1].awaitsFunding && v.balances[one.from].Cmp(one.Value) >= 0 {
			steps = append(steps, one)
		}
	}
	for batch := range slices.Chunk(steps, callBatch) {
		var messages []quorum.Message
		for _, one := range batch {
			messages = append(messages, quorum.Message{From: one.from, To: one.To, Value: one.Value, Gas: one.Gas})
		}
		results, err := s.evm.Quorum.Simulate(ctx, v.tip, messages)
		if err != nil {
			return fmt.Errorf("simulate the transactions of the payer: %w", err)
		}
		for i, one := range batch {
			if c := &v.rows[one.rows[0]-1]; results[i] == nil {
				c.state, c.why, c.awaitsFunding = recorded.Refused, reasonCoin, false
			}
		}
	}
	return nil
}

// simulate returns the numbers of the open rows that a transaction would move, and sets the conditions of those that it would not.
func (s *Sender) simulate(ctx context.Context, v *survey, one step) (moves []int, err error) {
	results, err := s.evm.Quorum.Simulate(ctx, v.tip, []quorum.Message{{From: one.from, To: one.To, Value: one.Value, Data: one.Data, Gas: one.Gas}})
	if err != nil {
		return nil, fmt.Errorf("simulate the transaction of row %d: %w", one.rows[0], err)
	}
	succeeded := make([]bool, len(one.rows))
	switch {
	case results[0] == nil:
	case one.kind == carrying:
		if succeeded, err = evm.ParseAggregate3(results[0], len(one.rows)); err != nil {
			return nil, fmt.Errorf("simulate the transaction of row %d: %w", one.rows[0], err)
		}
	case s.record.Plan.Rows[one.rows[0]-1].Way == plan.ByFunding:
		succeeded[0] = len(results[0]) == 0 || isTrue(results[0]) // EIP-20 lets a token return false; TetherToken returns nothing
	default:
		succeeded[0] = true
	}
	for i, n := range one.rows {
		c := &v.rows[n-1]
		if c.used || c.state != recorded.Planned {
			continue
		}
		if !succeeded[i] {
			s.refuse(v, n)
			continue
		}
		moves = append(moves, n)
	}
	return moves, nil
}

// sortRows sets the lists of the rows that would not be moved.
func (s *Sender) sortRows(v *survey, o *Outlook) {
	for i, row := range s.record.Rows {
		n, c := i+1, v.rows[i]
		switch {
		case row.State == recorded.Moved || slices.Contains(o.Moves, n):
		case row.State == recorded.Sent:
			o.Waiting = append(o.Waiting, n)
		case row.State != recorded.Planned:
			o.Failing = append(o.Failing, recorded.Failing{Number: n, State: row.State, Why: c.why})
		case c.state != recorded.Planned && c.state != "":
			o.Failing = append(o.Failing, recorded.Failing{Number: n, State: c.state, Why: c.why})
		default:
			o.Unsent = append(o.Unsent, n)
		}
	}
}

// fault returns why the transactions cannot be sent now; "" if they can.
func (s *Sender) fault(ctx context.Context, v *survey, o Outlook) (string, error) {
	p := s.record.Plan
	if len(o.send) == 0 {
		return "", nil
	}
	if fault, err := s.sendFault(ctx, v); fault != "" || err != nil {
		return fault, err
	}
	fees, err := s.evm.Quorum.Fees(ctx)
	if err != nil {
		return "", fmt.Errorf("read the fees of %s: %w", p.Network.Name, err)
	}
	carried := new(big.Int)
	for _, one := range o.send {
		if one.FeeCap.Cmp(fees.Base) < 0 {
			return fmt.Sprintf("the network asks %s per million gas, and the plan allows %s: wait for lower fees, or make a new plan",
				p.CoinText(millionGas(fees.Base)), p.CoinText(millionGas(one.FeeCap))), nil
		}
		if one.isPayers() {
			carried.Add(carried, one.MaxFee())
			carried.Add(carried, one.Value)
		}
	}
	if p.Payer == nil || carried.Sign() == 0 {
		return "", nil
	}
	first := o.send[slices.IndexFunc(o.send, step.isPayers)]
	if next := v.nonces[p.Payer.Address]; next != first.Nonce {
		return fmt.Sprintf("the next transaction of the payer has the number %d, and the plan begins with %d: make a new plan", next, first.Nonce), nil
	}
	if coins := v.balances[p.Payer.Address]; coins.Cmp(carried) < 0 {
		return errPayer(p.Payer.Address, p.CoinText(coins), p.CoinText(carried)).Error(), nil
	}
	return "", nil
}

// sendFault returns why nothing of the plan can be sent now; "" if there is no such reason.
func (s *Sender) sendFault(ctx context.Context, v *survey) (string, error) {
	if fault := s.timeFault(v); fault != "" {
		return fault, nil
	}
	accounts := map[string]evm.Address{"destination": s.record.Plan.To}
	if s.record.Plan.Payer != nil {
		accounts["payer"] = s.record.Plan.Payer.Address
	}
	for name, account := range accounts {
		isDestination, err := s.storage.IsDestination(ctx, script(account))
		if err != nil {
			return "", err
		}
		if isDestination {
			return fmt.Sprintf("the %s %s is an address for an invoice since the plan was made: make a new plan with another one", name, account), nil
		}
	}
	return "", nil
}

// timeFault returns that the plan was stopped or is over; "" if it is neither.
func (s *Sender) timeFault(v *survey) string {
	p := s.record.Plan
	if !s.record.StoppedAt.IsZero() {
		return fmt.Sprintf("the plan %s was stopped", p.ID)
	}
	if s.isAfter(v, plan.EndMargin) {
		return fmt.Sprintf("the plan %s is valid until %s: nothing is sent in its last two minutes or after its end", p.ID, p.Until())
	}
	return ""
}

// maxAge is the time after which an Outlook is not sent any more.
const maxAge = 5 * time.Minute

// ageFault returns why an Outlook that could be sent when the network was read cannot be sent now; "" if it can.
func (s *Sender) ageFault(o Outlook) string {
	if fault := s.timeFault(&survey{}); fault != "" {
		return fault
	}
	if age := s.now().Sub(o.at); age < 0 || age > maxAge {
		return "the network was read too long ago: say the command again"
	}
	return ""
}

// millionGas returns the price of a million gas.
func millionGas(perGas *big.Int) *big.Int { return new(big.Int).Mul(perGas, big.NewInt(1_000_000)) }

// Submit gives the transactions of an Outlook to the network. It records each before it is sent, so that a process that continues
// after this one ended knows it. It must hold the lease. One of its errors is a *RefusedError.
func (s *Sender) Submit(ctx context.Context, o Outlook) error {
	if o.Fault == "" && len(o.send) > 0 {
		o.Fault = s.ageFault(o)
	}
	if o.Fault != "" {
		return fmt.Errorf("nothing is sent: %s", o.Fault)
	}
	if err := s.save(ctx, s.failedRows(o)); err != nil || len(o.send) == 0 {
		return err
	}
	if err := s.storage.RecordSweepSent(ctx, s.record.MerchantID, s.record.Plan.ID, len(o.send)); err != nil {
		return err
	}
	err := each(o.send, func(one step) error { return s.submit(ctx, one) })
	s.refused, _ = errors.AsType[*RefusedError](err)
	return err
}

// RefusedError means that the endpoints refuse transactions. All others were given to the network, except those of the payer after one of its
// own that is refused, because their nonces follow.
type RefusedError struct {
	First error // of the first transaction that is refused
	Count int   // of refused transactions
}

// Error implements error.
func (e *RefusedError) Error() string {
	if e.Count == 1 {
		return e.First.Error()
	}
	return fmt.Sprintf("%s; %d more are refused", e.First, e.Count-1)
}

// Unwrap returns the first error.
func (e *RefusedError) Unwrap() error { return e.First }

// each calls do for transactions. It returns a *RefusedError if do does for some, and ends at any other error.
func each(steps []step, do func(step) error) error {
	var refused *RefusedError
	isPayerRefused := false
	for _, one := range steps {
		if isPayerRefused && one.isPayers() {
			continue
		}
		err := do(one)
		if r, isRefused := errors.AsType[*RefusedError](err); isRefused {
			isPayerRefused = isPayerRefused || one.isPayers()
			if refused == nil {
				refused = &RefusedError{First: r.First}
			}
			refused.Count++
			continue
		}
		if err != nil {
			return err
		}
	}
	if refused != nil {
		return refused
	}
	return nil
}

// failedRows returns the states of open rows that no transaction of the Outlook carries and that the network shows to fail.
func (s *Sender) failedRows(o Outlook) (changes []recorded.Change) {
	for _, f := range o.Failing {
		carries := func(one step) bool { return slices.Contains(one.rows, f.Number) }
		if s.record.Rows[f.Number-1].State == recorded.Planned && f.State != recorded.Expired && !slices.ContainsFunc(o.send, carries) {
			changes = append(changes, s.row(f.Number, f.State, ""))
		}
	}
	return changes
}

// submit records and sends one transaction.
func (s *Sender) submit(ctx context.Context, one step) error {
	if err := s.renew(ctx); err != nil {
		return err
	}
	var changes []recorded.Change
	for _, n := range one.rows {
		if state := s.record.Rows[n-1].State; state != recorded.Moved {
			changes = append(changes, s.row(n, recorded.Sent, one.hash.String()))
		}
	}
	if err := s.save(ctx, changes); err != nil {
		return err
	}
	if !s.record.StoppedAt.IsZero() {
		return recorded.ErrStopped
	}
	return s.give(ctx, one)
}

// give gives a transaction to the network. That its nonce is used is no error, because Settle finds the transaction that used it.
func (s *Sender) give(ctx context.Context, one step) error {
	err := s.evm.Quorum.Submit(ctx, one.raw)
	if err == nil || errors.Is(err, quorum.ErrNonceUsed) {
		return nil
	}
	err = fmt.Errorf("send %s: %w", one.hash, err)
	if errors.Is(err, quorum.ErrRefused) {
		return &RefusedError{First: err, Count: 1}
	}
	return err
}

// repeatInterval is the time after which transactions that are in no block are sent again, because nodes forget them.
const repeatInterval = time.Minute

// Wait settles the plan until all rows that were sent have a final state, or until a time has passed, and calls report with the number of
// rows without one when it changes. It must hold the lease.
func (s *Sender) Wait(ctx context.Context, wait time.Duration, report func(waiting int)) error {
	deadline, repeatAt, last := s.now().Add(wait), s.now().Add(repeatInterval), -1
	for {
		if err := s.renew(ctx); err != nil {
			return err
		}
		v, err := s.settle(ctx)
		if err != nil {
			return err
		}
		waiting := s.record.Count(recorded.Sent)
		if waiting != last {
			report(waiting)
			last = waiting
		}
		if waiting == 0 {
			return nil
		}
		if s.now().After(deadline) {
			if s.refused != nil {
				return s.refused
			}
			return nil
		}
		if err := s.submitFunded(ctx, v); err != nil && !errors.As(err, &s.refused) {
			return err
		}
		if s.now().After(repeatAt) {
			repeatAt = s.now().Add(repeatInterval)
			s.refused = nil
			if err := s.repeat(ctx, v); err != nil && !errors.As(err, &s.refused) {
				return err
			}
		}
		if !clock.Sleep(ctx, s.poll()) {
			return ctx.Err()
		}
	}
}

// submitFunded sends the transactions of addresses that the payer has funded, unless the plan was stopped or is over.
func (s *Sender) submitFunded(ctx context.Context, v *survey) error {
	if fault, err := s.sendFault(ctx, v); fault != "" || err != nil {
		return err
	}
	return each(s.openSteps(v), func(one step) error {
		n := one.rows[0]
		row, c := s.record.Rows[n-1], v.rows[n-1]
		isReady := one.kind == moving && row.State == recorded.Sent && s.isFunding(row.Tx) && c.state == recorded.Planned && !c.awaitsFunding
		if !isReady {
			return nil
		}
		return s.submit(ctx, one)
	})
}

// poll returns the time between two reads of the network.
func (s *Sender) poll() time.Duration { return max(s.evm.Quorum.Poll, pollInterval) }

// repeat sends the transactions of sent rows again that are in no block, unless the plan was stopped or is over.
func (s *Sender) repeat(ctx context.Context, v *survey) error {
	if s.timeFault(v) != "" {
		return nil
	}
	return each(s.openSteps(v), func(one step) error {
		isSent := func(n int) bool {
			row, awaits := s.record.Rows[n-1], v.rows[n-1].awaitsFunding
			if row.State != recorded.Sent {
				return false
			}
			if one.kind == funding && s.isLateToFund(v) {
				return false
			}
			return row.Tx == one.hash.String() && (one.kind != moving || !awaits) || one.kind == funding && awaits
		}
		if !slices.ContainsFunc(one.rows, isSent) {
			return nil
		}
		return s.give(ctx, one)
	})
}

// HasPayer reports whether the signed file has the transactions of a payer.
func (s *Sender) HasPayer() bool { return len(s.signed.Payer) > 0 }

// After returns the Outlook of a recorded plan without reading the network: the rows that are not moved, by their recorded states.
func After(r recorded.Sweep) Outlook {
	o := Outlook{Fee: new(big.Int)}
	for i, row := range r.Rows {
		switch row.State {
		case recorded.Moved:
		case recorded.Planned:
			o.Unsent = append(o.Unsent, i+1)
		case recorded.Sent:
			o.Waiting = append(o.Waiting, i+1)
		default:
			o.Failing = append(o.Failing, recorded.Failing{Number: i + 1, State: row.State})
		}
	}
	return o
}
