package light

import "github.com/btcsuite/btcd/chaincfg/chainhash"

// Heard tells whether enough peers announced a transaction, and it was fetched.
func Heard(c *Client, tx string) bool {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.parts == nil {
		return false
	}
	id, err := chainhash.NewHashFromStr(tx)
	if err != nil {
		return false
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	e := c.pool.entries[*id]
	return e != nil && e.sure()
}
