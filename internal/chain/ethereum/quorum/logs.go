package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"chequer/internal/chain/ethereum"
	"chequer/internal/keys"
)

// maxTopics is the maximum number of addresses in one filter: the limit of geth.
const maxTopics = 1000

// headers returns the blocks in a range of heights, up to the first that the endpoint lacks.
func (e *endpoint) headers(ctx context.Context, from, to int64) ([]ethereum.Header, error) {
	if from == to && e.head.Height == from {
		return []ethereum.Header{e.head}, nil
	}
	var calls []call
	for height := from; height <= to; height++ {
		calls = append(calls, call{"eth_getBlockByNumber", []any{formatHex(height), false}})
	}
	answers, err := e.ask(ctx, calls...)
	if err != nil {
		return nil, err
	}
	var found []ethereum.Header
	for i, a := range answers {
		if a.err != nil {
			e.noteFault(a.err.Error())
			break
		}
		h, hasBlock, err := parseHeader(a.result)
		if err != nil || hasBlock && h.Height != from+int64(i) {
			e.noteFailure(errFormat)
			return nil, errFormat
		}
		if !hasBlock {
			break
		}
		found = append(found, h)
	}
	return found, nil
}

// Logs implements ethereum.Source. An endpoint's empty answer counts only if the endpoint has
// the last block of the range.
func (q *Quorum) Logs(ctx context.Context, span ethereum.Span, query ethereum.Query) ([]ethereum.Log, error) {
	var mu sync.Mutex
	indexes := map[ethereum.Log]int{}
	var union []ethereum.Log
	answered := askEach(ctx, q.panel, q.isEnough, func(ctx context.Context, e *endpoint) bool {
		found, err := e.logs(ctx, span, query)
		mu.Lock()
		defer mu.Unlock()
		for _, l := range found {
			i, known := indexes[l]
			if !known {
				i = len(union)
				indexes[l] = i
				union = append(union, l)
			}
			union[i].Operators |= e.operatorBit
		}
		return err == nil
	})
	if !q.isEnough(operatorsOf(answered)) {
		return nil, q.tooFew("return its transfers")
	}
	return union, nil
}

// logs returns the transfers in a range that the endpoint shows. With an error it returns those
// that were read before, because other endpoints can confirm them.
func (e *endpoint) logs(ctx context.Context, span ethereum.Span, query ethereum.Query) ([]ethereum.Log, error) {
	contracts := map[keys.EthereumAddress]bool{}
	for _, c := range query.Contracts {
		contracts[c] = true
	}
	var found []ethereum.Log
	for from := span.From; from <= span.To.Height; {
		size := min(e.span, span.To.Height-from+1)
		events, err := e.events(ctx, from, from+size-1, span, query)
		if errors.Is(err, errTooWide) && size > 1 {
			e.span, e.answeredRanges = size/2, 0
			continue
		}
		if err != nil {
			return found, err
		}
		for _, event := range events {
			if l, ok := event.transfer(contracts); ok && span.From <= l.Height && l.Height <= span.To.Height {
				found = append(found, l)
			}
		}
		from += size
		if e.answeredRanges++; e.answeredRanges > growAfter && e.span < firstSpan {
			e.span, e.answeredRanges = e.span*2, 0
		}
	}
	return found, nil
}

// errTooWide is the error for a range that an endpoint does not answer at once.
var errTooWide = errors.New("too many transfers for one answer")

// limitStep is a divisor of common limits: if the number of transfers in an answer is a
// multiple of it, the answer may be cut off.
const limitStep = 500

// events asks for the transfers in a part of a range and, in the same request, for the last
// block of the range, to check that the endpoint has it.
func (e *endpoint) events(ctx context.Context, from, to int64, span ethereum.Span, query ethereum.Query) ([]event, error) {
	filters := filtersOf(from, to, span, query)
	var calls []call
	for _, f := range filters {
		calls = append(calls, call{"eth_getLogs", []any{f}})
	}
	calls = append(calls, call{"eth_getBlockByNumber", []any{formatHex(span.To.Height), false}})
	answers, err := e.ask(ctx, calls...)
	if isRefused(err) && from < to {
		return nil, errTooWide
	}
	if err != nil {
		return nil, err
	}
	tip := answers[len(answers)-1]
	if h, hasBlock, err := parseHeader(tip.result); tip.err != nil || err != nil || !hasBlock || h.Hash != span.To.Hash {
		err := fmt.Errorf("no block %d, %s", span.To.Height, span.To.Hash)
		e.noteFault(err.Error())
		return nil, err
	}
	var found []event
	for _, a := range answers[:len(filters)] {
		if a.err != nil {
			if from < to {
				return nil, errTooWide
			}
			e.noteFault(a.err.Error())
			return nil, a.err
		}
		list, err := parseLogs(a.result)
		if err != nil {
			e.noteFailure(err)
			return nil, err
		}
		if len(list) > 0 && len(list)%limitStep == 0 && from < to {
			return nil, errTooWide
		}
		found = append(found, list...)
	}
	return found, nil
}

// filtersOf returns the filters for a part of a range. A single block is given by its hash, so
// that the answer cannot be about another block. See EIP-234.
func filtersOf(from, to int64, span ethereum.Span, query ethereum.Query) []map[string]any {
	filter := func() map[string]any {
		f := map[string]any{"address": addresses(query.Contracts), "topics": []any{transferTopic}}
		if from == to && to == span.To.Height {
			f["blockHash"] = span.To.Hash
		} else {
			f["fromBlock"], f["toBlock"] = formatHex(from), formatHex(to)
		}
		return f
	}
	if query.To == nil {
		return []map[string]any{filter()}
	}
	var filters []map[string]any
	for addresses := range slices.Chunk(query.To, maxTopics) {
		to := make([]string, len(addresses))
		for i, script := range addresses {
			to[i] = "0x000000000000000000000000" + strings.TrimPrefix(script, "0x")
		}
		f := filter()
		f["topics"] = []any{transferTopic, nil, to}
		filters = append(filters, f)
	}
	return filters
}

func addresses(contracts []keys.EthereumAddress) []string {
	list := make([]string, len(contracts))
	for i, c := range contracts {
		list[i] = c.String()
	}
	return list
}
