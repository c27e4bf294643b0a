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

// Endpoint is the address of who answers JSON-RPC. See the Ethereum execution APIs.
type Endpoint struct {
	URL string // may hold a key, and is never shown
	// Operator is who runs it: two endpoints of one operator are one voice. The
	// registrable domain of the address when empty.
	Operator string
	// Trusted is an own node: its word is enough.
	Trusted bool
}

// operator is who runs the endpoint.
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

// Report is how one endpoint fares.
type Report struct {
	Name     string // its operator, and a number where that has several
	Trusted  bool
	Height   int64         // of the newest block that it told of
	Answered time.Time     // when it last answered as it should; zero when never
	Latency  time.Duration // of that answer
	Faults   int64         // so far
	Fault    string        // what is wrong with it now, "" when nothing is
	Denied   string        // the last thing that it said and others denied
}

const (
	// firstRest is how long an endpoint is left alone that failed once; twice as
	// long each further time, up to restAtMost.
	firstRest  = 500 * time.Millisecond
	restAtMost = time.Minute
	// wrongRest is for an endpoint of another network.
	wrongRest = time.Minute
	// firstSpan is how many blocks of logs are asked for at once until an endpoint
	// refuses.
	firstSpan = 1000
	// growAfter is how many ranges must be answered until larger ones are tried.
	growAfter = 50
)

// endpoint is one endpoint with what we know of it.
type endpoint struct {
	Endpoint
	name   string
	voice  uint64 // its operator's bit
	client *client
	now    func() time.Time
	chance func() float64

	// Used by one call at a time.
	head  ethereum.Header // of the last look
	final int64           // the block that it called final then; 0 = it did not say
	span  int64
	full  int // ranges answered since span was changed

	mu       sync.Mutex
	failures int // in a row
	rests    time.Time
	report   Report
}

func newEndpoint(e Endpoint, name string, voice uint64, transport http.RoundTripper, now func() time.Time, chance func() float64) *endpoint {
	c := newClient(transport, e.URL, now)
	if e.Trusted {
		c.batch = ownBatch
	}
	return &endpoint{
		Endpoint: e, name: name, voice: voice, client: c, now: now, chance: chance,
		span: firstSpan, report: Report{Name: name, Trusted: e.Trusted},
	}
}

// resting tells whether the endpoint is left alone for now.
func (e *endpoint) resting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now().Before(e.rests)
}

// ask asks some calls and notes how that went.
func (e *endpoint) ask(ctx context.Context, calls ...call) ([]answer, error) {
	begin := time.Now()
	answers, err := e.client.do(ctx, calls...)
	switch {
	case err == nil:
		e.answered(time.Since(begin))
	case ctx.Err() == nil:
		e.failed(err)
	}
	return answers, err
}

func (e *endpoint) answered(took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures, e.rests = 0, time.Time{}
	e.report.Answered, e.report.Latency = e.now(), took
}

// failed leaves the endpoint alone for a while, the longer the more often it
// failed, or as long as it asks for.
func (e *endpoint) failed(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rest := min(firstRest<<min(e.failures, 16), restAtMost)
	rest = time.Duration(float64(rest) * (0.5 + e.chance())) // so that not everybody comes back at once
	if wish := (*restError)(nil); errors.As(err, &wish) {
		rest = max(rest, wish.after)
	}
	e.failures++
	e.rests = e.now().Add(rest)
	e.report.Faults++
	e.report.Fault = err.Error()
}

// lacks notes what is wrong now and no reason to leave the endpoint alone.
func (e *endpoint) lacks(fault string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Faults++
	e.report.Fault = fault
}

// denied notes that others say otherwise.
func (e *endpoint) denied(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Faults++
	e.report.Denied = what
}

// well notes that nothing is wrong, and the height of its newest block.
func (e *endpoint) well(height int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Height, e.report.Fault = height, ""
}

// told is the endpoint's report.
func (e *endpoint) told() Report {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.report
}

// look asks for the newest block and, where there are tags, the final one.
func (e *endpoint) look(ctx context.Context, chainID uint64, tags bool) error {
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
	if err := e.read(answers, chainID); err != nil {
		e.failed(err)
		return err
	}
	e.well(e.head.Height)
	return nil
}

// read reads the answers to look.
func (e *endpoint) read(answers []answer, chainID uint64) error {
	for _, a := range answers[:2] {
		if a.fault != nil {
			return a.fault
		}
	}
	id, err := chainIDOf(answers[0].result)
	switch {
	case err != nil:
		return err
	case id != chainID:
		return &restError{wrongRest, fmt.Sprintf("it answers for chain %d, not %d", id, chainID)}
	}
	head, there, err := header(answers[1].result)
	switch {
	case err != nil:
		return err
	case !there:
		return errors.New("it has no newest block")
	}
	e.head = head
	if len(answers) > 2 && answers[2].fault == nil {
		if final, there, err := header(answers[2].result); err == nil && there {
			e.final = min(final.Height, head.Height)
		}
	}
	return nil
}
