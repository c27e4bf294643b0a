package light

import "time"

// queue is a bounded list of entries, oldest first.
type queue struct {
	items []queueItem
	bytes int
}

// queueItem is an entry with the bytes that it counts for.
type queueItem struct {
	entry *entry
	bytes int
}

// add appends an entry.
func (q *queue) add(e *entry, bytes int) {
	q.items = append(q.items, queueItem{e, bytes})
	q.bytes += bytes
}

// drop removes the oldest entries until the others are within the limits and not older than
// oldest.
func (q *queue) drop(maxCount, maxBytes int, oldest time.Time) (dropped []*entry) {
	for len(q.items) > 0 {
		item := q.items[0]
		if len(q.items) <= maxCount && q.bytes <= maxBytes && !item.entry.first.Before(oldest) {
			break
		}
		q.items[0] = queueItem{}
		q.items, q.bytes = q.items[1:], q.bytes-item.bytes
		dropped = append(dropped, item.entry)
	}
	return dropped
}
