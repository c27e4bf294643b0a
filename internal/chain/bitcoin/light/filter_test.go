package light_test

import (
	"encoding/binary"
	"encoding/hex"
	"runtime"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/btcutil/gcs"
	"github.com/btcsuite/btcd/btcutil/gcs/builder"
	"github.com/btcsuite/btcd/chaincfg/chainhash"

	"chequer/internal/chain/bitcoin/light"
)

// p2wpkhScripts returns count different P2WPKH scripts, numbered from first on, as bytes and in hex.
func p2wpkhScripts(first, count int) (raw [][]byte, hexed []string) {
	for i := range count {
		s := binary.BigEndian.AppendUint64(append([]byte{0, 20}, make([]byte, 12)...), uint64(first+i))
		raw, hexed = append(raw, s), append(hexed, hex.EncodeToString(s))
	}
	return raw, hexed
}

// filter returns the filter of a block with scripts.
func filter(t testing.TB, block *chainhash.Hash, scripts [][]byte) *gcs.Filter {
	t.Helper()
	f, err := gcs.BuildGCSFilter(builder.DefaultP, builder.DefaultM, builder.DeriveKey(block), scripts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestMatches_finds_one_script_among_many(t *testing.T) {
	t.Parallel()
	block := &chainhash.Hash{1}
	raw, _ := p2wpkhScripts(0, 5_000)
	_, watched := p2wpkhScripts(1_000_000, 150_000)
	_, contained := p2wpkhScripts(4_999, 1)
	f := filter(t, block, raw)
	for _, position := range []int{0, 1<<16 - 1, 1 << 16, len(watched)} {
		if got, err := light.Matches(f, block, slices.Values(slices.Insert(slices.Clone(watched), position, contained...))); err != nil || !got {
			t.Errorf("script at %d: %t, %v, want a match", position, got, err)
		}
	}
	if got, err := light.Matches(f, block, slices.Values(watched[:1000])); err != nil || got {
		t.Errorf("other scripts: %t, %v, want no match", got, err)
	}
	if got, err := light.Matches(f, block, slices.Values([]string(nil))); err != nil || got {
		t.Errorf("no scripts: %t, %v, want no match", got, err)
	}
}

// BenchmarkMatches matches a million scripts with a filter of a full block.
func BenchmarkMatches(b *testing.B) {
	block := &chainhash.Hash{1}
	raw, _ := p2wpkhScripts(0, 10_000)
	_, watched := p2wpkhScripts(1_000_000, 1_000_000)
	f := filter(b, block, raw)
	// Remove false matches, which would end the search early.
	for from := 0; from < len(watched); {
		to := min(from+1000, len(watched))
		if found, err := light.Matches(f, block, slices.Values(watched[from:to])); found || err != nil {
			watched = slices.Delete(watched, from, to)
		} else {
			from = to
		}
	}
	runtime.GC()
	b.ReportAllocs()
	for b.Loop() {
		if found, err := light.Matches(f, block, slices.Values(watched)); found || err != nil {
			b.Fatal(found, err)
		}
	}
}
