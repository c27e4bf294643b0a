package sweep

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/evm"
	"chequer/internal/sweep/recorded"
)

// carriers returns transactions that carry the open rows which the network would move, and sets the conditions of the others. Any account
// can send them, because an authorization names its destination, and not its sender.
func (s *Sender) carriers(ctx context.Context, v *survey) ([]recorded.Carrier, error) {
	var open []int
	for i := range s.record.Rows {
		if n := i + 1; s.isOpen(n) && !v.rows[i].used && v.rows[i].state == recorded.Planned {
			open = append(open, n)
		}
	}
	var waiting [][]int
	for rows := range slices.Chunk(open, carriedRows) {
		moved, err := s.try(ctx, v, rows, 0)
		if err != nil {
			return nil, err
		}
		if len(moved) > 0 {
			waiting = append(waiting, moved)
		}
	}
	var list []recorded.Carrier
	for len(waiting) > 0 {
		rows := waiting[0]
		waiting = waiting[1:]
		c, fits, err := s.compose(ctx, v, rows)
		switch middle := len(rows) / 2; {
		case err != nil:
			return nil, err
		case fits && len(c.Rows) > 0:
			list = append(list, c)
		case fits: // no row is left
		case middle == 0:
			s.refuse(v, rows[0])
		default:
			waiting = slices.Concat([][]int{rows[:middle], rows[middle:]}, waiting)
		}
	}
	return list, s.priceCarriers(ctx, v, list)
}

// call returns the call of the token that moves a row.
func (s *Sender) call(n int) evm.Call { return s.record.Plan.Call(n, s.signed.Rows[n-1].Signature) }

// calls returns the calls that move rows.
func (s *Sender) calls(rows []int) []evm.Call {
	list := make([]evm.Call, len(rows))
	for i, n := range rows {
		list[i] = s.call(n)
	}
	return list
}

// refuse records in v that the contract refuses a row.
func (s *Sender) refuse(v *survey, n int) {
	v.rows[n-1].state, v.rows[n-1].why = recorded.Refused, reasonContract
}

// message returns a call of Multicall3 for a simulation. Its sender is the address of the first row, because that is no contract and the
// result is the same for every sender.
func (s *Sender) message(rows []int, data []byte, gas uint64) quorum.Message {
	return quorum.Message{From: s.record.Plan.Rows[rows[0]-1].From, To: evm.Multicall3, Data: data, Gas: gas}
}

// try simulates a carrier, and returns the rows that it moves. It records the others as refused in v. gas is the gas limit of the carrier;
// 0 means that of the endpoint.
func (s *Sender) try(ctx context.Context, v *survey, rows []int, gas uint64) (moved []int, err error) {
	results, err := s.evm.Quorum.Simulate(ctx, v.tip, []quorum.Message{s.message(rows, evm.Aggregate3(s.calls(rows)), gas)})
	if err != nil {
		return nil, fmt.Errorf("simulate the transaction of row %d: %w", rows[0], err)
	}
	if results[0] == nil && len(rows) > 1 { // more gas than an endpoint allows: simulate the halves
		for _, half := range [][]int{rows[:len(rows)/2], rows[len(rows)/2:]} {
			part, err := s.try(ctx, v, half, gas)
			if err != nil {
				return nil, err
			}
			moved = append(moved, part...)
		}
		return moved, nil
	}
	succeeded := make([]bool, len(rows))
	if results[0] != nil {
		if succeeded, err = evm.ParseAggregate3(results[0], len(rows)); err != nil {
			return nil, fmt.Errorf("simulate the transaction of row %d: %w", rows[0], err)
		}
	}
	for i, n := range rows {
		if succeeded[i] {
			moved = append(moved, n)
		} else {
			s.refuse(v, n)
		}
	}
	return moved, nil
}

// compose returns the transaction that carries rows, and reports whether it is within the limits of a transaction. It leaves out the rows
// that the transaction would not move with its limit of gas.
func (s *Sender) compose(ctx context.Context, v *survey, rows []int) (c recorded.Carrier, fits bool, err error) {
	calls := s.calls(rows)
	data := evm.Aggregate3(calls)
	if len(data) > carriedBytes {
		return c, false, nil
	}
	estimates, err := s.evm.Quorum.Estimates(ctx, []quorum.Message{s.message(rows, evm.Aggregate3Strict(calls), 0)})
	if err != nil {
		return c, false, fmt.Errorf("estimate the gas of the transaction of row %d: %w", rows[0], err)
	}
	gas := withMargin(estimates[0].Gas)
	if estimates[0].Failed || gas > s.maxGas {
		return c, false, nil
	}
	moved, err := s.try(ctx, v, rows, gas)
	if len(moved) < len(rows) {
		data = evm.Aggregate3(s.calls(moved))
	}
	return recorded.Carrier{Rows: moved, Data: data, Estimate: estimates[0].Gas, Gas: gas}, true, err
}

// priceCarriers sets the fees of transactions.
func (s *Sender) priceCarriers(ctx context.Context, v *survey, list []recorded.Carrier) error {
	if len(list) == 0 {
		return nil
	}
	network := s.record.Plan.Network
	priorityFee, maxFee, err := feesPerGas(ctx, s.evm.Quorum, network)
	if err != nil {
		return err
	}
	var raw [][]byte
	for _, c := range list {
		raw = append(raw, carrierBytes(network, priorityFee, maxFee, c.Data))
	}
	data, err := dataFees(ctx, s.evm.Quorum, v.tip, network, raw)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Fee = new(big.Int).Mul(new(big.Int).SetUint64(list[i].Gas), maxFee)
		list[i].Fee.Add(list[i].Fee, data[i])
	}
	return nil
}
