package storage_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/proof"
	"chequer/internal/storage"
	"chequer/internal/storage/backup"
)

func newProofKey(number int64) proof.Key {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(number)}, ed25519.SeedSize))
	return proof.Key{
		Number: number, Public: proof.NewPublicKey(private.Public().(ed25519.PublicKey)), Private: private,
		CreatedAt: noon.Add(time.Duration(number) * time.Hour),
	}
}

func TestProofKeys_retires_the_previous_key(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		first, second := newProofKey(1), newProofKey(2)
		if keys, err := s.ProofKeys(t.Context()); err != nil || len(keys) > 0 {
			t.Fatalf("got %v, %v, want none", keys, err)
		}
		for _, k := range []proof.Key{first, second} {
			if err := s.CreateProofKey(t.Context(), k); err != nil {
				t.Fatal(err)
			}
			if err := s.CreateProofKey(t.Context(), k); !errors.Is(err, proof.ErrExists) {
				t.Errorf("a number in use: got error %v, want %v", err, proof.ErrExists)
			}
		}
		retired := first
		retired.Private, retired.RetiredAt = nil, second.CreatedAt
		want := []proof.Key{second, retired}
		got, err := s.ProofKeys(t.Context())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
		if remaining := rows(t, url, "SELECT secret FROM proof_keys WHERE number = 1"); len(remaining) != 1 || remaining[0] != "" {
			t.Errorf("the first key's secret is %q, want it deleted", remaining)
		}
	})
}

func TestProofKeys_are_in_a_backup(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for number := int64(1); number <= 2; number++ {
			if err := s.CreateProofKey(t.Context(), newProofKey(number)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := s.ProofKeys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		saved, _ := backUp(t, url)
		for engine := range engines {
			other := withoutTables(t, engine)
			restore(t, other, saved, backup.RestoreOptions{})
			got, err := open(t, other).ProofKeys(t.Context())
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("on %s: error %v (-want +got):\n%s", engine, err, diff)
			}
		}
	})
}

func TestProofKeys_refuse_a_row_that_was_changed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		foreignKey := newProofKey(9)
		for _, statement := range []string{
			"UPDATE proof_keys SET public = '" + string(foreignKey.Public) + "' WHERE number = 2",
			"UPDATE proof_keys SET retired_at = NULL WHERE number = 1",
			"UPDATE proof_keys SET number = 3 WHERE number = 1",
			"UPDATE proof_keys SET created_at = created_at + 1 WHERE number = 2",
			"UPDATE proof_keys SET secret = '' WHERE number = 2",
		} {
			for number := int64(1); number <= 2; number++ {
				if err := s.CreateProofKey(t.Context(), newProofKey(number)); err != nil {
					t.Fatal(err)
				}
			}
			execSQL(t, url, statement)
			if got, err := s.ProofKeys(t.Context()); !errors.Is(err, proof.ErrTampered) {
				t.Errorf("after %s: got %v, error %v, want %v", statement, got, err, proof.ErrTampered)
			}
			execSQL(t, url, "DELETE FROM proof_keys")
		}
	})
}

// Processes that start concurrently make one key and sign with the same key. A new key of one
// process is used by the other within a second.
func TestKeyring_is_shared_by_processes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		now := noon
		clock := func() time.Time { return now }
		first, second := proof.NewKeyring(s, clock), proof.NewKeyring(open(t, url), clock)
		faults := make(chan error)
		for _, r := range []*proof.Keyring{first, second} {
			go func() { faults <- r.Ensure(t.Context()) }()
		}
		for range 2 {
			if err := <-faults; err != nil {
				t.Error(err)
			}
		}
		checkSameKeys := func() []proof.Key {
			t.Helper()
			a, err := first.Keys(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b, err := second.Keys(t.Context())
			if diff := cmp.Diff(a, b); err != nil || diff != "" {
				t.Errorf("error %v (-first +second):\n%s", err, diff)
			}
			return a
		}
		if keys := checkSameKeys(); len(keys) != 1 {
			t.Errorf("%d keys, want one", len(keys))
		}
		if err := first.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		if keys := checkSameKeys(); len(keys) != 2 || keys[0].Private == nil || keys[1].Private != nil {
			t.Errorf("after the rotation: %d keys", len(keys))
		}
	})
}
