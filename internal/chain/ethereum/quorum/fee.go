package quorum

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strconv"
	"sync"

	"chequer/internal/evm"
)

// The endpoints differ in fees and in estimates, because each answers for its own newest block. So their answers are
// ordered, and the middle one counts: one endpoint alone cannot move it beyond those of others.

// Fees are the fees of transactions in the next block, in the coin's smallest units per gas. See EIP-1559.
type Fees struct {
	Base *big.Int // which the network asks
	Tip  *big.Int // usual priority fee
}

// Message is a transaction that is not signed.
type Message struct {
	From, To evm.Address
	Value    *big.Int // in the coin's smallest units; nil for none
	Data     []byte
	Gas      uint64 // limit of Simulate; 0 for that of the endpoint
}

// Estimate is the gas that a transaction needs.
type Estimate struct {
	Gas    uint64
	Failed bool // the transaction would fail
}

// feeBlocks is the number of blocks over which the usual priority fee is calculated, and feePercentile the percentile of
// the priority fees of a block, by gas.
const (
	feeBlocks     = 10
	feePercentile = 50
)

// Fees returns the fees in the next block: the lower middle of those of the operators.
func (q *Quorum) Fees(ctx context.Context) (Fees, error) {
	answers, err := collect(ctx, q, "eth_feeHistory", func(ctx context.Context, e *endpoint) (Fees, error) { return e.fees(ctx) })
	if err != nil {
		return Fees{}, err
	}
	var bases, tips []*big.Int
	for _, f := range answers {
		bases, tips = append(bases, f.Base), append(tips, f.Tip)
	}
	slices.SortFunc(bases, (*big.Int).Cmp)
	slices.SortFunc(tips, (*big.Int).Cmp)
	middle := (len(answers) - 1) / 2
	return Fees{Base: bases[middle], Tip: tips[middle]}, nil
}

// Estimates returns the gas of transactions at the newest block, each alone: the upper middle of the answers of the operators. A transaction
// fails if enough operators answer that it would fail.
func (q *Quorum) Estimates(ctx context.Context, messages []Message) ([]Estimate, error) {
	if !q.ByAddress() {
		return nil, errors.New("none of the endpoints that answer may be queried by address")
	}
	answers, err := collect(ctx, q, "eth_estimateGas", func(ctx context.Context, e *endpoint) ([]Estimate, error) { return e.estimates(ctx, messages) })
	if err != nil {
		return nil, err
	}
	estimates := make([]Estimate, len(messages))
	for i := range messages {
		var gas []uint64
		for _, a := range answers {
			if !a[i].Failed {
				gas = append(gas, a[i].Gas)
			}
		}
		if failed := len(answers) - len(gas); failed >= q.requiredOperators || len(gas) == 0 {
			estimates[i].Failed = true
			continue
		}
		slices.Sort(gas)
		estimates[i].Gas = gas[len(gas)/2]
	}
	return estimates, nil
}

// collect returns the answer of one endpoint of each operator of the panel. It returns an error if too few operators answer.
func collect[A any](ctx context.Context, q *Quorum, method string, ask func(context.Context, *endpoint) (A, error)) ([]A, error) {
	var mu sync.Mutex
	byOperator := map[uint64]A{}
	answered := askEach(ctx, q.panel, q.isEnough, func(ctx context.Context, e *endpoint) bool {
		a, err := ask(ctx, e)
		if err != nil {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		byOperator[e.operatorBit] = a
		return true
	})
	if !q.isEnough(operatorsOf(answered)) {
		return nil, q.noAnswer(method)
	}
	var answers []A
	for _, a := range byOperator {
		answers = append(answers, a)
	}
	return answers, nil
}

// fees asks for the base fee of the next block and the usual priority fee.
func (e *endpoint) fees(ctx context.Context) (Fees, error) {
	percentiles := []int{feePercentile}
	answers, err := e.ask(ctx, call{"eth_feeHistory", []any{"0x" + strconv.FormatInt(feeBlocks, 16), "latest", percentiles}},
		call{method: "eth_gasPrice"}, call{method: "eth_maxPriorityFeePerGas"})
	if err != nil {
		return Fees{}, err
	}
	price, priceErr := numberOf(answers[1])
	tip, tipErr := numberOf(answers[2])
	if history, ok := parseFeeHistory(answers[0]); ok {
		if tipErr == nil && history.Tip.Cmp(tip) < 0 {
			history.Tip = tip // of empty blocks, in which no transaction paid one
		}
		return history, nil
	}
	if priceErr != nil {
		e.noteFault(priceErr.Error())
		return Fees{}, priceErr
	}
	if tipErr != nil {
		tip = new(big.Int)
	}
	return Fees{Base: price, Tip: tip}, nil
}

// parseFeeHistory parses the answer to eth_feeHistory.
func parseFeeHistory(a answer) (Fees, bool) {
	var history struct {
		BaseFeePerGas []json.RawMessage `json:"baseFeePerGas"`
		Reward        [][]json.RawMessage
	}
	if a.err != nil || json.Unmarshal(a.result, &history) != nil || len(history.BaseFeePerGas) == 0 {
		return Fees{}, false
	}
	base, err := bigNumber(history.BaseFeePerGas[len(history.BaseFeePerGas)-1])
	if err != nil {
		return Fees{}, false
	}
	var tips []*big.Int
	for _, block := range history.Reward {
		for _, reward := range block {
			tip, err := bigNumber(reward)
			if err != nil {
				return Fees{}, false
			}
			tips = append(tips, tip)
		}
	}
	if len(tips) == 0 {
		return Fees{Base: base, Tip: new(big.Int)}, true
	}
	slices.SortFunc(tips, (*big.Int).Cmp)
	return Fees{Base: base, Tip: tips[len(tips)/2]}, true
}

// numberOf returns the number in an answer.
func numberOf(a answer) (*big.Int, error) {
	if a.err != nil {
		return nil, a.err
	}
	return bigNumber(a.result)
}

// bigNumber parses a number of up to 32 bytes.
func bigNumber(result json.RawMessage) (*big.Int, error) {
	digits, err := parseNumber(result)
	if err != nil {
		return nil, err
	}
	n, _ := new(big.Int).SetString(digits, 16)
	return n, nil
}

// maxEstimate is the largest amount of gas that an estimate may have: the limit of a block of Arbitrum, which is above those of the other
// networks. Sums of such amounts with margins have less than 64 bits.
var maxEstimate = big.NewInt(1 << 50)

// estimates asks for the gas of transactions.
func (e *endpoint) estimates(ctx context.Context, messages []Message) ([]Estimate, error) {
	calls := make([]call, len(messages))
	for i, m := range messages {
		object := map[string]any{"from": m.From.String(), "to": m.To.String(), "data": hexText(m.Data)}
		if m.Value != nil {
			object["value"] = "0x" + m.Value.Text(16)
		}
		calls[i] = call{"eth_estimateGas", []any{object}}
	}
	answers, err := e.ask(ctx, calls...)
	if err != nil {
		return nil, err
	}
	estimates := make([]Estimate, len(answers))
	for i, a := range answers {
		if a.err != nil && isReverted(a.err) {
			estimates[i].Failed = true
			continue
		}
		gas, err := numberOf(a)
		if err == nil && gas.Cmp(maxEstimate) > 0 {
			err = errFormat
		}
		if err != nil {
			e.noteFault(err.Error())
			return nil, err
		}
		estimates[i].Gas = gas.Uint64()
	}
	return estimates, nil
}
