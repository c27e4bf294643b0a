package keys

import (
	"errors"
	"fmt"
)

// matchedIndexes is the number of indexes in which Match looks for an address.
const matchedIndexes = 1000

// ErrNoMatch means that a key does not derive an address. The key and the address are of different accounts
// or of different wallets, or the wallet gives addresses of another type.
var ErrNoMatch = errors.New("not an address of this key")

// Match parses a key like Parse, and returns it with the index at which it derives a receiving address of the
// wallet, below 1000. Of a key that does not determine the script of its addresses, it tries every script.
// The errors are those of Parse except for ErrScript, those of ParseAddress, and ErrNoMatch.
func Match(text string, kind Kind, network Network, address string) (Key, uint32, error) {
	candidates, err := parseScripts(text, kind, network)
	if err != nil {
		return Key{}, 0, err
	}
	_, want, err := ParseAddress(clean(address), kind, network)
	if err != nil {
		return Key{}, 0, err
	}
	for index := range uint32(matchedIndexes) {
		for _, key := range candidates {
			_, script, err := key.Address(index)
			if err != nil {
				return Key{}, 0, fmt.Errorf("address %d: %w", index, err)
			}
			if script == want {
				return key, index, nil
			}
		}
	}
	return Key{}, 0, ErrNoMatch
}

// parseScripts parses a key once for each script that its addresses may have.
func parseScripts(text string, kind Kind, network Network) ([]Key, error) {
	key, err := Parse(text, kind, network, "")
	if !errors.Is(err, ErrScript) {
		return []Key{key}, err
	}
	var candidates []Key
	for _, script := range Scripts(kind) {
		key, parseErr := Parse(text, kind, network, script)
		if errors.Is(parseErr, ErrScript) {
			continue
		}
		if parseErr != nil {
			return nil, parseErr
		}
		candidates = append(candidates, key)
	}
	if len(candidates) == 0 {
		return nil, err
	}
	return candidates, nil
}
