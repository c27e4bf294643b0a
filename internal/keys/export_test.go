package keys

// MaxCached is maxCached.
const MaxCached = maxCached

// Len returns the number of cached keys.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.keys)
}
