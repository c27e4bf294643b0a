package engine_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"
)

// Databases have the released migrations, so a released migration must not change.
func TestMigrations_that_were_released_do_not_change(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("migrations/00001_first.sql")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	if got, want := hex.EncodeToString(sum[:]), "6b7f37ac3e440231647a848cc40802fc8765650f17db9a9ae2c0108785b83bfc"; got != want {
		t.Errorf("migration 1 is %s, want %s", got, want)
	}
}
