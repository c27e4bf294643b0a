package engine_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Databases have applied the released migrations, so the statements of a released migration must not
// change. Comments may.
func TestMigrations_that_were_released_do_not_change(t *testing.T) {
	t.Parallel()
	released := map[string]string{
		"00001_first.sql":            "14d9eea6e44fff0c",
		"00002_gaps.sql":             "f33d6db5c4532a8c",
		"00003_endpoints.sql":        "bf8ea69fcd4f0eab",
		"00004_list.sql":             "c89ebabe01eac3fd",
		"00005_balances.sql":         "aa32580612c80e15",
		"00006_links.sql":            "cc7f13a1282bc3a0",
		"00007_orders.sql":           "9da210ec28daa30d",
		"00008_looks.sql":            "2d79b59dbee2f3a5",
		"00009_products.sql":         "8197a17cddf14158",
		"00010_conversions.sql":      "bb18e5556faa08bb",
		"00012_proof_keys.sql":       "86be224e201f93df",
		"00013_tries.sql":            "584374b0381e97e1",
		"00014_spends.sql":           "2ed75f146b857939",
		"00015_folded_transfers.sql": "537157c99ee3333d",
		"00017_leases.sql":           "bff756976921f57c",
		"00019_unpaid_places.sql":    "78e152bcda4aadea",
		"00020_idempotency.sql":      "15a2f89cb95da884",
		"00021_methods.sql":          "581f8f52e30ac227",
		"00022_acceptance.sql":       "9b249cdb7454b3db",
		"00025_resent.sql":           "e9fb7545e7bea156",
		"00026_wallet_events.sql":    "4627bc7e5348fb42",
		"00027_filters.sql":          "6fe2868076df5297",
	}
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, path := range files {
		name := filepath.Base(path)
		if _, known := released[name]; known {
			got[name] = hashOfStatements(t, path)
		}
	}
	if diff := cmp.Diff(released, got); diff != "" {
		t.Errorf("released migrations (-released +found):\n%s", diff)
	}
}

func TestMigrations_have_no_text_that_looks_like_a_comment(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`'[^'\n]*--[^'\n]*'`).Find(text); found != nil {
			t.Errorf("%s: %s: the hash of a migration would not cover the text after --", path, found)
		}
	}
}

// hashOfStatements returns the first 16 hexadecimal digits of the SHA-256 of a migration without
// comments and without differences in white space.
func hashOfStatements(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	statements := regexp.MustCompile(`--.*`).ReplaceAllString(string(text), "")
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(statements), " ")))
	return hex.EncodeToString(sum[:8])
}
