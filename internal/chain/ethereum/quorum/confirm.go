package quorum

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"chequer/internal/chain/ethereum"
)

// verdict has the operators that confirm one log, and those that deny it.
type verdict struct{ yes, no uint64 }

// Confirm implements ethereum.Source. Each endpoint whose operator has not shown a log is asked for
// the receipt of the log's transaction. A log is confirmed if enough operators have it in the same
// block, and denied if enough operators have the block without the log.
func (q *Quorum) Confirm(ctx context.Context, logs []ethereum.Log) ([]ethereum.Log, error) {
	verdicts := make([]verdict, len(logs))
	for i, l := range logs {
		verdicts[i].yes = l.Operators & operatorsOf(q.panel)
	}
	var mu sync.Mutex
	decided := func(uint64) bool {
		mu.Lock()
		defer mu.Unlock()
		return !slices.ContainsFunc(verdicts, func(v verdict) bool { return q.isEnough(v.yes) == q.isEnough(v.no) })
	}
	askEach(ctx, q.panel, decided, func(ctx context.Context, e *endpoint) bool {
		var requested []int
		for i, l := range logs {
			if l.Operators&e.operatorBit == 0 {
				requested = append(requested, i)
			}
		}
		confirmed, err := e.confirm(ctx, logs, requested)
		mu.Lock()
		defer mu.Unlock()
		for i, yes := range confirmed {
			if yes {
				verdicts[i].yes |= e.operatorBit
			} else {
				verdicts[i].no |= e.operatorBit
			}
		}
		return err == nil
	})
	return q.evaluate(logs, verdicts)
}

// evaluate returns the confirmed logs. It returns an error if a log is neither confirmed nor
// denied, or both. A log without Operators was confirmed by an earlier process: it counts as
// denied only if no operator confirms it.
func (q *Quorum) evaluate(logs []ethereum.Log, verdicts []verdict) ([]ethereum.Log, error) {
	var confirmed []ethereum.Log
	for i, l := range logs {
		yes, no := q.isEnough(verdicts[i].yes), q.isEnough(verdicts[i].no)
		recorded := l.Operators == 0
		switch {
		case yes && no:
			return nil, fmt.Errorf("endpoints disagree about transfer %s in block %d", l.Tx, l.Height)
		case yes:
			confirmed = append(confirmed, l)
		case recorded && (!no || verdicts[i].yes != 0):
			return nil, fmt.Errorf("recorded transfer %s in block %d is not confirmed by enough endpoints, and not denied by enough without a confirmation", l.Tx, l.Height)
		case no:
			q.noteDenials(l)
		default:
			return nil, fmt.Errorf("transfer %s in block %d is shown by %s, and others do not confirm it yet", l.Tx, l.Height, q.namesOf(verdicts[i].yes|l.Operators))
		}
	}
	return confirmed, nil
}

// noteDenials records that a log was denied, for each endpoint of the operators that showed it.
func (q *Quorum) noteDenials(l ethereum.Log) {
	for _, e := range q.endpoints {
		if e.operatorBit&l.Operators != 0 {
			e.noteDenied(fmt.Sprintf("transfer %s in block %d", l.Tx, l.Height))
			q.Log.Warn("endpoint shows a transfer that others deny", "network", q.Network, "endpoint", e.name, "tx", l.Tx, "block", l.Height)
		}
	}
}

// namesOf returns the names of the endpoints of the given operators.
func (q *Quorum) namesOf(operators uint64) string {
	var names []string
	for _, e := range q.endpoints {
		if e.operatorBit&operators != 0 {
			names = append(names, e.name)
		}
	}
	return strings.Join(names, " and ")
}

// confirm requests the receipts of the logs at the indexes requested. The result maps an index to
// true if the endpoint has the log, and to false if it has the log's block without the log. There is no entry if the endpoint lacks the block,
// if its block has the transaction but the receipt is missing, or if one of the calls returned an error.
func (e *endpoint) confirm(ctx context.Context, logs []ethereum.Log, requested []int) (map[int]bool, error) {
	if len(requested) == 0 {
		return nil, nil
	}
	var calls []call
	for _, i := range requested {
		calls = append(calls,
			call{"eth_getTransactionReceipt", []any{logs[i].Tx.String()}},
			call{"eth_getBlockByNumber", []any{formatHex(logs[i].Height), false}})
	}
	answers, err := e.ask(ctx, calls...)
	if err != nil {
		return nil, err
	}
	confirmed := map[int]bool{}
	for n, i := range requested {
		receiptAnswer, block := answers[2*n], answers[2*n+1]
		if receiptAnswer.err != nil || block.err != nil {
			continue
		}
		r, err := parseReceipt(receiptAnswer.result)
		h, hasBlock, headErr := parseHeader(block.result)
		if err != nil || headErr != nil {
			e.noteFailure(errFormat)
			return nil, errFormat
		}
		switch {
		case !hasBlock || h.Hash != logs[i].Block.String(): // the endpoint does not have the block
		case r == nil && blockHas(block.result, logs[i].Tx): // the endpoint does not return the receipt yet
		default:
			confirmed[i] = r.contains(logs[i])
		}
	}
	return confirmed, nil
}
