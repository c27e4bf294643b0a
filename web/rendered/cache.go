package rendered

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// maxPageBytes is the largest size of all pages in a Cache.
	maxPageBytes = 8 << 20
	// maxPages is the largest number of pages in a Cache.
	maxPages = 4000
)

// Cache holds compressed pages of invoices. A page whose content changes gets another key, and the page with the
// former key is not found any more. If the cache is full, it removes the pages that were not used for the longest time. It
// is safe for concurrent use.
type Cache[K comparable] struct {
	mu    sync.Mutex
	pages *simplelru.LRU[K, *Page]
	bytes int
}

// NewCache returns an empty cache.
func NewCache[K comparable]() *Cache[K] {
	c := &Cache[K]{}
	pages, err := simplelru.NewLRU(maxPages, func(_ K, p *Page) { c.bytes -= p.size() })
	if err != nil {
		panic(err) // the size is not positive
	}
	c.pages = pages
	return c
}

// Find returns the page with a key.
func (c *Cache[K]) Find(key K) (*Page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pages.Get(key)
}

// Add adds a page, or replaces the page with the same key.
func (c *Cache[K]) Add(key K, p *Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages.Remove(key)
	c.bytes += p.size()
	c.pages.Add(key, p)
	for c.bytes > maxPageBytes {
		c.pages.RemoveOldest()
	}
}
