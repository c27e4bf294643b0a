package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
)

// The chain to catch up with: as many blocks as ten weeks have, with filters as large as those of
// small blocks and half as large as those of full ones. Several blocks share a filter, because
// making one takes longer than matching it.
const (
	missed        = 10_000
	filters       = 1_000
	filterScripts = 2_000
)

// catchUp prints how fast missed blocks are scanned with filters, for a thousand destinations, and
// for so many that filters help little: one script in 784,931 matches falsely. See BIP 158, "Block
// filters".
func catchUp(ctx context.Context, million chain.Watched, random *rand.Rand) error {
	some := set{}
	for range 1_000 {
		some = append(some, hex.EncodeToString(script(random)))
	}
	made := make([]*filter, filters)
	for i := range made {
		var err error
		if made[i], err = newFilter(random, filterScripts); err != nil {
			return err
		}
	}
	if err := catchUpFor(ctx, some, missed, made, random); err != nil {
		return err
	}
	return catchUpFor(ctx, million, missed/100, made, random)
}

func catchUpFor(ctx context.Context, watched chain.Watched, missed int, made []*filter, random *rand.Rand) error {
	light := &source{}
	for n := range missed + 1 {
		light.extend(message(random, nil, 0), made[n%filters])
	}
	scanner := bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), light, time.Now)
	begin := time.Now()
	from, scans := light.headers[0].Cursor(), 0
	for behind := true; behind; scans++ {
		snapshot, err := scanner.Scan(ctx, from, watched)
		if err != nil {
			return err
		}
		from, behind = snapshot.Next, snapshot.Behind
	}
	caught := float64(missed) / time.Since(begin).Seconds()
	matched, destinations, err := matchAlone(watched, missed, made)
	fmt.Printf("| %d missed blocks, filters of %d scripts, %d destinations | %.0f blocks/s, %d read by false matches, %d scans | matching without the program %.0f blocks/s | %.2f |\n",
		missed, filterScripts, destinations, caught, light.read, scans, matched, caught/matched)
	return err
}

// matchAlone matches decoded scripts, and returns the number of blocks per second.
func matchAlone(watched chain.Watched, missed int, made []*filter) (perSecond float64, destinations int, err error) {
	var scripts [][]byte
	list, _ := watched.Since(0)
	for s := range list {
		script, err := hex.DecodeString(s)
		if err != nil {
			return 0, 0, err
		}
		scripts = append(scripts, script)
	}
	begin := time.Now()
	for n := range missed {
		f := made[n%filters]
		if _, err := f.MatchAny(f.key, scripts); err != nil {
			return 0, 0, err
		}
	}
	return float64(missed) / time.Since(begin).Seconds(), len(scripts), nil
}

// set is a set of watched scripts without owners.
type set []string

func (s set) Destination(script string) bool { return slices.Contains(s, script) }
func (s set) Outpoint(string) bool           { return false }

func (set) Recorded() iter.Seq[chain.Transfer] { return func(func(chain.Transfer) bool) {} }

func (s set) Since(mark uint64) (iter.Seq[string], uint64) {
	return slices.Values(s[mark:]), uint64(len(s))
}
