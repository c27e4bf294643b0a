package quorum

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"chequer/internal/chain/ethereum"
	"chequer/internal/keys"
)

var _ ethereum.BalanceSource = (*Quorum)(nil)

// QueryableByAddress implements ethereum.BalanceSource.
func (q *Quorum) QueryableByAddress() bool {
	return q.AddressQueries || slices.ContainsFunc(q.endpoints, func(e *endpoint) bool { return e.Trusted })
}

// Balances implements ethereum.BalanceSource.
func (q *Quorum) Balances(ctx context.Context, header ethereum.Header, accounts []keys.EthereumAddress) ([]*big.Int, error) {
	return q.numbers(ctx, header, len(accounts), func(i int) call {
		return call{"eth_getBalance", []any{accounts[i].String(), blockParam(header)}}
	})
}

// Nonces implements ethereum.BalanceSource.
func (q *Quorum) Nonces(ctx context.Context, header ethereum.Header, accounts []keys.EthereumAddress) ([]uint64, error) {
	numbers, err := q.numbers(ctx, header, len(accounts), func(i int) call {
		return call{"eth_getTransactionCount", []any{accounts[i].String(), blockParam(header)}}
	})
	if err != nil {
		return nil, err
	}
	nonces := make([]uint64, len(numbers))
	for i, n := range numbers {
		if nonces[i] = n.Uint64(); !n.IsUint64() {
			return nil, errFormat
		}
	}
	return nonces, nil
}

// Tokens implements ethereum.BalanceSource.
func (q *Quorum) Tokens(ctx context.Context, header ethereum.Header, contract keys.EthereumAddress, accounts []keys.EthereumAddress) ([]*big.Int, error) {
	const balanceOf = "0x70a08231" + "000000000000000000000000"
	return q.numbers(ctx, header, len(accounts), func(i int) call {
		callObject := map[string]any{"to": contract.String(), "data": balanceOf + hex.EncodeToString(accounts[i][:])}
		return call{"eth_call", []any{callObject, blockParam(header)}}
	})
}

// blockParam identifies a block by its hash, so that the answer cannot be about another block. See
// EIP-1898.
func blockParam(header ethereum.Header) map[string]any {
	return map[string]any{"blockHash": header.Hash, "requireCanonical": true}
}

// numbers returns the answers to calls about the state of a block that enough endpoints agree
// on. newCall returns the call with an index below count.
func (q *Quorum) numbers(ctx context.Context, header ethereum.Header, count int, newCall func(int) call) ([]*big.Int, error) {
	calls := make([]call, count)
	for i := range calls {
		calls[i] = newCall(i)
	}
	values, err := q.values(ctx, header, calls, (*endpoint).numbers)
	if err != nil {
		return nil, err
	}
	numbers := make([]*big.Int, len(values))
	for i, value := range values {
		numbers[i], _ = new(big.Int).SetString(value, 16)
	}
	return numbers, nil
}

// values returns the answers to calls about the state of a block that enough endpoints agree on. read returns the
// answers of one endpoint in a form in which equal answers are equal texts, none of them empty.
func (q *Quorum) values(ctx context.Context, header ethereum.Header, calls []call, read func(*endpoint, context.Context, []call) ([]string, error)) ([]string, error) {
	if !q.ByAddress() {
		return nil, errors.New("none of the endpoints that answer may be queried by address")
	}
	votes := make([]map[string]uint64, len(calls))
	for i := range votes {
		votes[i] = map[string]uint64{}
	}
	var mu sync.Mutex
	var pruned uint64 // operators of endpoints without the state
	decided := func(uint64) bool {
		mu.Lock()
		defer mu.Unlock()
		return !slices.ContainsFunc(votes, func(v map[string]uint64) bool { return q.elected(v) == "" })
	}
	askEach(ctx, q.panel, decided, func(ctx context.Context, e *endpoint) bool {
		values, err := read(e, ctx, calls)
		mu.Lock()
		defer mu.Unlock()
		if errors.Is(err, ethereum.ErrNoState) {
			pruned |= e.operatorBit
		}
		for i, v := range values {
			votes[i][v] |= e.operatorBit
		}
		return err == nil
	})
	return q.agreedValues(header, calls, votes, pruned)
}

// elected returns the answer that enough operators gave, "" if there is none or more than one.
func (q *Quorum) elected(votes map[string]uint64) string {
	elected := ""
	for value, operators := range votes {
		if !q.isEnough(operators) {
			continue
		}
		if elected != "" {
			return ""
		}
		elected = value
	}
	return elected
}

// agreedValues returns the values that enough endpoints agree on, or ethereum.ErrNoState if too few endpoints have
// the state.
func (q *Quorum) agreedValues(header ethereum.Header, calls []call, votes []map[string]uint64, pruned uint64) ([]string, error) {
	values := make([]string, len(votes))
	for i, v := range votes {
		value := q.elected(v)
		switch {
		case value != "":
			values[i] = value
			q.noteDeniedAnswers(header, calls[i].method, v, value)
		case len(v) > 1:
			return nil, fmt.Errorf("the endpoints do not agree on %s in block %d, %s", calls[i].method, header.Height, header.Hash)
		case pruned != 0 && !q.isEnough(operatorsOf(q.panel)&^pruned):
			return nil, ethereum.ErrNoState
		default:
			return nil, q.tooFew(fmt.Sprintf("answer %s for block %d", calls[i].method, header.Height))
		}
	}
	return values, nil
}

// noteDeniedAnswers records the answers that differ from the elected answer as denied.
func (q *Quorum) noteDeniedAnswers(header ethereum.Header, method string, votes map[string]uint64, elected string) {
	for value, operators := range votes {
		if value == elected {
			continue
		}
		for _, e := range q.endpoints {
			if e.operatorBit&operators != 0 {
				e.noteDenied(fmt.Sprintf("%s in block %d", method, header.Height))
				q.Log.Warn("endpoint gives an answer that others deny", "network", q.Network, "endpoint", e.name, "method", method, "block", header.Height)
			}
		}
	}
}

// numbers asks for numbers in the state of a block, and returns them in hex without leading
// zeros. It returns ethereum.ErrNoState if that state is pruned.
func (e *endpoint) numbers(ctx context.Context, calls []call) ([]string, error) {
	answers, err := e.ask(ctx, calls...)
	if err != nil {
		return nil, err
	}
	values := make([]string, len(answers))
	for i, a := range answers {
		if a.err != nil {
			if isNoState(a.err) {
				return nil, ethereum.ErrNoState
			}
			e.noteFault(a.err.Error())
			return nil, a.err
		}
		if calls[i].method == "eth_call" && string(a.result) == `"0x"` { // there is no such contract
			values[i] = "0"
			continue
		}
		if values[i], err = parseNumber(a.result); err != nil {
			e.noteFailure(err)
			return nil, err
		}
	}
	return values, nil
}

// parseNumber parses a number of up to 32 bytes, as a quantity or as a word of a contract.
func parseNumber(result json.RawMessage) (string, error) {
	var text string
	if err := json.Unmarshal(result, &text); err != nil {
		return "", errFormat
	}
	digits, ok := strings.CutPrefix(text, "0x")
	n, isNumber := new(big.Int).SetString(digits, 16)
	if !ok || !isNumber || n.Sign() < 0 || len(digits) > 64 {
		return "", errFormat
	}
	return n.Text(16), nil
}

// isNoState reports whether an error means that the state of a block is pruned. There is no code
// for it, so the messages of geth, Erigon, Nethermind, Besu, reth and their forks decide.
func isNoState(e *rpcError) bool {
	return mentions(e, "missing trie node", "state is not available", "state not available", "no state available", "state unavailable",
		"historical state", "state histories", "pruned", "pruning", "archive", "world state", "state at block", "proof window")
}

// isNoBlock reports whether an error means that an endpoint does not have a block, or has it
// outside the best chain.
func isNoBlock(e *rpcError) bool {
	return mentions(e, "header not found", "header for hash not found", "block not found", "unknown block", "not canonical", "not currently canonical")
}

func mentions(e *rpcError, phrases ...string) bool {
	text := strings.ToLower(e.Message)
	return slices.ContainsFunc(phrases, func(words string) bool { return strings.Contains(text, words) })
}

// Payments implements ethereum.BalanceSource.
func (q *Quorum) Payments(ctx context.Context, header ethereum.Header, to []keys.EthereumAddress) ([]ethereum.Payment, error) {
	agreed, isEnough := agreedBy(ctx, q, func(ctx context.Context, e *endpoint) ([]ethereum.Payment, error) { return e.payments(ctx, header, to) })
	if !isEnough {
		return nil, q.tooFew(fmt.Sprintf("show block %d", header.Height))
	}
	return agreed, nil
}

// agreedBy asks the endpoints of the panel for items, and returns those that enough operators show, in any order. It returns false if too
// few answer.
func agreedBy[T comparable](ctx context.Context, q *Quorum, ask func(context.Context, *endpoint) ([]T, error)) (agreed []T, isEnough bool) {
	var mu sync.Mutex
	votes := map[T]uint64{}
	answered := askEach(ctx, q.panel, q.isEnough, func(ctx context.Context, e *endpoint) bool {
		found, err := ask(ctx, e)
		mu.Lock()
		defer mu.Unlock()
		for _, item := range found {
			votes[item] |= e.operatorBit
		}
		return err == nil
	})
	if !q.isEnough(operatorsOf(answered)) {
		return nil, false
	}
	for item, operators := range votes {
		if q.isEnough(operators) {
			agreed = append(agreed, item)
		}
	}
	return agreed, true
}

// payments returns the successful transactions of a block that sent an amount to the given
// accounts.
func (e *endpoint) payments(ctx context.Context, header ethereum.Header, to []keys.EthereumAddress) ([]ethereum.Payment, error) {
	answers, err := e.ask(ctx, call{"eth_getBlockByHash", []any{header.Hash, true}})
	if err != nil {
		return nil, err
	}
	if answers[0].err != nil {
		return nil, answers[0].err
	}
	claims, err := parsePayments(answers[0].result, to)
	if err != nil || len(claims) == 0 {
		return nil, err
	}
	var calls []call
	for _, p := range claims {
		calls = append(calls, call{"eth_getTransactionReceipt", []any{p.Tx.String()}})
	}
	if answers, err = e.ask(ctx, calls...); err != nil {
		return nil, err
	}
	var found []ethereum.Payment
	for i, p := range claims {
		if answers[i].err != nil {
			return nil, answers[i].err
		}
		r, err := parseReceipt(answers[i].result)
		if err != nil {
			return nil, err
		}
		if r != nil && r.Status == "0x1" && strings.EqualFold(r.BlockHash, header.Hash) {
			found = append(found, p)
		}
	}
	return found, nil
}

// parsePayments parses the transactions of a block that send an amount to the given accounts.
func parsePayments(result json.RawMessage, to []keys.EthereumAddress) ([]ethereum.Payment, error) {
	var block *struct {
		Transactions []struct{ Hash, To, Value string }
	}
	if err := json.Unmarshal(result, &block); err != nil || block == nil {
		return nil, errFormat
	}
	var found []ethereum.Payment
	for _, t := range block.Transactions {
		raw, err := hex.DecodeString(strings.TrimPrefix(t.To, "0x"))
		if err != nil || len(raw) != len(keys.EthereumAddress{}) || !slices.Contains(to, keys.EthereumAddress(raw)) {
			continue
		}
		p := ethereum.Payment{To: keys.EthereumAddress(raw)}
		hash, isHash := ethereum.ParseHash(t.Hash)
		value, isNumber := new(big.Int).SetString(strings.TrimPrefix(t.Value, "0x"), 16)
		if !isHash || !isNumber || value.Sign() < 0 || value.BitLen() > 256 {
			return nil, errFormat
		}
		if p.Tx = hash; value.Sign() > 0 {
			value.FillBytes(p.Amount[:])
			found = append(found, p)
		}
	}
	return found, nil
}
