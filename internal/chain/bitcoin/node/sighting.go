package node

import (
	"context"
	"time"
)

// maxGap is the greatest time between two listings of the mempool without a gap in the view.
const maxGap = 30 * time.Second

// sightingsSince returns the time since which sightings have no gap: the start of the polling or of the
// node, whichever is later. If two listings are more than maxGap apart, polling starts again: a
// transaction that was mined between them has no sighting.
func (n *Node) sightingsSince(s state) time.Time {
	if n.viewed.IsZero() || s.start.Sub(n.viewed) > maxGap {
		n.viewSince = s.start
	}
	n.viewed = s.start
	if start := n.startTime(s); start.After(n.viewSince) {
		return start
	}
	return n.viewSince
}

// startTime returns the earliest time at which the node certainly had started, by this machine's
// clock. The node reports its uptime in whole seconds, so each uptime gives a range of times. If
// a range begins after the known start, the node has restarted. For a node that does not report
// its uptime, startTime returns the time of the first listing.
func (n *Node) startTime(s state) time.Time {
	uptime := time.Duration(s.uptime) * time.Second
	earliest, latest := s.start.Add(-uptime-time.Second), s.end.Add(-uptime)
	switch {
	case s.uptime < 0 && n.startedAt.IsZero():
		n.startedAt = s.start
	case s.uptime < 0:
	case n.startedAt.IsZero() || earliest.After(n.startedAt):
		n.startedAt, n.listings = latest, 0
		n.config.Log.Info("node started", "node", n.host, "at", latest.UTC())
	case latest.Before(n.startedAt):
		n.startedAt = latest
	}
	return n.startedAt
}

// requestTimes asks the node for the times and fees of the transactions that pay destinations.
func (n *Node) requestTimes(ctx context.Context) error {
	var requests []*request
	var entries []*entry
	for id, e := range n.mempool.entries {
		if e.tx != nil && !e.timeRequested {
			requests = append(requests, newRequest(new(poolEntry), "getmempoolentry", id.String()))
			entries = append(entries, e)
		}
	}
	if len(requests) == 0 {
		return nil
	}
	if err := n.rpc.sendBatch(ctx, requests...); err != nil {
		return err
	}
	if isUnknownMethod(requests[0].err) {
		return n.requestAllTimes(ctx, entries)
	}
	for i, r := range requests {
		if hasCode(r.err, codeNotFound) { // it has left the mempool since the listing
			continue
		}
		if r.err != nil {
			return r.err
		}
		answer := *r.result.(*poolEntry)
		entries[i].fee = answer.fee()
		entries[i].setSeen(answer.Time, n.rpc.clockLead)
		entries[i].timeRequested = true
	}
	return nil
}

// requestAllTimes is requestTimes for btcd, which returns the times of all transactions at once. The answer is
// large, so it is requested only if a transaction has no time yet.
func (n *Node) requestAllTimes(ctx context.Context, entries []*entry) error {
	var entryTimes map[string]poolEntry
	for _, e := range entries {
		if e.seen.IsZero() && entryTimes == nil {
			if err := n.rpc.call(ctx, &entryTimes, "getrawmempool", true); err != nil {
				return err
			}
		}
		if t, known := entryTimes[e.tx.ID]; known {
			e.setSeen(t.Time, n.rpc.clockLead)
		}
		e.timeRequested = true
	}
	return nil
}

// setSeen sets the first sighting to the end of the second that the node reports as the entry time, when the
// transaction certainly was in the mempool. If that is not between the two listings, the clocks
// differ, and the time of the second listing is used. A transaction that returned keeps its first sighting.
func (e *entry) setSeen(entered int64, clockLead time.Duration) {
	seen := time.Unix(entered+1, 0).Add(clockLead)
	switch {
	case e.returned:
		return
	case entered <= 0, !seen.After(e.arrival.after):
		if e.arrival.after.IsZero() {
			return
		}
		seen = e.arrival.until
	case seen.After(e.arrival.until):
		seen = e.arrival.until
	}
	e.seen = seen.UTC()
}
