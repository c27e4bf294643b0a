package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"chequer/internal/chain/ethereum"
)

// readHeads asks all endpoints for their newest block, and returns those that answered.
func (q *Quorum) readHeads(ctx context.Context) []*endpoint {
	own := slices.ContainsFunc(q.endpoints, func(e *endpoint) bool { return e.Trusted && !e.paused() })
	enough := func(operators uint64) bool {
		answered := slices.DeleteFunc(slices.Clone(q.endpoints), func(e *endpoint) bool { return e.operatorBit&operators == 0 })
		trusted := slices.ContainsFunc(answered, func(e *endpoint) bool { return e.Trusted })
		return trusted || !own && countOperators(answered) >= minOperators
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
// which it returned true, in their order. Once enough endpoints have answered, it waits
// slowTimeout for the others.
func askEach(ctx context.Context, endpoints []*endpoint, enough func(operators uint64) bool, ask func(context.Context, *endpoint) bool) []*endpoint {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var operators uint64
	stopWaiting := sync.OnceFunc(func() { time.AfterFunc(slowTimeout, func() { cancel(errSlow) }) })
	if enough(0) {
		stopWaiting()
	}
	succeeded := make([]bool, len(endpoints))
	var group sync.WaitGroup
	for i, e := range endpoints {
		if e.paused() {
			continue
		}
		group.Go(func() {
			ok := ask(waiting, e)
			mu.Lock()
			defer mu.Unlock()
			if succeeded[i] = ok; !ok {
				if errors.Is(context.Cause(waiting), errSlow) {
					e.noteFailure(errSlow)
				}
				return
			}
			if operators |= e.operatorBit; enough(operators) {
				stopWaiting()
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

// choose sets the panel to the trusted endpoints or, if they do not answer or are not up to date,
// to the others. It returns the newest block that the panel agrees on.
func (q *Quorum) choose(ctx context.Context, answered []*endpoint) (ethereum.Best, error) {
	var own, others []*endpoint
	for _, e := range answered {
		if e.Trusted {
			own = append(own, e)
		} else {
			others = append(others, e)
		}
	}
	upToDate := slices.ContainsFunc(own, func(e *endpoint) bool { return q.Now().Sub(e.head.Time) < maxNodeAge })
	switch {
	case len(own) > 0 && (upToDate || countOperators(others) < minOperators):
		q.panel, q.requiredOperators = own, 1
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
		// An endpoint that is ahead is asked only if the heads are not enough.
		if h, ok := q.only(shared, height); ok {
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
	list := make([]int64, 0, len(set))
	for n := range set {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b int64) int { return cmp.Compare(b, a) })
	return list
}

// final returns the highest block that enough operators of the panel call final; 0 if
// too few of them know.
func (q *Quorum) final() int64 {
	byOperator := map[uint64]int64{}
	for _, e := range q.panel {
		byOperator[e.operatorBit] = max(byOperator[e.operatorBit], e.final)
	}
	var finals []int64
	for _, height := range byOperator {
		finals = append(finals, height)
	}
	slices.SortFunc(finals, func(a, b int64) int { return cmp.Compare(b, a) })
	if len(finals) < q.requiredOperators {
		return 0
	}
	return finals[q.requiredOperators-1]
}
