package merchant

import (
	"sync"
	"time"
)

// cacheTTL is the time for which values read from storage are cached: a revoked key is refused by a
// running server within this time.
const cacheTTL = time.Second

// maxCached bounds the number of entries in each cache.
const maxCached = 10_000

// cache holds values read from storage. It is safe for concurrent use.
type cache[T any] struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[string]entry[T]
}

// entry is a value with the time at which it was read.
type entry[T any] struct {
	value T
	at    time.Time
}

func newCache[T any](now func() time.Time) *cache[T] {
	return &cache[T]{now: now, entries: map[string]entry[T]{}}
}

// get returns the value of a key. It reads the value if the cached value is missing or too old.
func (c *cache[T]) get(key string, read func() (T, error)) (T, error) {
	now := c.now()
	c.mu.Lock()
	e, known := c.entries[key]
	c.mu.Unlock()
	if age := now.Sub(e.at); known && age >= 0 && age < cacheTTL {
		return e.value, nil
	}
	value, err := read()
	if err == nil {
		c.put(key, value, now)
	}
	return value, err
}

// remove removes the value of a key.
func (c *cache[T]) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}

// put stores the value of a key.
func (c *cache[T]) put(key string, value T, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= maxCached {
		clear(c.entries)
	}
	c.entries[key] = entry[T]{value: value, at: at}
}
