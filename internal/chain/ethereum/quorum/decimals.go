package quorum

import (
	"context"
	"fmt"
	"sync"

	"chequer/internal/chain/ethereum"
	"chequer/internal/keys"
)

var _ ethereum.TokenSource = (*Quorum)(nil)

// noDecimals is the answer for a contract that does not return its decimals, or does not exist.
const noDecimals = "-"

// Decimals implements ethereum.TokenSource. See EIP-20, "decimals". The call contains no
// address of a destination.
func (q *Quorum) Decimals(ctx context.Context, header ethereum.Header, contract keys.EthereumAddress) (decimals int, known bool, err error) {
	var mu sync.Mutex
	votes := map[string]uint64{}
	decided := func(uint64) bool {
		mu.Lock()
		defer mu.Unlock()
		return q.elected(votes) != ""
	}
	askEach(ctx, q.panel, decided, func(ctx context.Context, e *endpoint) bool {
		value, err := e.decimals(ctx, header, contract)
		if err != nil {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		votes[value] |= e.operatorBit
		return true
	})
	value := q.elected(votes)
	switch {
	case value == "" && len(votes) > 1:
		return 0, false, fmt.Errorf("the endpoints do not agree on the decimals of %s", contract)
	case value == "":
		return 0, false, q.tooFew(fmt.Sprintf("answer for the decimals of %s", contract))
	case value == noDecimals:
		return 0, false, nil
	}
	if _, err := fmt.Sscanf(value, "%x", &decimals); err != nil || len(value) > 2 {
		return 0, false, nil // not a number of decimals, which is a uint8
	}
	return decimals, true, nil
}

// decimals returns the decimals of a contract as a hexadecimal number without a prefix, or noDecimals.
func (e *endpoint) decimals(ctx context.Context, header ethereum.Header, contract keys.EthereumAddress) (string, error) {
	const selector = "0x313ce567" // of decimals()
	answers, err := e.ask(ctx, call{"eth_call", []any{map[string]any{"to": contract.String(), "data": selector}, blockParam(header)}})
	if err != nil {
		return "", err
	}
	a := answers[0]
	switch {
	case a.err != nil && (isNoState(a.err) || isNoBlock(a.err)):
		return "", a.err
	case a.err != nil || string(a.result) == `"0x"`:
		return noDecimals, nil
	}
	value, err := parseNumber(a.result)
	if err != nil {
		e.noteFailure(err)
	}
	return value, err
}
