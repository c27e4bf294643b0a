package node

import (
	"bytes"
	"chequer/internal/format"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Codes of Bitcoin Core's rpc/protocol.h.
const (
	codeMisc     = -1     // pruned data; in btcd also a height out of range
	codeNotFound = -5     // no such block or transaction
	codeRange    = -8     // no such height
	codeWarmUp   = -28    // the node is starting
	codeMethod   = -32601 // no such method
)

// refusal is an error object in a node's answer.
type refusal struct {
	Code    int
	Message string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s (%d)", format.OneLine(r.Message, maxQuoted), r.Code)
}

// hasCode reports whether a node answered with one of these error codes.
func hasCode(err error, codes ...int) bool {
	var r *refusal
	return errors.As(err, &r) && slices.Contains(codes, r.Code)
}

// isUnknownMethod reports whether a node does not have a method. btcd reports it in the message.
func isUnknownMethod(err error) bool {
	return hasCode(err, codeMethod) || hasCode(err, codeMisc) && strings.Contains(err.Error(), "unimplemented")
}

// request is one call in a batch, and its outcome.
type request struct {
	method string
	params []any
	result any // pointer to the result
	err    error
}

func newRequest(result any, method string, params ...any) *request {
	return &request{method: method, params: append([]any{}, params...), result: result}
}

// firstError returns the first error of some calls.
func firstError(requests ...*request) error {
	for _, r := range requests {
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// call calls one method.
func (c *client) call(ctx context.Context, result any, method string, params ...any) error {
	r := newRequest(result, method, params...)
	if err := c.sendBatch(ctx, r); err != nil {
		return err
	}
	return r.err
}

// sendBatch sends a batch of calls. The returned error concerns the whole batch; each request also
// has its own error.
func (c *client) sendBatch(ctx context.Context, requests ...*request) error {
	type call struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  []any  `json:"params"`
	}
	calls := make([]call, len(requests))
	for i, r := range requests {
		calls[i] = call{"2.0", i, r.method, r.params}
	}
	body, err := json.Marshal(calls)
	if err != nil {
		return err
	}
	answer, err := c.post(ctx, body)
	if err != nil {
		return fmt.Errorf("%s: %w", requests[0].method, err)
	}
	if err := assignAnswers(answer, requests); err != nil {
		return fmt.Errorf("%s: %w", requests[0].method, err)
	}
	return nil
}

// assignAnswers sets the result or the error of each request of a batch.
func assignAnswers(body []byte, requests []*request) error {
	type answer struct {
		ID     *int
		Result json.RawMessage
		Error  *refusal
	}
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("{")) { // the whole batch was refused
		var single answer
		if err := json.Unmarshal(body, &single); err == nil && single.Error != nil {
			return single.Error
		}
	}
	var answers []answer
	if err := json.Unmarshal(body, &answers); err != nil {
		return fmt.Errorf("answer is not JSON-RPC: %s", format.OneLine(string(body), maxQuoted))
	}
	if len(answers) != len(requests) {
		return fmt.Errorf("%d answers to %d calls", len(answers), len(requests))
	}
	answered := make([]bool, len(requests))
	for _, a := range answers {
		if a.ID == nil || *a.ID < 0 || *a.ID >= len(requests) || answered[*a.ID] {
			return errors.New("answer with an unknown or repeated ID")
		}
		answered[*a.ID] = true
		r := requests[*a.ID]
		switch {
		case a.Error != nil && a.Error.Code == codeWarmUp:
			return fmt.Errorf("node is still starting: %w", a.Error)
		case a.Error != nil:
			r.err = fmt.Errorf("%s: %w", r.method, a.Error)
		case len(a.Result) == 0 || string(a.Result) == "null":
			r.err = fmt.Errorf("%s: empty result", r.method)
		default:
			if err := json.Unmarshal(a.Result, r.result); err != nil {
				r.err = fmt.Errorf("%s: unexpected result: %s", r.method, format.OneLine(err.Error(), maxQuoted))
			}
		}
	}
	return nil
}
