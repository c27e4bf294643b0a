package main

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcutil/gcs"
	"github.com/btcsuite/btcd/btcutil/gcs/builder"

	"chequer/internal/chain/bitcoin"
)

// A scan of the chain finds the payments in its blocks. With filters it reads only the blocks whose
// filters match.
func TestSource(t *testing.T) {
	t.Parallel()
	for name, filtered := range map[string]bool{"a node": false, "blocks with filters": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			paid := script(random)
			s := &source{}
			for height := range 10 {
				var f *filter
				scripts := [][]byte{script(random)}
				var pays [][]byte
				if height == 7 {
					pays = [][]byte{paid}
					scripts = append(scripts, paid)
				}
				if filtered {
					f = &filter{}
					var err error
					if f.Filter, err = gcs.BuildGCSFilter(builder.DefaultP, builder.DefaultM, f.key, scripts); err != nil {
						t.Fatal(err)
					}
				}
				s.extend(message(random, pays, 5), f)
			}
			scanner := bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), s, time.Now)
			got, err := scanner.Scan(t.Context(), s.headers[0].Cursor(), set{hex.EncodeToString(paid)})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Transfers) != 1 || got.Transfers[0].Block.Height != 7 || got.Tip.Height != 9 {
				t.Errorf("transfers %+v up to block %d, want one in block 7", got.Transfers, got.Tip.Height)
			}
			if want := map[bool]int{false: 9, true: 1}[filtered]; s.read != want {
				t.Errorf("%d blocks were read, want %d", s.read, want)
			}
		})
	}
}

func TestMatcher_matches_more_scripts_than_a_chunk(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	paid := script(random)
	f := &filter{}
	var err error
	if f.Filter, err = gcs.BuildGCSFilter(builder.DefaultP, builder.DefaultM, f.key, [][]byte{paid}); err != nil {
		t.Fatal(err)
	}
	list := make([]string, chunk)
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
