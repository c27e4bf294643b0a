package bench_test

import (
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/btcutil/gcs"
	"github.com/btcsuite/btcd/btcutil/gcs/builder"
)

// filter is a block's filter with its key.
type filter struct {
	*gcs.Filter
	key [gcs.KeySize]byte
}

// newFilter returns a filter of scripts with a random key. See BIP 158.
func newFilter(t testing.TB, random *rand.Rand, scripts [][]byte) *filter {
	t.Helper()
	f := &filter{}
	fill(random, f.key[:])
	var err error
	if f.Filter, err = gcs.BuildGCSFilter(builder.DefaultP, builder.DefaultM, f.key, scripts); err != nil {
		t.Fatal(err)
	}
	return f
}

// chunkSize is the number of scripts that are matched at once.
const chunkSize = 1 << 16

// matcher matches scripts in chunks, like the light client.
type matcher struct {
	list   [][]byte
	buffer []byte // the memory of the list's scripts
}

// matches reports whether a filter may contain one of the scripts.
func (m *matcher) matches(f *filter, scripts iter.Seq[string]) (bool, error) {
	m.list, m.buffer = m.list[:0], m.buffer[:0]
	for script := range scripts {
		start := len(m.buffer)
		var err error
		if m.buffer, err = hex.AppendDecode(m.buffer, []byte(script)); err != nil {
			return false, fmt.Errorf("script %q: %w", script, err)
		}
		if m.list = append(m.list, m.buffer[start:]); len(m.list) < chunkSize {
			continue
		}
		if found, err := f.MatchAny(f.key, m.list); found || err != nil {
			return found, err
		}
		m.list, m.buffer = m.list[:0], m.buffer[:0]
	}
	return f.MatchAny(f.key, m.list)
}

func TestMatcher_matches_more_scripts_than_a_chunk(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	paid := newScript(random)
	f := newFilter(t, random, [][]byte{paid})
	list := make([]string, chunkSize)
	for i := range list {
		list[i] = "00"
	}
	var m matcher
	for _, test := range []struct {
		scripts []string
		want    bool
	}{{list[:10], false}, {append(slices.Clone(list), hex.EncodeToString(paid)), true}} {
		if got, err := m.matches(f, slices.Values(test.scripts)); err != nil || got != test.want {
			t.Errorf("%d scripts match: %t, %v, want %t", len(test.scripts), got, err, test.want)
		}
	}
	if _, err := m.matches(f, slices.Values([]string{"no hex"})); err == nil {
		t.Error("a script that is not hex is accepted")
	}
}
