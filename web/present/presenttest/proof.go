package presenttest

import (
	"crypto/ed25519"
	"testing"
	"time"

	"chequer/internal/proof"
)

// Proof returns a signed statement of one address, and the key that verifies it.
func Proof(t *testing.T) (text string, key proof.PublicKey) {
	t.Helper()
	from := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	key = proof.NewPublicKey(private.Public().(ed25519.PublicKey))
	text, err := proof.Sign(proof.Statement{
		Server: "https://pay.example", Invoice: "abc", Mode: "live", Quote: 1, From: from, Until: from.Add(15 * time.Minute), Amount: "56.5", Currency: "EUR",
		Methods: []proof.Method{{Currency: "BTC", Network: "bitcoin", Address: "bc1qexample", Amount: "0.00065379"}},
	}, proof.Key{Public: key, Private: private})
	if err != nil {
		t.Fatal(err)
	}
	return text, key
}
