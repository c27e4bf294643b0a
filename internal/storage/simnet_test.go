package storage_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/chain/simnet"
	"chequer/internal/storage"
)

func block(height int64, hash string) simnet.Block {
	return simnet.Block{Height: height, Hash: hash, Parent: fmt.Sprint("parent of ", hash), Time: noon.Add(time.Duration(height) * time.Minute)}
}

func tx(id string, height int64) simnet.Tx {
	return simnet.Tx{
		ID: id, Seen: noon, Height: height, Spends: []string{id + "-in:0"},
		Outputs: []simnet.Output{{Asset: "BTC", Script: "0014aa", Units: "65379"}, {Asset: "EURC", Script: "0x01", Units: "123456789012345678901234567890"}},
	}
}

func TestSimnet_is_read_back_after_a_change(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		checkTip := func(want int64) {
			t.Helper()
			if got, err := s.SimnetTip(t.Context()); err != nil || got != want {
				t.Errorf("tip: got %d, %v, want %d", got, err, want)
			}
		}
		update := func(above int64, change func(*simnet.Chain)) {
			t.Helper()
			err := s.UpdateSimnet(t.Context(), above, func(c *simnet.Chain) error {
				change(c)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		check := func(above int64, want simnet.Chain) {
			t.Helper()
			got, err := s.SimnetChain(t.Context(), above)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("chain above %d: error %v (-want +got):\n%s", above, err, diff)
			}
		}
		checkTip(-1)
		check(-1, simnet.Chain{})

		update(-1, func(c *simnet.Chain) {
			c.Blocks = []simnet.Block{block(0, "b0"), block(1, "b1"), block(2, "b2")}
			c.Txs = []simnet.Tx{tx("deep", 0), tx("high", 2), tx("waiting", -1)}
		})
		checkTip(2)
		check(-1, simnet.Chain{
			Blocks: []simnet.Block{block(0, "b0"), block(1, "b1"), block(2, "b2")},
			Txs:    []simnet.Tx{tx("deep", 0), tx("high", 2), tx("waiting", -1)},
		})
		check(0, simnet.Chain{
			Blocks: []simnet.Block{block(1, "b1"), block(2, "b2")},
			Txs:    []simnet.Tx{tx("high", 2), tx("waiting", -1)},
		})

		// A reorganisation removes one block and changes another. One transaction is unconfirmed
		// again, one is replaced, and its replacement is new. The lowest block stays.
		update(0, func(c *simnet.Chain) {
			c.Blocks = []simnet.Block{block(1, "c1")}
			high, waiting := tx("high", -1), tx("waiting", -1)
			waiting.ReplacedBy = "other"
			c.Txs = []simnet.Tx{high, waiting, tx("other", 1)}
		})
		checkTip(1)
		check(-1, simnet.Chain{
			Blocks: []simnet.Block{block(0, "b0"), block(1, "c1")},
			Txs:    []simnet.Tx{tx("deep", 0), tx("high", -1), tx("other", 1)},
		})
		// The replacement is removed.
		update(0, func(c *simnet.Chain) { c.Txs = c.Txs[:1] })
		check(0, simnet.Chain{Blocks: []simnet.Block{block(1, "c1")}, Txs: []simnet.Tx{tx("high", -1)}})

		broke := errors.New("broke")
		err := s.UpdateSimnet(t.Context(), -1, func(c *simnet.Chain) error {
			*c = simnet.Chain{}
			return broke
		})
		if !errors.Is(err, broke) {
			t.Errorf("failed change: got error %v", err)
		}
		checkTip(1)
	})
}

func TestUpdateSimnet_loses_no_block_of_two_processes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		other := open(t, url)
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				process := s
				if i%2 == 1 {
					process = other
				}
				err := process.UpdateSimnet(t.Context(), -1, func(c *simnet.Chain) error {
					c.Blocks = append(c.Blocks, block(int64(len(c.Blocks)), fmt.Sprint("b", i)))
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if tip, err := s.SimnetTip(t.Context()); err != nil || tip != 19 {
			t.Errorf("got tip %d, %v, want 19", tip, err)
		}
	})
}
