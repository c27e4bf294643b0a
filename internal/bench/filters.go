package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"

	"chequer/internal/chain/bitcoin"
)

// The chain that is caught up with: as many blocks as ten weeks have, with filters
// as large as those of small blocks and half as large as those of full ones. Some
// filters serve several blocks, as making them takes longer than matching.
const (
	missed        = 10_000
	filters       = 1_000
	filterScripts = 2_000
	waitedFor     = 1_000 // destinations
)

// catchUp prints how fast blocks that were missed are caught up with by filters.
func catchUp(ctx context.Context, random *rand.Rand) error {
	watched := set{}
	var scripts [][]byte
	for len(watched) < waitedFor {
		s := script(random)
		watched[hex.EncodeToString(s)] = true
		scripts = append(scripts, s)
	}
	made := make([]*filter, filters)
	for i := range made {
		var err error
		if made[i], err = newFilter(random, filterScripts); err != nil {
			return err
		}
	}
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
	begin = time.Now()
	for n := range missed {
		f := made[n%filters]
		if _, err := f.MatchAny(f.key, scripts); err != nil {
			return err
		}
	}
	matched := float64(missed) / time.Since(begin).Seconds()
	fmt.Printf("| %d missed blocks, filters of %d scripts, %d destinations, in %d scans | %.0f blocks/s | matching alone %.0f blocks/s | %.2f |\n",
		missed, filterScripts, waitedFor, scans, caught, matched, caught/matched)
	return nil
}
