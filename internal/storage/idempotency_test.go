package storage_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/storage"
)

func keyed(id, key, bodyHash string) invoice.Creation {
	c := creation(id, "shop")
	c.Key, c.BodyHash = invoice.IdempotencyKey{Namespace: "live/api", Value: key}, bodyHash
	return c
}

func TestCreateInvoice_with_a_known_key(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		first := create(t, s, keyed("a", "key", "hash"))

		second, replayed, err := s.CreateInvoice(t.Context(), keyed("b", "key", "hash"))
		if err != nil || !replayed {
			t.Errorf("same body: replayed %v, error %v", replayed, err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("same body (-first +again):\n%s", diff)
		}
		if _, _, err := s.CreateInvoice(t.Context(), keyed("c", "key", "other")); !errors.Is(err, invoice.ErrConflict) {
			t.Errorf("other body: got error %v, want %v", err, invoice.ErrConflict)
		}
		otherMerchant := keyed("d", "key", "hash")
		otherMerchant.MerchantID, otherMerchant.Build = "bakery", creation("d", "bakery").Build
		if _, replayed, err := s.CreateInvoice(t.Context(), otherMerchant); err != nil || replayed {
			t.Errorf("other merchant: replayed %v, error %v", replayed, err)
		}
		otherBody := keyed("g", "key", "other")
		otherBody.Key.Namespace = "live/storefront"
		if _, replayed, err := s.CreateInvoice(t.Context(), otherBody); err != nil || replayed {
			t.Errorf("other namespace: replayed %v, error %v", replayed, err)
		}
		failed := keyed("e", "new key", "hash")
		failed.Build = func(invoice.NextIndex) (*invoice.Invoice, error) { return nil, invoice.ErrNoRate }
		if _, _, err := s.CreateInvoice(t.Context(), failed); !errors.Is(err, invoice.ErrNoRate) {
			t.Errorf("failed creation: got error %v", err)
		}
		if _, replayed, err := s.CreateInvoice(t.Context(), keyed("f", "new key", "other")); err != nil || replayed {
			t.Errorf("key of a failed creation: replayed %v, error %v", replayed, err)
		}
		if ids := rows(t, url, "SELECT id FROM invoices ORDER BY id"); len(ids) != 4 {
			t.Errorf("got invoices %q, want a, d, f and g", ids)
		}
	})
}

func TestCreateInvoice_accepts_a_key_again_after_a_day(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, keyed("a", "key", "hash"))
		for _, test := range []struct {
			id       string
			age      time.Duration
			replayed bool
		}{
			{"b", 24*time.Hour - time.Millisecond, true},
			{"c", 24 * time.Hour, false},
			{"d", 25 * time.Hour, true}, // returns c
		} {
			c := keyed(test.id, "key", "hash")
			c.At = noon.Add(test.age)
			_, replayed, err := s.CreateInvoice(t.Context(), c)
			if err != nil || replayed != test.replayed {
				t.Errorf("after %s: replayed %v, error %v", test.age, replayed, err)
			}
		}
	})
}

func TestCreateInvoice_with_one_key_makes_one_invoice_concurrently(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		other := open(t, url) // like a second process
		const callers = 32
		var answers [callers]*invoice.Invoice
		var isNew [callers]bool
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				target := s
				if i%2 == 1 {
					target = other
				}
				inv, replayed, err := target.CreateInvoice(t.Context(), keyed(fmt.Sprintf("i%d", i), "key", "hash"))
				if err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
				answers[i], isNew[i] = inv, !replayed
			})
		}
		group.Wait()
		created := 0
		for i, inv := range answers {
			if isNew[i] {
				created++
			}
			if diff := cmp.Diff(answers[0], inv); diff != "" {
				t.Errorf("invoice returned to caller %d (-first +got):\n%s", i, diff)
			}
		}
		if created != 1 {
			t.Errorf("%d callers made an invoice, want 1", created)
		}
		if next := rows(t, url, "SELECT next FROM counters"); len(next) != 2 || next[0] != "1" || next[1] != "1" {
			t.Errorf("counters: got %q, want 1 each", next)
		}
	})
}

func TestCreateInvoice_deletes_expired_rows_once_a_minute(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		createAfter := func(id string, after time.Duration) {
			c := keyed(id, "key of "+id, "hash")
			c.At = noon.Add(after)
			create(t, s, c)
		}
		createAfter("a", 0)
		if _, err := s.UseNonce(t.Context(), "key", "nonce", noon, time.Minute); err != nil {
			t.Fatal(err)
		}
		createAfter("b", 50*time.Second)
		createAfter("c", 24*time.Hour-time.Millisecond)
		if stored := rows(t, url, "SELECT key FROM idempotency ORDER BY key"); len(stored) != 3 {
			t.Errorf("keys kept for a day: got %q, want all", stored)
		}
		if stored := rows(t, url, "SELECT nonce FROM nonces"); len(stored) != 0 {
			t.Errorf("nonces kept: got %q, want none", stored)
		}
		createAfter("d", 24*time.Hour+50*time.Second) // within a minute of c
		if stored := rows(t, url, "SELECT key FROM idempotency ORDER BY key"); len(stored) != 4 {
			t.Errorf("keys kept for another minute: got %q, want all", stored)
		}
		createAfter("e", 24*time.Hour+time.Minute)
		if stored := rows(t, url, "SELECT key FROM idempotency ORDER BY key"); len(stored) != 3 || stored[0] != "key of c" {
			t.Errorf("keys kept after a day: got %q, want those of c, d and e", stored)
		}
	})
}

func TestUseNonce_accepts_a_nonce_once(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		const ttl = 10 * time.Minute
		for _, test := range []struct {
			key, nonce string
			after      time.Duration
			want       bool
		}{
			{"key", "n1", 0, true},
			{"key", "n1", 0, false},
			{"key", "n2", 0, true},
			{"other", "n1", 0, true},
			{"key", "n1", ttl - time.Millisecond, false},
			{"key", "n1", ttl, true},
			{"key", "n1", ttl + time.Second, false},
		} {
			isNew, err := s.UseNonce(t.Context(), test.key, test.nonce, noon.Add(test.after), ttl)
			if err != nil || isNew != test.want {
				t.Errorf("UseNonce(%s, %s) after %s: got %v, %v, want %v", test.key, test.nonce, test.after, isNew, err, test.want)
			}
		}
		create(t, s, keyed("a", "key", "hash"))
		if _, err := s.UseNonce(t.Context(), "key", "late", noon.Add(25*time.Hour), ttl); err != nil {
			t.Fatal(err)
		}
		if stored := rows(t, url, "SELECT nonce FROM nonces"); len(stored) != 1 || stored[0] != "late" {
			t.Errorf("nonces kept: %q, want only the late one", stored)
		}
		if stored := rows(t, url, "SELECT key FROM idempotency"); len(stored) != 0 {
			t.Errorf("idempotency keys kept: %q, want none", stored)
		}
	})
}

func TestUseNonce_is_new_for_one_of_many_callers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		other := open(t, url)
		var mu sync.Mutex
		accepted := 0
		var group sync.WaitGroup
		for i := range 32 {
			group.Go(func() {
				target := s
				if i%2 == 1 {
					target = other
				}
				ok, err := target.UseNonce(t.Context(), "key", "nonce", noon, time.Minute)
				if err != nil {
					t.Error(err)
				}
				if ok {
					mu.Lock()
					defer mu.Unlock()
					accepted++
				}
			})
		}
		group.Wait()
		if accepted != 1 {
			t.Errorf("new for %d callers, want 1", accepted)
		}
	})
}

func TestCreateInvoice_uses_its_nonce_with_the_creation(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		nonce := invoice.Nonce{Key: "key", Value: "nonce", TTL: time.Minute}
		failing := keyed("a", "", "")
		failing.Nonce = nonce
		failing.Build = func(invoice.NextIndex) (*invoice.Invoice, error) { return nil, errors.New("no wallet") }
		if _, _, err := s.CreateInvoice(t.Context(), failing); err == nil {
			t.Fatal("a failing creation succeeded")
		}
		first := keyed("a", "order", "hash")
		first.Nonce = nonce
		create(t, s, first) // the failed creation did not use up the nonce

		if _, replayed, err := s.CreateInvoice(t.Context(), first); err != nil || !replayed {
			t.Errorf("the same request repeated: replayed %v, error %v", replayed, err)
		}
		other := keyed("b", "another order", "hash")
		other.Nonce = nonce
		if _, _, err := s.CreateInvoice(t.Context(), other); !errors.Is(err, invoice.ErrNonceUsed) {
			t.Errorf("another request with the nonce: %v", err)
		}
		other.At = noon.Add(2 * time.Minute)
		create(t, s, other)
	})
}
