package keys

import "sync"

// maxCached is the maximum number of keys in a Cache: far more than a server has wallets, and still little
// memory.
const maxCached = 1024

// Cache caches the results of Load, because checking a key and deriving its branch cost more than
// deriving an address. The zero value is ready to use. It is safe for concurrent use.
type Cache struct {
	mu   sync.Mutex
	keys map[string]Key
}

// Load returns the key of a stored text, like the function Load. Errors are not cached.
func (c *Cache) Load(text string) (Key, error) {
	return c.cached(text, func() (Key, error) { return Load(text) })
}

// LoadOn is like Load, and returns the key for the addresses of a network. See Key.On.
func (c *Cache) LoadOn(text string, network Network) (Key, error) {
	return c.cached(string(network)+" "+text, func() (Key, error) {
		key, err := Load(text)
		if err != nil {
			return Key{}, err
		}
		return key.On(network)
	})
}

func (c *Cache) cached(name string, read func() (Key, error)) (Key, error) {
	c.mu.Lock()
	key, ok := c.keys[name]
	c.mu.Unlock()
	if ok {
		return key, nil
	}
	key, err := read()
	if err != nil {
		return Key{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil || len(c.keys) >= maxCached { // a full cache is emptied
		c.keys = make(map[string]Key)
	}
	c.keys[name] = key
	return key, nil
}
