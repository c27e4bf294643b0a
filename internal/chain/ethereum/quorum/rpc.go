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
	// answerFor is how long one answer may take.
	answerFor = 10 * time.Second
	// maxAnswer is the largest answer that is read.
	maxAnswer = 32 << 20
	// firstBatch is how many calls go in one request until an endpoint refuses, ownBatch
	// to an own node. geth leaves calls above the 1,000th without an answer.
	firstBatch = 100
	ownBatch   = 1000
)

// call is one JSON-RPC call.
type call struct {
	method string
	params []any
}

// answer is what one call was answered with: a result or a fault.
type answer struct {
	result json.RawMessage
	fault  *rpcError
}

// rpcError is a fault as JSON-RPC tells it.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// restError is an endpoint that is better left alone for a time; zero when it does
// not say how long.
type restError struct {
	after time.Duration
	says  string
}

func (e *restError) Error() string { return e.says }

// limited is an endpoint that was asked too much.
func limited(after time.Duration, says string) error {
	return &restError{after, "asks for fewer questions: " + says}
}

// refusedError is a request that is too large for an endpoint.
type refusedError struct{ says string }

func (e *refusedError) Error() string { return e.says }

// client asks one endpoint.
type client struct {
	http    *http.Client
	url     string
	secrets []string // parts of the address that may be keys
	batch   int      // calls in one request at most
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

// secretsOf are the parts of an address that may be keys.
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
	if password, has := u.User.Password(); has {
		parts = append(parts, password, u.User.Username())
	}
	var secrets []string
	for _, p := range parts {
		if len(p) >= 6 {
			secrets = append(secrets, p)
		}
	}
	return secrets
}

// do asks some calls, in as many requests as the endpoint takes.
func (c *client) do(ctx context.Context, calls ...call) ([]answer, error) {
	var all []answer
	for len(calls) > 0 {
		n := min(len(calls), c.batch)
		answers, err := c.post(ctx, calls[:n])
		if n > 1 && (isRefused(err) || allRefused(answers)) {
			c.batch = n / 2
			continue
		}
		if wish := (*restError)(nil); errors.As(err, &wish) {
			c.batch = max(n/2, 1) // a batch may count as many questions
		}
		if err != nil {
			return nil, &cleanError{says: c.clean(err.Error()), cause: err}
		}
		for _, a := range answers {
			if a.fault != nil {
				a.fault.Message = c.clean(a.fault.Message)
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

// allRefused tells whether several calls were all answered with the same fault, as
// by an endpoint that does not take so many in one request.
func allRefused(answers []answer) bool {
	for _, a := range answers {
		if a.fault == nil || *a.fault != *answers[0].fault || isNoState(a.fault) || isNoBlock(a.fault) {
			return false
		}
	}
	return len(answers) > 1
}

// wire is a call or an answer as it is sent.
type wire struct {
	Version string          `json:"jsonrpc"`
	ID      *int            `json:"id"`
	Method  string          `json:"method,omitempty"`
	Params  []any           `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// post asks some calls in one request.
func (c *client) post(ctx context.Context, calls []call) ([]answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(encode(calls)))
	if err != nil {
		return nil, errors.New("its address cannot be asked")
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
		return nil, &refusedError{"its answer is too large"}
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable:
		return nil, limited(c.retryAfter(response.Header), response.Status)
	case response.StatusCode == http.StatusRequestEntityTooLarge:
		return nil, &refusedError{"answers " + response.Status}
	}
	answers, err := decode(body, len(calls))
	if errors.Is(err, errNonsense) && response.StatusCode != http.StatusOK {
		return nil, errors.New("answers " + response.Status)
	}
	return answers, err
}

// encode writes one call as an object and several as a list.
func encode(calls []call) []byte {
	list := make([]wire, len(calls))
	for i, c := range calls {
		id := i + 1
		if c.params == nil {
			c.params = []any{}
		}
		list[i] = wire{Version: "2.0", ID: &id, Method: c.method, Params: c.params}
	}
	var what any = list
	if len(list) == 1 {
		what = list[0]
	}
	body, err := json.Marshal(what)
	if err != nil {
		panic(err) // parameters are text and numbers
	}
	return body
}

// errNonsense is an answer that is no JSON-RPC.
var errNonsense = errors.New("its answer is no JSON-RPC")

// decode reads the answers to so many calls.
func decode(body []byte, calls int) ([]answer, error) {
	var list []wire
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); bytes.HasPrefix(trimmed, []byte("[")) {
		if err := json.Unmarshal(trimmed, &list); err != nil {
			return nil, errNonsense
		}
	} else {
		var one wire
		if err := json.Unmarshal(trimmed, &one); err != nil || one.Result == nil && one.Error == nil && one.ID == nil {
			return nil, errNonsense
		}
		if one.Error != nil && isLimit(one.Error) {
			return nil, limited(0, one.Error.Error())
		}
		if calls > 1 {
			says := "takes no batch"
			if one.Error != nil {
				says = one.Error.Error()
			}
			return nil, &refusedError{says}
		}
		if id := 1; one.ID == nil { // as for a request that it could not read
			one.ID = &id
		}
		list = []wire{one}
	}
	answers := make([]answer, calls)
	found := 0
	for _, w := range list {
		if w.Error != nil && isLimit(w.Error) {
			return nil, limited(0, w.Error.Error())
		}
		if w.ID == nil || *w.ID < 1 || *w.ID > calls || w.Result == nil && w.Error == nil {
			continue
		}
		if a := &answers[*w.ID-1]; a.result == nil && a.fault == nil {
			*a = answer{result: w.Result, fault: w.Error}
			found++
		}
	}
	if found < calls {
		return nil, &refusedError{fmt.Sprintf("answers %d of %d questions", found, calls)}
	}
	return answers, nil
}

// isLimit tells whether a fault means that too much was asked in too short a
// time. Code -32005 is used for that and for too many logs, so the words decide.
func isLimit(e *rpcError) bool {
	if e.Code == 429 || e.Code == -32029 {
		return true
	}
	says := strings.ToLower(e.Message)
	for _, words := range []string{"rate limit", "ratelimit", "too many requests", "throttl", "quota", "capacity exceeded", "compute units"} {
		if strings.Contains(says, words) {
			return true
		}
	}
	return false
}

// longestRest is the longest time that an endpoint can ask for.
const longestRest = 10 * time.Minute

// retryAfter reads when an endpoint wants to be asked again. See RFC 9110, section
// 10.2.3.
func (c *client) retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	after := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		after = at.Sub(c.now())
	}
	return min(max(after, 0), longestRest)
}

// withoutURL takes the address out of an error of net/http.
func withoutURL(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		if u.Timeout() {
			return errors.New("no answer in " + answerFor.String())
		}
		return u.Err
	}
	return err
}

// cleanError is an error that can be shown.
type cleanError struct {
	says  string
	cause error
}

func (e *cleanError) Error() string { return e.says }

func (e *cleanError) Unwrap() error { return e.cause }

// clean is a text without keys, bounded and on one line: endpoints write what they
// like.
func (c *client) clean(says string) string {
	for _, secret := range c.secrets {
		says = strings.ReplaceAll(says, secret, "…")
	}
	says = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, says)
	if len(says) > 200 {
		says = strings.ToValidUTF8(says[:200], "") + "…"
	}
	return says
}
