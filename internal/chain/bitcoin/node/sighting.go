package node

import (
	"context"
	"time"
)

// maxGap is the greatest time between two lists without a gap in the view.
const maxGap = 30 * time.Second

// since returns the time since which sightings have no gap: since the node is polled, but not
// before its start. A transaction that was mined between two lists too far apart has no
// sighting, even if the node ran all the time.
func (n *Node) since(s state) time.Time {
	if n.viewed.IsZero() || s.begin.Sub(n.viewed) > maxGap {
		n.viewSince = s.begin
	}
	n.viewed = s.begin
	if start := n.start(s); start.After(n.viewSince) {
		return start
	}
	return n.viewSince
}

// start returns when the node started, by our clock; the time of the first list if the node
// does not report its uptime. The uptime is in whole seconds: start returns the earliest time
// that is certain, as long as the uptimes may be of the same start.
func (n *Node) start(s state) time.Time {
	up := time.Duration(s.uptime) * time.Second
	earliest, latest := s.begin.Add(-up-time.Second), s.end.Add(-up)
	switch {
	case s.uptime < 0 && n.began.IsZero():
		n.began = s.begin
	case s.uptime < 0:
	case n.began.IsZero() || earliest.After(n.began):
		n.began, n.lists = latest, 0
		n.config.Log.Info("node started", "node", n.host, "at", latest.UTC())
	case latest.Before(n.began):
		n.began = latest
	}
	return n.began
}

// date asks the node for the times of the transactions that pay destinations.
func (n *Node) date(ctx context.Context) error {
	var requests []*request
	var entries []*entry
	for id, e := range n.mempool.entries {
		if e.tx != nil && !e.asked {
			requests = append(requests, ask(new(waitingSince), "getmempoolentry", id.String()))
			entries = append(entries, e)
		}
	}
	if len(requests) == 0 {
		return nil
	}
	if err := n.rpc.do(ctx, requests...); err != nil {
		return err
	}
	if unknown(requests[0].err) {
		return n.dateAll(ctx, entries)
	}
	for i, r := range requests {
		if r.err == nil {
			entries[i].date(*r.result.(*waitingSince), n.rpc.ahead)
		} else if !refused(r.err, codeNotFound) {
			return r.err
		}
		entries[i].asked = true
	}
	return nil
}

// waitingSince is the entry time of a mempool entry, in whole seconds.
type waitingSince struct{ Time int64 }

// dateAll is date for btcd, which returns the times of all transactions at once. That is much
// data, so it is requested only if a transaction has no time yet.
func (n *Node) dateAll(ctx context.Context, entries []*entry) error {
	var all map[string]waitingSince
	for _, e := range entries {
		if e.seen.IsZero() && all == nil {
			if err := n.rpc.call(ctx, &all, "getrawmempool", true); err != nil {
				return err
			}
		}
		if t, known := all[e.tx.ID]; known {
			e.date(t, n.rpc.ahead)
		}
		e.asked = true
	}
	return nil
}

// date sets the first sighting to the node's time, if that is possible: the end of the node's
// second, at which the transaction certainly was in the mempool. It must be between the two
// lists; otherwise the clocks differ, and the node's time is not used.
func (e *entry) date(t waitingSince, ahead time.Duration) {
	seen := time.Unix(t.Time+1, 0).Add(ahead)
	switch {
	case t.Time <= 0, !seen.After(e.list.after):
		if e.list.after.IsZero() {
			return
		}
		seen = e.list.by
	case seen.After(e.list.by):
		seen = e.list.by
	}
	e.seen = seen.UTC()
}
