package quorum

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"

	"chequer/internal/chain/ethereum"
)

// Endpoint is the address of a JSON-RPC server. See the Ethereum execution APIs.
type Endpoint struct {
	URL string // may contain a key, and is never shown
	// Operator is the operator of the endpoint: all endpoints of one operator count as
	// one. If empty, it is the registrable domain of the URL.
	Operator string
	// Trusted is true for the merchant's node, whose answers need no second operator.
	Trusted bool
}

// operator returns the name of the endpoint's operator.
func (e Endpoint) operator() string {
	if e.Operator != "" {
		return e.Operator
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return "?"
	}
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// Report is the state of one endpoint.
type Report struct {
	Name     string // its operator, and a number if the operator has several endpoints
	Trusted  bool
	Height   int64         // of its newest block
	Answered time.Time     // time of its last valid answer; zero if there was none
	Latency  time.Duration // of that answer
	Faults   int64         // number of faults since the start
	Fault    string        // its present fault, "" if it has none
	Denied   string        // its last answer that others denied
}

const (
	// firstPause is the time that an endpoint is not called after its first failure. The time
	// doubles with each further failure in a row, up to maxPause.
	firstPause = 500 * time.Millisecond
	maxPause   = time.Minute
	// wrongChainPause is the pause of an endpoint of another network.
	wrongChainPause = time.Minute
	// firstSpan is the number of blocks of logs that are queried at once until an endpoint
	// refuses.
	firstSpan = 1000
	// growAfter is the number of ranges that must be answered before larger ones are tried.
	growAfter = 50
)

// endpoint is one endpoint with its state.
type endpoint struct {
	Endpoint
	name        string
	operatorBit uint64 // the bit of its operator in sets of operators
	client      *client
	now         func() time.Time
	random      func() float64

	// The fields up to answeredRanges are used by one call at a time.
	head  ethereum.Header // of the last readHead
	final int64           // height of its last final block; 0 if unknown
	// span is the number of blocks of logs that are queried at once, and answeredRanges the number of ranges that
	// were answered since span was changed.
	span           int64
	answeredRanges int

	mu       sync.Mutex
	failures int // in a row
	resumeAt time.Time
	report   Report
}

func newEndpoint(e Endpoint, name string, operatorBit uint64, transport http.RoundTripper, now func() time.Time, random func() float64) *endpoint {
	c := newClient(transport, e.URL, now)
	if e.Trusted {
		c.batch = trustedBatch
	}
	return &endpoint{
		Endpoint: e, name: name, operatorBit: operatorBit, client: c, now: now, random: random,
		span: firstSpan, report: Report{Name: name, Trusted: e.Trusted},
	}
}

// paused reports whether the endpoint is not to be called now.
func (e *endpoint) paused() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now().Before(e.resumeAt)
}

// ask sends calls and records success or failure.
func (e *endpoint) ask(ctx context.Context, calls ...call) ([]answer, error) {
	start := time.Now()
	answers, err := e.client.send(ctx, calls...)
	switch {
	case err == nil:
		e.noteAnswer(time.Since(start))
	case ctx.Err() == nil:
		e.noteFailure(err)
	}
	return answers, err
}

func (e *endpoint) noteAnswer(latency time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures, e.resumeAt = 0, time.Time{}
	e.report.Answered, e.report.Latency = e.now(), latency
}

// noteFailure pauses the endpoint, longer with each failure in a row, and at least for the time of
// a pauseError.
func (e *endpoint) noteFailure(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	pause := min(firstPause<<min(e.failures, 16), maxPause)
	pause = time.Duration(float64(pause) * (0.5 + e.random())) // varied, so that installations do not retry at the same time
	if requested := (*pauseError)(nil); errors.As(err, &requested) {
		pause = max(pause, requested.after)
	}
	e.failures++
	e.resumeAt = e.now().Add(pause)
	e.report.Faults++
	e.report.Fault = err.Error()
}

// noteFault records a fault that is no reason to pause the endpoint.
func (e *endpoint) noteFault(fault string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Faults++
	e.report.Fault = fault
}

// noteDenied records an answer that others denied.
func (e *endpoint) noteDenied(answer string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Faults++
	e.report.Denied = answer
}

// noteHeight records the height of its newest block, and that it has no fault.
func (e *endpoint) noteHeight(height int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Height, e.report.Fault = height, ""
}

// currentReport returns the endpoint's report.
func (e *endpoint) currentReport() Report {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.report
}

// readHead asks for the newest block and, if tags is true, for the final one.
func (e *endpoint) readHead(ctx context.Context, chainID uint64, tags bool) error {
	calls := []call{
		{method: "eth_chainId"},
		{"eth_getBlockByNumber", []any{"latest", false}},
	}
	if tags {
		calls = append(calls, call{"eth_getBlockByNumber", []any{"finalized", false}})
	}
	e.head, e.final = ethereum.Header{}, 0
	answers, err := e.ask(ctx, calls...)
	if err != nil {
		return err
	}
	if err := e.parseHead(answers, chainID); err != nil {
		e.noteFailure(err)
		return err
	}
	e.noteHeight(e.head.Height)
	return nil
}

// parseHead parses the answers of readHead.
func (e *endpoint) parseHead(answers []answer, chainID uint64) error {
	for _, a := range answers[:2] {
		if a.err != nil {
			return a.err
		}
	}
	id, err := parseChainID(answers[0].result)
	switch {
	case err != nil:
		return err
	case id != chainID:
		return &pauseError{wrongChainPause, fmt.Sprintf("it answers for chain %d, not %d", id, chainID)}
	}
	head, hasBlock, err := parseHeader(answers[1].result)
	switch {
	case err != nil:
		return err
	case !hasBlock:
		return errors.New("no newest block")
	}
	e.head = head
	if len(answers) > 2 && answers[2].err == nil {
		if final, hasBlock, err := parseHeader(answers[2].result); err == nil && hasBlock {
			e.final = min(final.Height, head.Height)
		}
	}
	return nil
}
