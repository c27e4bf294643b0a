package quorum

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"chequer/internal/chain/ethereum"
	"chequer/internal/evm"
)

// failedCall is the answer for a call that a contract refuses.
const failedCall = "-"

// Results returns what contracts return to calls in the state after a block, in the order of the calls. The result is nil if
// the contract refuses the call, and empty if there is no contract. See the Ethereum execution APIs, "eth_call".
func (q *Quorum) Results(ctx context.Context, header ethereum.Header, calls []evm.Call) ([][]byte, error) {
	list := make([]call, len(calls))
	for i, c := range calls {
		callObject := map[string]any{"to": c.To.String(), "data": hexText(c.Data)}
		list[i] = call{"eth_call", []any{callObject, blockParam(header)}}
	}
	return q.contents(ctx, header, list)
}

// Codes returns the codes of accounts in the state after a block; empty for accounts that are no contracts.
func (q *Quorum) Codes(ctx context.Context, header ethereum.Header, accounts []evm.Address) ([][]byte, error) {
	list := make([]call, len(accounts))
	for i, a := range accounts {
		list[i] = call{"eth_getCode", []any{a.String(), blockParam(header)}}
	}
	return q.contents(ctx, header, list)
}

// contents returns the bytes that enough endpoints answer to calls; nil for a call that a contract refuses.
func (q *Quorum) contents(ctx context.Context, header ethereum.Header, calls []call) ([][]byte, error) {
	values, err := q.values(ctx, header, calls, (*endpoint).contents)
	if err != nil {
		return nil, err
	}
	contents := make([][]byte, len(values))
	for i, value := range values {
		if value == failedCall {
			continue
		}
		if contents[i], err = hex.DecodeString(strings.TrimPrefix(value, "0x")); err != nil {
			return nil, errFormat
		}
	}
	return contents, nil
}

// contents asks for bytes in the state of a block, and returns them as 0x and hex digits in lower case, or failedCall. It
// returns ethereum.ErrNoState if that state is pruned.
func (e *endpoint) contents(ctx context.Context, calls []call) ([]string, error) {
	answers, err := e.ask(ctx, calls...)
	if err != nil {
		return nil, err
	}
	values := make([]string, len(answers))
	for i, a := range answers {
		switch {
		case a.err != nil && isNoState(a.err):
			return nil, ethereum.ErrNoState
		case a.err != nil && isReverted(a.err):
			values[i] = failedCall
			continue
		case a.err != nil:
			e.noteFault(a.err.Error())
			return nil, a.err
		}
		if values[i], err = parseContent(a.result); err != nil {
			e.noteFailure(err)
			return nil, err
		}
	}
	return values, nil
}

// parseContent parses bytes of JSON-RPC, and returns them as 0x and hex digits in lower case.
func parseContent(result json.RawMessage) (string, error) {
	var text string
	if err := json.Unmarshal(result, &text); err != nil {
		return "", errFormat
	}
	digits, ok := strings.CutPrefix(strings.ToLower(text), "0x")
	if _, err := hex.DecodeString(digits); !ok || err != nil {
		return "", errFormat
	}
	return "0x" + digits, nil
}

// isReverted reports whether an error means that a transaction would fail on the network. Code 3 is that of geth; the messages
// are those of geth, Erigon, Nethermind, Besu, reth and anvil.
func isReverted(e *rpcError) bool {
	return e.Code == 3 || mentions(e, "revert", "invalid opcode", "bad instruction", "bad jump", "stack underflow", "vm execution error",
		"out of gas", "gas required exceeds", "insufficient funds", "outofgas", "evm error")
}

// hexText returns 0x and the hex digits of bytes.
func hexText(b []byte) string { return "0x" + hex.EncodeToString(b) }

// noAnswer returns the error that too few endpoints answer a method about the newest block.
func (q *Quorum) noAnswer(method string) error { return q.tooFew(fmt.Sprintf("answer %s", method)) }
