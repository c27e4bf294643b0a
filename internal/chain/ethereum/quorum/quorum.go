// Package quorum asks several JSON-RPC endpoints about an EVM network and trusts the answers
// that two operators agree on, or the answer of the merchant's node.
package quorum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
)

// Config is the configuration of a Quorum.
type Config struct {
	Network   chain.ID
	ChainID   uint64
	Tags      bool // endpoints know which block is final
	Endpoints []Endpoint
	// AddressQueries allows queries by address to endpoints that are not trusted.
	AddressQueries bool
	// Poll is the time that the newest block is cached.
	Poll time.Duration
	Now  func() time.Time
	// Chance returns a number from 0 to 1, which varies the pause of a failed endpoint.
	Chance func() float64
	Log    *slog.Logger
}

// Quorum reads one network from several endpoints. It implements ethereum.Source.
type Quorum struct {
	Config
	endpoints []*endpoint

	// The fields up to agreed are used by one call at a time.
	panel             []*endpoint               // the endpoints whose answers count, since the last readHeads
	requiredOperators int                       // number of operators of the panel that must agree
	best              ethereum.Best             // of the last readHeads, zero after an error
	agreed            map[int64]ethereum.Header // since the last readHeads

	mu     sync.Mutex
	height int64
	fault  string
}

var _ ethereum.Source = (*Quorum)(nil)

// minOperators is the number of operators that must give the same answer.
const minOperators = 2

// maxNodeAge is the age of a trusted node's newest block up to which the node is used alone,
// if there are other endpoints.
const maxNodeAge = 5 * time.Minute

// New returns a new Quorum. It makes no request.
func New(c Config) (*Quorum, error) {
	q := &Quorum{Config: c, agreed: map[int64]ethereum.Header{}}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // requests are direct even if the environment names a proxy
	type operatorKey struct {
		operator string
		trusted  bool
	}
	operatorBits, counts := map[operatorKey]uint64{}, map[string]int{}
	for _, e := range c.Endpoints {
		key := operatorKey{e.operator(), e.Trusted}
		if operatorBits[key] == 0 {
			operatorBits[key] = 1 << len(operatorBits)
		}
		counts[key.operator]++
		name := key.operator
		if n := counts[key.operator]; n > 1 {
			name = fmt.Sprintf("%s (%d)", name, n)
		}
		q.endpoints = append(q.endpoints, newEndpoint(e, name, operatorBits[key], transport, c.Now, c.Chance))
	}
	if len(q.endpoints) == 0 || len(operatorBits) > 64 {
		return nil, fmt.Errorf("%d endpoints, want 1 to 64", len(q.endpoints))
	}
	if !slices.ContainsFunc(c.Endpoints, func(e Endpoint) bool { return e.Trusted }) && len(operatorBits) < minOperators {
		return nil, errors.New("endpoints of at least two operators must agree: name another one, or mark your own node as trusted")
	}
	return q, nil
}

// ByAddress implements ethereum.Source.
func (q *Quorum) ByAddress() bool {
	return q.AddressQueries || !slices.ContainsFunc(q.panel, func(e *endpoint) bool { return !e.Trusted })
}

// Best implements ethereum.Source.
func (q *Quorum) Best(ctx context.Context) (ethereum.Best, error) {
	now := q.Now()
	if age := now.Sub(q.best.At); q.best.Hash != "" && age >= 0 && age < q.Poll {
		return q.best, nil
	}
	q.best, q.agreed = ethereum.Best{}, map[int64]ethereum.Header{}
	best, err := q.choosePanel(ctx, q.readHeads(ctx))
	q.setHealth(best.Height, err)
	if err != nil {
		return ethereum.Best{}, err
	}
	best.At = now
	q.best, q.agreed[best.Height] = best, best.Header
	return best, nil
}

// setHealth sets the values that Health returns.
func (q *Quorum) setHealth(height int64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fault = ""
	if err != nil {
		q.fault = err.Error()
		return
	}
	q.height = height
}

// tooFew returns the error that too few endpoints do something, with the faults of the
// endpoints.
func (q *Quorum) tooFew(ability string) error {
	var wrong []string
	for _, e := range q.endpoints {
		if fault := e.currentReport().Fault; fault != "" {
			wrong = append(wrong, e.name+": "+fault)
		}
	}
	message := q.missingAbility(ability)
	if len(wrong) > 0 {
		message += ": " + strings.Join(wrong, "; ")
	}
	return errors.New(message)
}

// missingAbility returns a sentence that names the endpoints that lack a required ability.
func (q *Quorum) missingAbility(ability string) string {
	others := slices.DeleteFunc(slices.Clone(q.endpoints), func(e *endpoint) bool { return e.Trusted })
	trusted := len(q.endpoints) - len(others)
	switch {
	case trusted == 1 && countOperators(others) < minOperators:
		return fmt.Sprintf("your own node must %s, and does not", ability)
	case trusted > 0 && countOperators(others) < minOperators:
		return fmt.Sprintf("one of your %d own nodes must %s, and none does", trusted, ability)
	case trusted > 0:
		return fmt.Sprintf("your own node, or endpoints of at least %d operators, must %s, and too few of %d endpoints do", minOperators, ability, len(q.endpoints))
	}
	return fmt.Sprintf("endpoints of at least %d operators must %s, and too few of %d endpoints do", minOperators, ability, len(q.endpoints))
}

// Headers implements ethereum.Source.
func (q *Quorum) Headers(ctx context.Context, from, to int64) ([]ethereum.Header, error) {
	var known []ethereum.Header
	for height := from; height <= to; height++ {
		h, isKnown := q.agreed[height]
		if !isKnown {
			break
		}
		known = append(known, h)
	}
	if len(known) > 0 {
		return known, nil
	}
	headers, err := q.headers(ctx, q.panel, from, to)
	for _, h := range headers {
		q.agreed[h.Height] = h
	}
	return headers, err
}

// headers returns the blocks in a range of heights that enough endpoints agree on, up to the
// first disagreement.
func (q *Quorum) headers(ctx context.Context, endpoints []*endpoint, from, to int64) ([]ethereum.Header, error) {
	seen := make([]map[ethereum.Header]uint64, to-from+1)
	var mu sync.Mutex
	askEach(ctx, endpoints, q.isEnough, func(ctx context.Context, e *endpoint) bool {
		headers, err := e.headers(ctx, from, to)
		mu.Lock()
		defer mu.Unlock()
		for _, h := range headers {
			votes := &seen[h.Height-from]
			if *votes == nil {
				*votes = map[ethereum.Header]uint64{}
			}
			(*votes)[h] |= e.operatorBit
		}
		return err == nil
	})
	var agreed []ethereum.Header
	for i, votes := range seen {
		h, ok := q.agreedHeader(votes, from+int64(i))
		if !ok {
			break
		}
		agreed = append(agreed, h)
	}
	if len(agreed) == 0 {
		return nil, q.tooFew(fmt.Sprintf("agree on block %d", from))
	}
	return agreed, nil
}

// agreedHeader returns the block at a height that enough operators agree on, if there is only one such block.
func (q *Quorum) agreedHeader(votes map[ethereum.Header]uint64, height int64) (agreed ethereum.Header, ok bool) {
	for h, operators := range votes {
		if h.Height != height || !q.isEnough(operators) {
			continue
		}
		if ok {
			return ethereum.Header{}, false
		}
		agreed, ok = h, true
	}
	return agreed, ok
}

// Health implements ethereum.Source.
func (q *Quorum) Health() chain.Health {
	q.mu.Lock()
	defer q.mu.Unlock()
	answering := 0
	for _, r := range q.Reports() {
		if r.Fault == "" && !r.Answered.IsZero() {
			answering++
		}
	}
	return chain.Health{Source: fmt.Sprintf("%d of %d endpoints", answering, len(q.endpoints)), Height: q.height, Fault: q.fault}
}

// Reports returns the state of each endpoint, from memory. It may be called at any time.
func (q *Quorum) Reports() []Report {
	reports := make([]Report, len(q.endpoints))
	for i, e := range q.endpoints {
		reports[i] = e.currentReport()
	}
	return reports
}

// Probe asks all endpoints once. The error describes why the network cannot be read.
func (q *Quorum) Probe(ctx context.Context) error {
	q.best = ethereum.Best{}
	_, err := q.Best(ctx)
	return err
}

// RedundancyWarning returns a warning if a single failing endpoint would make the network unreadable; "" if
// there are enough endpoints.
func (q *Quorum) RedundancyWarning() string {
	if slices.ContainsFunc(q.endpoints, func(e *endpoint) bool { return e.Trusted }) || countOperators(q.endpoints) > minOperators {
		return ""
	}
	return "endpoints of two operators only: while one of them is silent or lags, nothing is confirmed and nothing expires; name a third"
}
