package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Codes of Bitcoin Core's rpc/protocol.h.
const (
	codeMisc     = -1  // pruned data; in btcd also a height out of range
	codeNotFound = -5  // no such block or transaction
	codeRange    = -8  // no such height
	codeWarmUp   = -28 // the node is starting
	codeMethod   = -32601
)

// refusal is an error that a node answers with.
type refusal struct {
	Code    int
	Message string
}

func (r *refusal) Error() string { return fmt.Sprintf("%s (%d)", words(r.Message), r.Code) }

// refused tells whether a node answered with an error of these codes.
func refused(err error, codes ...int) bool {
	var r *refusal
	return errors.As(err, &r) && slices.Contains(codes, r.Code)
}

// unknown tells whether a node has no such method. btcd says so in words.
func unknown(err error) bool {
	return refused(err, codeMethod) || refused(err, codeMisc) && strings.Contains(err.Error(), "unimplemented")
}

// request is one call in a batch, and its outcome.
type request struct {
	method string
	params []any
	result any // a pointer
	err    error
}

func ask(result any, method string, params ...any) *request {
	return &request{method: method, params: append([]any{}, params...), result: result}
}

// firstError is the first error of some calls.
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
	r := ask(result, method, params...)
	if err := c.do(ctx, r); err != nil {
		return err
	}
	return r.err
}

// do makes a batch of calls. The error is what befell them all; each has its own
// besides.
func (c *client) do(ctx context.Context, requests ...*request) error {
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
	if err := deal(answer, requests); err != nil {
		return fmt.Errorf("%s: %w", requests[0].method, err)
	}
	return nil
}

// deal gives each request of a batch its answer.
func deal(body []byte, requests []*request) error {
	type answer struct {
		ID     *int
		Result json.RawMessage
		Error  *refusal
	}
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("{")) { // the batch as a whole was refused
		var one answer
		if err := json.Unmarshal(body, &one); err == nil && one.Error != nil {
			return one.Error
		}
	}
	var answers []answer
	if err := json.Unmarshal(body, &answers); err != nil {
		return fmt.Errorf("it answers what is no JSON-RPC: %s", words(string(body[:min(len(body), 200)])))
	}
	if len(answers) != len(requests) {
		return fmt.Errorf("it gives %d answers to %d calls", len(answers), len(requests))
	}
	answered := make([]bool, len(requests))
	for _, a := range answers {
		if a.ID == nil || *a.ID < 0 || *a.ID >= len(requests) || answered[*a.ID] {
			return errors.New("it answers what was not asked")
		}
		answered[*a.ID] = true
		r := requests[*a.ID]
		switch {
		case a.Error != nil && a.Error.Code == codeWarmUp:
			return fmt.Errorf("it is still starting: %w", a.Error)
		case a.Error != nil:
			r.err = fmt.Errorf("%s: %w", r.method, a.Error)
		case len(a.Result) == 0 || string(a.Result) == "null":
			r.err = fmt.Errorf("%s: it answers nothing", r.method)
		default:
			if err := json.Unmarshal(a.Result, r.result); err != nil {
				r.err = fmt.Errorf("%s: it answers something else: %s", r.method, words(err.Error()))
			}
		}
	}
	return nil
}

// words makes what a stranger said fit for one line.
func words(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if runes := []rune(text); len(runes) > 120 {
		text = string(runes[:120]) + "…"
	}
	return text
}
