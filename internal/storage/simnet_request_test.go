package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/simnet"
	"chequer/internal/storage"
)

// simnetRequest returns an open request that ends some minutes after noon.
func simnetRequest(hash string, minutes int) simnet.PaymentRequest {
	return simnet.PaymentRequest{Hash: hash, Satoshis: 2_100, Until: noon.Add(time.Duration(minutes) * time.Minute), State: simnet.Open}
}

func TestSimnetRequest_changes_with_the_chain_in_one_transaction(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		want := simnetRequest("aa", 20)
		if err := s.AddSimnetRequest(t.Context(), want, noon); err != nil {
			t.Fatal(err)
		}
		if err := s.AddSimnetRequest(t.Context(), want, noon); err == nil {
			t.Error("a request is stored twice")
		}
		update := func(hash string, result error) error {
			return s.UpdateSimnetRequest(t.Context(), hash, -1, func(c *simnet.Chain, r *simnet.PaymentRequest) error {
				if diff := cmp.Diff(*r, want); diff != "" {
					t.Errorf("stored request (-got +want):\n%s", diff)
				}
				c.Blocks = append(c.Blocks, block(int64(len(c.Blocks)), fmt.Sprint("b", len(c.Blocks))))
				c.Txs = append(c.Txs, tx(fmt.Sprint(hash, len(c.Txs)), 0))
				r.State = simnet.Settled
				return result
			})
		}
		check := func(blocks int) {
			t.Helper()
			c, err := s.SimnetChain(t.Context(), -1)
			if err != nil || len(c.Blocks) != blocks || len(c.Txs) != blocks {
				t.Errorf("got %+v, %v, want %d blocks and transactions", c, err, blocks)
			}
		}
		broke := errors.New("broke")
		if err := update("aa", broke); !errors.Is(err, broke) {
			t.Errorf("failed change: got error %v", err)
		}
		check(0)
		if err := update("aa", nil); err != nil {
			t.Fatal(err)
		}
		check(1)
		want.State = simnet.Settled
		s = open(t, url) // another process
		if err := update("aa", nil); err != nil {
			t.Fatal(err)
		}
		check(2)
		if err := update("bb", nil); !errors.Is(err, simnet.ErrUnknownRequest) {
			t.Errorf("unknown request: got error %v", err)
		}
		check(2)
	})
}

// Each new request deletes at most ten that ended before a time, the oldest first.
func TestAddSimnetRequest_deletes_ended_requests(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for i := range 25 {
			if err := s.AddSimnetRequest(t.Context(), simnetRequest(fmt.Sprintf("old%02d", i), i), noon.Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{"old10", "old20", "old24", "old24"} { // old24 ends at the time
			if err := s.AddSimnetRequest(t.Context(), simnetRequest(fmt.Sprintf("young%d", i), 60), noon.Add(24*time.Minute)); err != nil {
				t.Fatal(err)
			}
			old := rows(t, url, "SELECT hash FROM simnet_requests WHERE hash LIKE 'old%' ORDER BY hash")
			if last := old[len(old)-1]; old[0] != want || last != "old24" {
				t.Errorf("after %d requests %q are stored, want %s to old24", i+1, old, want)
			}
		}
		if young := rows(t, url, "SELECT hash FROM simnet_requests WHERE hash LIKE 'young%'"); len(young) != 4 {
			t.Errorf("the younger requests %q are stored, want 4", young)
		}
	})
}

func TestSimnetKey_is_stored_once_and_sealed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		first, second := bytes.Repeat([]byte{0xa1}, 32), bytes.Repeat([]byte{0xb2}, 32)
		other := open(t, url)
		for i, fresh := range [][]byte{first, second} {
			for _, process := range []*storage.Storage{s, other} {
				if key, err := process.SimnetKey(t.Context(), fresh); err != nil || !bytes.Equal(key, first) {
					t.Errorf("call %d: got %x, %v, want %x", i, key, err, first)
				}
			}
		}
		stored := strings.Join(rows(t, url, "SELECT value FROM meta WHERE name = 'simnet_key'"), "")
		if stored == "" || strings.Contains(stored, strings.Repeat("a1", 32)) || strings.Contains(stored, string(first)) {
			t.Errorf("the key is stored as %q", stored)
		}
	})
}
