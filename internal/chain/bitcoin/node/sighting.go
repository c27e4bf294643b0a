package node

import (
	"context"
	"time"
)

// blink is how long nobody may have looked without that being a gap.
const blink = 30 * time.Second

// since is since when our sightings are without a gap: since we look, but not before
// the node started. What waited and was mined while nobody looked has left no
// sighting, however long the node ran.
func (n *Node) since(s state) time.Time {
	if n.looked.IsZero() || s.begin.Sub(n.looked) > blink {
		n.looking = s.begin
	}
	n.looked = s.begin
	if start := n.start(s); start.After(n.looking) {
		return start
	}
	return n.looking
}

// start is when the node started, by our clock: our first look when it does not
// tell. It tells whole seconds; the earliest time that is sure is kept for as long
// as it may be the same start.
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

// date finds out when the node saw the transactions that pay destinations.
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

// waitingSince is the time in a mempool entry, in whole seconds.
type waitingSince struct{ Time int64 }

// dateAll is date for btcd, which tells the times of all that waits at once: that
// is too much when we know nearly as well.
func (n *Node) dateAll(ctx context.Context, entries []*entry) error {
	var all map[string]waitingSince
	for _, e := range entries {
		if e.seen.IsZero() && all == nil {
			if err := n.rpc.call(ctx, &all, "getrawmempool", true); err != nil {
				return err
			}
		}
		if t, told := all[e.tx.ID]; told {
			e.date(t, n.rpc.ahead)
		}
		e.asked = true
	}
	return nil
}

// date makes the node's time the first sighting, where it can be: it is the end
// of the node's second, at which it was there for sure, and it lies between our
// two lists. A time that does not is of another clock, and says nothing.
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
