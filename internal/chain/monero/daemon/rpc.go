package daemon

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"chequer/internal/format"
)

// Codes of core_rpc_server_error_codes.h of monerod.
const (
	codeHeight     = -2  // the chain is not that high
	codeInternal   = -5  // also an unknown hash of a block
	codeBusy       = -9  // the daemon is synchronizing
	codeRestricted = -19 // more than the restricted RPC allows
)

const (
	statusOK   = "OK"
	statusBusy = "BUSY"
	// restrictedText is in the status of a call that the restricted RPC refuses.
	restrictedText = "restricted mode"
)

// outcome is the part that the answers to all calls have.
type outcome struct {
	Status string
	// Untrusted is true if the answer is that of a bootstrap daemon.
	Untrusted bool
}

// check returns the error of an outcome.
func (o outcome) check() error {
	switch {
	case o.Untrusted:
		return ErrBootstrap
	case o.Status == statusOK:
		return nil
	case o.Status == statusBusy:
		return ErrBusy
	case strings.Contains(o.Status, restrictedText):
		return fmt.Errorf("%w: %s", ErrRestricted, format.OneLine(o.Status, maxQuoted))
	case o.Status == "":
		return fmt.Errorf("%w: no status", ErrAnswer)
	}
	return fmt.Errorf("the daemon answers: %s", format.OneLine(o.Status, maxQuoted))
}

// refusal is the error object of JSON-RPC.
type refusal struct {
	Code    int64
	Message string
}

// Error implements error.
func (r *refusal) Error() string {
	return fmt.Sprintf("the daemon answers: %s (%d)", format.OneLine(r.Message, maxQuoted), r.Code)
}

// Is reports whether the target is the error for the code.
func (r *refusal) Is(target error) bool {
	switch target {
	case ErrBusy:
		return r.Code == codeBusy
	case ErrRestricted:
		return r.Code == codeRestricted
	}
	return false
}

// hasCode reports whether the daemon answered with an error code.
func hasCode(err error, code int64) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.Code == code
}

// callID is the ID of all calls. A connection has one call at a time.
const callID = "chequer"

// call calls a method of JSON-RPC and decodes its result, an answer of at most limit bytes.
func (c *Client) call(ctx context.Context, method string, params map[string]any, limit int64, result any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": callID, "method": method, "params": params})
	if err != nil {
		return err
	}
	text, err := c.post(ctx, "/json_rpc", body, limit)
	if err != nil {
		return c.wrap(method, err)
	}
	var answer struct {
		ID     json.RawMessage
		Result json.RawMessage
		Error  *refusal
	}
	switch err := json.Unmarshal(text, &answer); {
	case err != nil:
		return c.wrap(method, notJSON(text))
	case answer.Error != nil:
		return c.wrap(method, answer.Error)
	case string(answer.ID) != `"`+callID+`"`:
		return c.wrap(method, fmt.Errorf("%w: to another call", ErrAnswer))
	}
	return c.wrap(method, decode(answer.Result, result))
}

// get calls a path and decodes its answer of at most limit bytes.
func (c *Client) get(ctx context.Context, path string, params map[string]any, limit int64, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	text, err := c.post(ctx, path, body, limit)
	if status, ok := errors.AsType[*statusError](err); ok && status.code == http.StatusNotFound {
		err = fmt.Errorf("%w: %w", ErrRestricted, err)
	}
	if err != nil {
		return c.wrap(path, err)
	}
	return c.wrap(path, decode(text, result))
}

// wrap adds the daemon and the call to an error.
func (c *Client) wrap(call string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("daemon at %s: %s: %w", c.config.Address.Host(), strings.TrimPrefix(call, "/"), err)
}

// decode checks the outcome of a call and decodes its result.
func decode(text []byte, result any) error {
	var o outcome
	if err := json.Unmarshal(text, &o); err != nil {
		return notJSON(text)
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("%w: %s", ErrAnswer, format.OneLine(err.Error(), maxQuoted))
	}
	return nil
}

func notJSON(text []byte) error {
	return fmt.Errorf("%w: not JSON of monerod: %q", ErrAnswer, format.OneLine(string(text[:min(len(text), 4*maxQuoted)]), maxQuoted))
}

// checkHash returns an error unless a text is the hash of a block or a transaction: 64 hexadecimal digits in lower case.
func checkHash(text string) error {
	if raw, err := hex.DecodeString(text); err != nil || len(raw) != 32 || hex.EncodeToString(raw) != text {
		return fmt.Errorf("%w: %q is not a hash", ErrAnswer, format.OneLine(text, maxQuoted))
	}
	return nil
}

// maxHeight is a height that no chain reaches.
const maxHeight = math.MaxInt32

// checkHeight returns the height of a block, or an error if it is impossible.
func checkHeight(height uint64) (int64, error) {
	if height > maxHeight {
		return 0, fmt.Errorf("%w: height %d", ErrAnswer, height)
	}
	return int64(height), nil
}

// maxTime is a time in seconds that no block or transaction has, in the year 2255.
const maxTime = 9_000_000_000

// checkTime returns a time of the daemon in UTC. 0 is the zero time.
func checkTime(seconds uint64) (time.Time, error) {
	switch {
	case seconds > maxTime:
		return time.Time{}, fmt.Errorf("%w: time %d", ErrAnswer, seconds)
	case seconds == 0:
		return time.Time{}, nil
	}
	return time.Unix(int64(seconds), 0).UTC(), nil
}
