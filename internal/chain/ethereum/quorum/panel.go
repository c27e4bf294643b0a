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

// look asks all endpoints for their newest block, and gives those that answered.
func (q *Quorum) look(ctx context.Context) []*endpoint {
	own := slices.ContainsFunc(q.endpoints, func(e *endpoint) bool { return e.Trusted && !e.resting() })
	enough := func(voices uint64) bool {
		answered := slices.DeleteFunc(slices.Clone(q.endpoints), func(e *endpoint) bool { return e.voice&voices == 0 })
		trusted := slices.ContainsFunc(answered, func(e *endpoint) bool { return e.Trusted })
		return trusted || !own && operators(answered) >= operatorsAgree
	}
	return each(ctx, q.endpoints, enough, func(ctx context.Context, e *endpoint) bool {
		return e.look(ctx, q.ChainID, q.Tags) == nil
	})
}

// grace is how long the others may take once enough endpoints have answered.
const grace = 2 * time.Second

// errSlow is an endpoint that the others did not wait for.
var errSlow = errors.New("answers much later than others")

// each does something with endpoints at the same time, leaving out those that rest,
// and gives those where it went well, in their order. Those that are much slower
// than enough others are not waited for.
func each(ctx context.Context, endpoints []*endpoint, enough func(voices uint64) bool, do func(context.Context, *endpoint) bool) []*endpoint {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var voices uint64
	hurry := sync.OnceFunc(func() { time.AfterFunc(grace, func() { cancel(errSlow) }) })
	if enough(0) {
		hurry()
	}
	well := make([]bool, len(endpoints))
	var group sync.WaitGroup
	for i, e := range endpoints {
		if e.resting() {
			continue
		}
		group.Go(func() {
			did := do(waiting, e)
			mu.Lock()
			defer mu.Unlock()
			if well[i] = did; !did {
				if errors.Is(context.Cause(waiting), errSlow) {
					e.failed(errSlow)
				}
				return
			}
			if voices |= e.voice; enough(voices) {
				hurry()
			}
		})
	}
	group.Wait()
	var found []*endpoint
	for i, e := range endpoints {
		if well[i] {
			found = append(found, e)
		}
	}
	return found
}

// choose takes the own nodes for the panel, or else the others, and gives the
// newest block that it agrees on.
func (q *Quorum) choose(ctx context.Context, answered []*endpoint) (ethereum.Best, error) {
	var own, others []*endpoint
	for _, e := range answered {
		if e.Trusted {
			own = append(own, e)
		} else {
			others = append(others, e)
		}
	}
	fresh := slices.ContainsFunc(own, func(e *endpoint) bool { return q.Now().Sub(e.head.Time) < staleNode })
	switch {
	case len(own) > 0 && (fresh || operators(others) < operatorsAgree):
		q.panel, q.need = own, 1
	case operators(others) >= operatorsAgree:
		q.panel, q.need = others, operatorsAgree
	default:
		q.panel, q.need = others, operatorsAgree
		return ethereum.Best{}, q.tooFew("answer")
	}
	head, err := q.agree(ctx)
	if err != nil {
		return ethereum.Best{}, err
	}
	return ethereum.Best{Header: head, Final: min(q.final(), head.Height)}, nil
}

// operators counts those of some endpoints.
func operators(endpoints []*endpoint) int { return bits.OnesCount64(voicesOf(endpoints)) }

// voicesOf are the voices of some endpoints.
func voicesOf(endpoints []*endpoint) uint64 {
	var voices uint64
	for _, e := range endpoints {
		voices |= e.voice
	}
	return voices
}

// enough tells whether so many voices of the panel are to be believed.
func (q *Quorum) enough(voices uint64) bool {
	return bits.OnesCount64(voices&voicesOf(q.panel)) >= q.need
}

// agree is the newest block that the panel agrees on: of the newest blocks of its
// members, the highest that enough of them have.
func (q *Quorum) agree(ctx context.Context) (ethereum.Header, error) {
	heights, shared := map[int64]bool{}, map[ethereum.Header]uint64{}
	for _, e := range q.panel {
		heights[e.head.Height] = true
		shared[e.head] |= e.voice
	}
	for _, height := range descending(heights) {
		there := slices.DeleteFunc(slices.Clone(q.panel), func(e *endpoint) bool { return e.head.Height < height })
		if !q.enough(voicesOf(there)) {
			continue
		}
		// Who is ahead is asked only where the others are not enough.
		if h, ok := q.only(shared, height); ok {
			return h, nil
		}
		if headers, err := q.headers(ctx, there, height, height); err == nil {
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

// final is the highest block that enough operators of the panel call final; 0 when
// too few of them tell.
func (q *Quorum) final() int64 {
	byVoice := map[uint64]int64{}
	for _, e := range q.panel {
		byVoice[e.voice] = max(byVoice[e.voice], e.final)
	}
	var told []int64
	for _, height := range byVoice {
		told = append(told, height)
	}
	slices.SortFunc(told, func(a, b int64) int { return cmp.Compare(b, a) })
	if len(told) < q.need {
		return 0
	}
	return told[q.need-1]
}
