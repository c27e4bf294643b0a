package bench_test

import (
	"encoding/hex"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
)

// The missed blocks: the number of blocks of ten weeks, with filters of the size of small blocks and of
// half the size of full blocks. Several blocks share a filter, because making a filter takes longer than
// matching it.
const (
	missedBlocks  = 10_000
	filterCount   = 1_000
	filterScripts = 2_000
)

// newFilters returns filterCount filters of random scripts.
func newFilters(b *testing.B, random *rand.Rand) []*filter {
	b.Helper()
	list := make([]*filter, filterCount)
	for i := range list {
		scripts := make([][]byte, filterScripts)
		for n := range scripts {
			scripts[n] = newScript(random)
		}
		list[i] = newFilter(b, random, scripts)
	}
	return list
}

// catchUp measures the number of missed blocks that are scanned per second with filters, and the number
// that are read because of false matches. One script in 784,931 matches falsely, so filters save little
// with a million destinations. See BIP 158, "Block filters". The baseline is the matching alone.
func catchUp(b *testing.B, watched chain.Watched, missed int, blockFilters []*filter, random *rand.Rand) {
	b.Helper()
	light := &source{}
	for n := range missed + 1 {
		light.extend(newBlock(random, nil, 0), blockFilters[n%filterCount])
	}
	scanner := bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), light, time.Now)
	start := time.Now()
	from, scans := light.headers[0].Cursor(), 0
	for behind := true; behind; scans++ {
		snapshot, err := scanner.Scan(b.Context(), from, watched)
		if err != nil {
			b.Fatal(err)
		}
		from, behind = snapshot.Next, snapshot.Behind
	}
	perSecond := float64(missed) / time.Since(start).Seconds()
	b.ReportMetric(perSecond, "blocks/s")
	b.ReportMetric(float64(light.read), "read")
	b.ReportMetric(float64(scans), "scans")
	reportRatio(b, "/s", perSecond, matchAlone(b, watched, missed, blockFilters))
}

// matchAlone matches decoded scripts, and returns the number of blocks per second.
func matchAlone(b *testing.B, watched chain.Watched, missed int, blockFilters []*filter) float64 {
	b.Helper()
	var scripts [][]byte
	list, _ := watched.Since(0)
	for s := range list {
		script, err := hex.DecodeString(s)
		if err != nil {
			b.Fatal(err)
		}
		scripts = append(scripts, script)
	}
	start := time.Now()
	for n := range missed {
		f := blockFilters[n%filterCount]
		if _, err := f.MatchAny(f.key, scripts); err != nil {
			b.Fatal(err)
		}
	}
	return float64(missed) / time.Since(start).Seconds()
}

// scriptSet is a set of watched scripts without owners.
type scriptSet []string

func (s scriptSet) Destination(script string) bool { return slices.Contains(s, script) }
func (s scriptSet) Outpoint(string) bool           { return false }

func (scriptSet) Recorded() iter.Seq[chain.Transfer] { return func(func(chain.Transfer) bool) {} }

func (s scriptSet) Since(mark uint64) (iter.Seq[string], uint64) {
	return slices.Values(s[mark:]), uint64(len(s))
}
