package light

import "time"

// queue is a bounded list of entries, oldest first.
type queue struct {
	places []position
	bytes  int
}

type position struct {
	entry *entry
	bytes int
}

// add appends an entry.
func (q *queue) add(e *entry, bytes int) {
	q.places = append(q.places, position{e, bytes})
	q.bytes += bytes
}

// drop removes the oldest entries until the others are within the limits and not older than
// oldest.
func (q *queue) drop(maxCount, maxBytes int, oldest time.Time) (dropped []*entry) {
	for len(q.places) > 0 {
		p := q.places[0]
		if len(q.places) <= maxCount && q.bytes <= maxBytes && !p.entry.first.Before(oldest) {
			break
		}
		q.places[0] = position{}
		q.places, q.bytes = q.places[1:], q.bytes-p.bytes
		dropped = append(dropped, p.entry)
	}
	return dropped
}
