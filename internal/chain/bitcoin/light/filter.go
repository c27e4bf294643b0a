package light

import (
	"encoding/hex"
	"fmt"
	"iter"

	"github.com/btcsuite/btcd/btcutil/gcs"
	"github.com/btcsuite/btcd/btcutil/gcs/builder"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
)

// batchSize is the number of scripts that are matched at once, which limits the memory for a million
// scripts.
const batchSize = 1 << 16

// matches reports whether a block's filter may contain one of the scripts, in hex.
func matches(filter *gcs.Filter, block *chainhash.Hash, scripts iter.Seq[string]) (bool, error) {
	if filter.N() == 0 {
		return false, nil
	}
	key := builder.DeriveKey(block)
	var list [][]byte
	var bytes []byte
	for script := range scripts {
		start := len(bytes)
		var err error
		if bytes, err = hex.AppendDecode(bytes, []byte(script)); err != nil {
			return false, fmt.Errorf("script %q: %w", script, err)
		}
		// Earlier slices keep their array when append moves bytes to another.
		if list = append(list, bytes[start:]); len(list) < batchSize {
			continue
		}
		if found, err := matchesAny(filter, key, list); found || err != nil {
			return found, err
		}
		list, bytes = list[:0], bytes[:0]
	}
	return matchesAny(filter, key, list)
}

// matchesAny reports whether a filter may contain one of the scripts. It confirms a match of MatchAny with
// ZipMatchAny, because for many scripts MatchAny compares only half of each hash.
func matchesAny(filter *gcs.Filter, key [gcs.KeySize]byte, scripts [][]byte) (bool, error) {
	found, err := filter.MatchAny(key, scripts)
	if !found || err != nil {
		return false, err
	}
	return filter.ZipMatchAny(key, scripts)
}
