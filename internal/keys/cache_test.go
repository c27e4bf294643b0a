package keys_test

import (
	"sync"
	"testing"

	"chequer/internal/keys"
)

func TestCache_returns_the_key_of_Load(t *testing.T) {
	t.Parallel()
	var cache keys.Cache
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for _, wallet := range wallets {
				want := mustParse(t, wallet)
				got, err := cache.Load(want.String())
				if err != nil || describe(got) != describe(want) {
					t.Errorf("Load(%s) = %s, %v", want, got, err)
				}
			}
			if _, err := cache.Load(xpub44); err == nil {
				t.Error("Load() of a text that is not in the stored form succeeds")
			}
		})
	}
	group.Wait()
}

func TestCache_holds_a_limited_number_of_keys(t *testing.T) {
	t.Parallel()
	var cache keys.Cache
	for index := range uint32(keys.MaxCached + 100) {
		account := "btc:p2wpkh:" + descend(t, xpub44, index)
		key, err := cache.Load(account)
		if err != nil || key.String() != account {
			t.Fatalf("Load(%s) = %s, %v", account, key, err)
		}
		if cache.Len() > keys.MaxCached {
			t.Fatalf("%d keys are cached, want at most %d", cache.Len(), keys.MaxCached)
		}
	}
}
