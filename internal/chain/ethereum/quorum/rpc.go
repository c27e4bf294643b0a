package quorum

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"chequer/internal/guard"
)

const (
	// answerTimeout is the time that one answer may take.
	answerTimeout = 10 * time.Second
	// maxAnswer is the size limit of an answer, in bytes.
	maxAnswer = 32 << 20
	// firstBatch is the number of calls in one request until an endpoint refuses, and
	// trustedBatch the number for a trusted endpoint. geth does not answer more than 1,000 calls.
	firstBatch   = 100
	trustedBatch = 1000
)

// call is one JSON-RPC call.
type call struct {
	method string
	params []any
}

// answer is the answer to one call: a result or an error.
type answer struct {
	result json.RawMessage
	err    *rpcError
}

// rpcError is an error object of JSON-RPC.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// pauseError is the error of an endpoint that must not be called for a time. after is zero if
// the endpoint does not state the time.
type pauseError struct {
	after time.Duration
	text  string
}

func (e *pauseError) Error() string { return e.text }

// rateLimitError returns the error of an endpoint that limits the rate of calls.
func rateLimitError(after time.Duration, text string) error {
	return &pauseError{after, "rate limited: " + text}
}

// refusedError is the error for a request that is too large for an endpoint.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

// client sends calls to one endpoint.
type client struct {
	http    *http.Client
	url     string
	secrets []string // parts of the URL that may be keys
	batch   int      // greatest number of calls in one request
	now     func() time.Time
}

func newClient(transport http.RoundTripper, address string, now func() time.Time) *client {
	return &client{
		http: &http.Client{
			Transport:     guard.NoUpgrade(transport),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		url: address, secrets: secretsOf(address), batch: firstBatch, now: now,
	}
}

// secretsOf returns the parts of a URL that may be keys.
func secretsOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return []string{address}
	}
	parts := strings.Split(u.EscapedPath(), "/")
	parts = append(parts, strings.Split(u.Path, "/")...)
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	if password, hasPassword := u.User.Password(); hasPassword {
		parts = append(parts, password, u.User.Username())
	}
	const minSecret = 6 // shorter parts are names, such as v3 and eth
	var secrets []string
	for _, p := range parts {
		if len(p) >= minSecret {
			secrets = append(secrets, p)
		}
	}
	return secrets
}

// send sends calls, in as many requests as the endpoint needs.
func (c *client) send(ctx context.Context, calls ...call) ([]answer, error) {
	var all []answer
	for len(calls) > 0 {
		n := min(len(calls), c.batch)
		answers, err := c.post(ctx, calls[:n])
		if n > 1 && (isRefused(err) || allRefused(answers)) {
			c.batch = n / 2
			continue
		}
		if pause := (*pauseError)(nil); errors.As(err, &pause) {
			c.batch = max(n/2, 1) // each call of a batch may count for the rate limit
		}
		if err != nil {
			return nil, &cleanError{text: c.clean(err.Error()), cause: err}
		}
		for _, a := range answers {
			if a.err != nil {
				a.err.Message = c.clean(a.err.Message)
			}
		}
		all, calls = append(all, answers...), calls[n:]
	}
	return all, nil
}

func isRefused(err error) bool {
	refused := (*refusedError)(nil)
	return errors.As(err, &refused)
}

// allRefused reports whether several calls were all answered with the same error, as by an
// endpoint that does not accept the number of calls in the request.
func allRefused(answers []answer) bool {
	for _, a := range answers {
		if a.err == nil || *a.err != *answers[0].err || isNoState(a.err) || isNoBlock(a.err) {
			return false
		}
	}
	return len(answers) > 1
}

// message is a call or an answer in JSON.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      *int            `json:"id"`
	Method  string          `json:"method,omitempty"`
	Params  []any           `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// post sends calls in one request.
func (c *client) post(ctx context.Context, calls []call) ([]answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(encode(calls)))
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "Chequer")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, withoutURL(err)
	case len(body) > maxAnswer:
		return nil, &refusedError{fmt.Sprintf("answer is larger than %d bytes", maxAnswer)}
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable:
		return nil, rateLimitError(c.retryAfter(response.Header), response.Status)
	case response.StatusCode == http.StatusRequestEntityTooLarge:
		return nil, &refusedError{"answers " + response.Status}
	}
	answers, err := decode(body, len(calls))
	if errors.Is(err, errNotJSONRPC) && response.StatusCode != http.StatusOK {
		return nil, errors.New("answers " + response.Status)
	}
	return answers, err
}

// encode encodes one call as an object and several as a list.
func encode(calls []call) []byte {
	list := make([]message, len(calls))
	for i, c := range calls {
		id := i + 1
		if c.params == nil {
			c.params = []any{}
		}
		list[i] = message{Version: "2.0", ID: &id, Method: c.method, Params: c.params}
	}
	var body any = list
	if len(list) == 1 {
		body = list[0]
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // parameters are always strings and numbers
	}
	return text
}

// errNotJSONRPC is the error for an answer that is not JSON-RPC.
var errNotJSONRPC = errors.New("answer is not JSON-RPC")

// decode decodes the answers to a number of calls.
func decode(body []byte, calls int) ([]answer, error) {
	var list []message
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); bytes.HasPrefix(trimmed, []byte("[")) {
		if err := json.Unmarshal(trimmed, &list); err != nil {
			return nil, errNotJSONRPC
		}
	} else {
		var single message
		if err := json.Unmarshal(trimmed, &single); err != nil || single.Result == nil && single.Error == nil && single.ID == nil {
			return nil, errNotJSONRPC
		}
		if single.Error != nil && isLimit(single.Error) {
			return nil, rateLimitError(0, single.Error.Error())
		}
		if calls > 1 {
			text := "does not accept batches"
			if single.Error != nil {
				text = single.Error.Error()
			}
			return nil, &refusedError{text}
		}
		if id := 1; single.ID == nil { // as after a request that the endpoint could not parse
			single.ID = &id
		}
		list = []message{single}
	}
	answers := make([]answer, calls)
	found := 0
	for _, m := range list {
		if m.Error != nil && isLimit(m.Error) {
			return nil, rateLimitError(0, m.Error.Error())
		}
		if m.ID == nil || *m.ID < 1 || *m.ID > calls || m.Result == nil && m.Error == nil {
			continue
		}
		if a := &answers[*m.ID-1]; a.result == nil && a.err == nil {
			*a = answer{result: m.Result, err: m.Error}
			found++
		}
	}
	if found < calls {
		return nil, &refusedError{fmt.Sprintf("answers %d of %d calls", found, calls)}
	}
	return answers, nil
}

// isLimit reports whether an error is a rate limit. Code -32005 is used for that and for too
// many logs, so the message decides.
func isLimit(e *rpcError) bool {
	if e.Code == 429 || e.Code == -32029 {
		return true
	}
	text := strings.ToLower(e.Message)
	for _, words := range []string{"rate limit", "ratelimit", "too many requests", "throttl", "quota", "capacity exceeded", "compute units"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// maxRetryAfter is the limit of the time for which an endpoint can ask not to be called.
const maxRetryAfter = 10 * time.Minute

// retryAfter returns the time of the header Retry-After. See RFC 9110, section 10.2.3.
func (c *client) retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	after := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if retryAt, err := http.ParseTime(text); err == nil {
		after = retryAt.Sub(c.now())
	}
	return min(max(after, 0), maxRetryAfter)
}

// withoutURL removes the URL from an error of net/http.
func withoutURL(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		if u.Timeout() {
			return errors.New("no answer within " + answerTimeout.String())
		}
		return u.Err
	}
	return err
}

// cleanError is an error without secrets.
type cleanError struct {
	text  string
	cause error
}

func (e *cleanError) Error() string { return e.text }

func (e *cleanError) Unwrap() error { return e.cause }

// clean returns a text without keys, limited in length and on one line: the text is from an
// endpoint and can be anything.
func (c *client) clean(text string) string {
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, "…")
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	const maxText = 200 // in bytes
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
