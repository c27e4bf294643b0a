package quorum

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"chequer/internal/chain/ethereum"
)

// readHeads asks the endpoints that are not paused for their newest block, and returns those that answered.
func (q *Quorum) readHeads(ctx context.Context) []*endpoint {
	hasTrusted := slices.ContainsFunc(q.endpoints, func(e *endpoint) bool { return e.Trusted && !e.paused() })
	enough := func(operators uint64) bool {
		answered := slices.DeleteFunc(slices.Clone(q.endpoints), func(e *endpoint) bool { return e.operatorBit&operators == 0 })
		trusted := slices.ContainsFunc(answered, func(e *endpoint) bool { return e.Trusted })
		return trusted || !hasTrusted && countOperators(answered) >= minOperators
	}
	return askEach(ctx, q.endpoints, enough, func(ctx context.Context, e *endpoint) bool {
		return e.readHead(ctx, q.ChainID, q.Tags) == nil
	})
}

// slowTimeout is the time that askEach waits for the other endpoints once enough have answered.
const slowTimeout = 2 * time.Second

// errSlow is the error of an endpoint that did not answer within slowTimeout.
var errSlow = errors.New("answers much later than others")

// askEach calls ask for the endpoints that are not paused, at the same time, and returns those for
// which ask returned true, in the order of endpoints. Once enough endpoints have answered, it waits
// slowTimeout for the others.
func askEach(ctx context.Context, endpoints []*endpoint, enough func(operators uint64) bool, ask func(context.Context, *endpoint) bool) []*endpoint {
	askCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var operators uint64
	startSlowTimer := sync.OnceFunc(func() { time.AfterFunc(slowTimeout, func() { cancel(errSlow) }) })
	if enough(0) {
		startSlowTimer()
	}
	succeeded := make([]bool, len(endpoints))
	var group sync.WaitGroup
	for i, e := range endpoints {
		if e.paused() {
			continue
		}
		group.Go(func() {
			ok := ask(askCtx, e)
			mu.Lock()
			defer mu.Unlock()
			succeeded[i] = ok
			if !ok {
				if errors.Is(context.Cause(askCtx), errSlow) {
					e.noteFailure(errSlow)
				}
				return
			}
			operators |= e.operatorBit
			if enough(operators) {
				startSlowTimer()
			}
		})
	}
	group.Wait()
	var found []*endpoint
	for i, e := range endpoints {
		if succeeded[i] {
			found = append(found, e)
		}
	}
	return found
}

// choosePanel sets the panel to the trusted endpoints that answered, or to the others if no trusted one is up
// to date and the others have enough operators. It returns the newest block that the panel agrees on, or an
// error if too few endpoints answered or the panel does not agree.
func (q *Quorum) choosePanel(ctx context.Context, answered []*endpoint) (ethereum.Best, error) {
	var trusted, others []*endpoint
	for _, e := range answered {
		if e.Trusted {
			trusted = append(trusted, e)
		} else {
			others = append(others, e)
		}
	}
	upToDate := slices.ContainsFunc(trusted, func(e *endpoint) bool { return q.Now().Sub(e.head.Time) < maxNodeAge })
	switch {
	case len(trusted) > 0 && (upToDate || countOperators(others) < minOperators):
		q.panel, q.requiredOperators = trusted, 1
	case countOperators(others) >= minOperators:
		q.panel, q.requiredOperators = others, minOperators
	default:
		q.panel, q.requiredOperators = others, minOperators
		return ethereum.Best{}, q.tooFew("answer")
	}
	head, err := q.agree(ctx)
	if err != nil {
		return ethereum.Best{}, err
	}
	return ethereum.Best{Header: head, Final: min(q.final(), head.Height)}, nil
}

// countOperators returns the number of operators of endpoints.
func countOperators(endpoints []*endpoint) int { return bits.OnesCount64(operatorsOf(endpoints)) }

// operatorsOf returns the set of operators of endpoints.
func operatorsOf(endpoints []*endpoint) uint64 {
	var operators uint64
	for _, e := range endpoints {
		operators |= e.operatorBit
	}
	return operators
}

// isEnough reports whether a set has enough operators of the panel to be trusted.
func (q *Quorum) isEnough(operators uint64) bool {
	return bits.OnesCount64(operators&operatorsOf(q.panel)) >= q.requiredOperators
}

// agree returns the newest block that the panel agrees on: of the newest blocks of its
// members, the highest that enough of them have.
func (q *Quorum) agree(ctx context.Context) (ethereum.Header, error) {
	heights, shared := map[int64]bool{}, map[ethereum.Header]uint64{}
	for _, e := range q.panel {
		heights[e.head.Height] = true
		shared[e.head] |= e.operatorBit
	}
	for _, height := range descending(heights) {
		candidates := slices.DeleteFunc(slices.Clone(q.panel), func(e *endpoint) bool { return e.head.Height < height })
		if !q.isEnough(operatorsOf(candidates)) {
			continue
		}
		// Endpoints that are ahead are asked for their header at height only if the heads do not suffice.
		if h, ok := q.agreedHeader(shared, height); ok {
			return h, nil
		}
		if headers, err := q.headers(ctx, candidates, height, height); err == nil {
			return headers[0], nil
		}
	}
	var heads []string
	for _, e := range q.panel {
		heads = append(heads, fmt.Sprintf("%s is at block %d, %s", e.name, e.head.Height, e.head.Hash))
	}
	return ethereum.Header{}, errors.New("the endpoints do not agree: " + strings.Join(heads, "; "))
}

func descending(set map[int64]bool) []int64 {
	list := slices.Sorted(maps.Keys(set))
	slices.Reverse(list)
	return list
}

// final returns the highest block that enough operators of the panel report as final; 0 if
// too few report one.
func (q *Quorum) final() int64 {
	byOperator := map[uint64]int64{}
	for _, e := range q.panel {
		byOperator[e.operatorBit] = max(byOperator[e.operatorBit], e.final)
	}
	finals := slices.Sorted(maps.Values(byOperator))
	slices.Reverse(finals)
	if len(finals) < q.requiredOperators {
		return 0
	}
	return finals[q.requiredOperators-1]
}
