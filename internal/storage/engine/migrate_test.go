package engine_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/seal"
	"chequer/internal/storage/engine"
	"chequer/internal/storage/storagetest"
)

// Databases have applied the released migrations, so the statements of a released migration must not
// change. Comments may.
func TestMigrations_that_were_released_do_not_change(t *testing.T) {
	t.Parallel()
	released := map[string]string{
		"00001_first.sql":                "14d9eea6e44fff0c",
		"00002_gaps.sql":                 "f33d6db5c4532a8c",
		"00003_endpoints.sql":            "bf8ea69fcd4f0eab",
		"00004_list.sql":                 "c89ebabe01eac3fd",
		"00005_balances.sql":             "aa32580612c80e15",
		"00006_links.sql":                "cc7f13a1282bc3a0",
		"00007_orders.sql":               "9da210ec28daa30d",
		"00008_looks.sql":                "2d79b59dbee2f3a5",
		"00009_products.sql":             "8197a17cddf14158",
		"00010_conversions.sql":          "bb18e5556faa08bb",
		"00012_proof_keys.sql":           "86be224e201f93df",
		"00013_tries.sql":                "584374b0381e97e1",
		"00014_spends.sql":               "2ed75f146b857939",
		"00015_folded_transfers.sql":     "537157c99ee3333d",
		"00017_leases.sql":               "bff756976921f57c",
		"00019_unpaid_places.sql":        "78e152bcda4aadea",
		"00020_idempotency.sql":          "15a2f89cb95da884",
		"00021_methods.sql":              "581f8f52e30ac227",
		"00022_acceptance.sql":           "9b249cdb7454b3db",
		"00025_resent.sql":               "e9fb7545e7bea156",
		"00026_wallet_events.sql":        "4627bc7e5348fb42",
		"00027_filters.sql":              "6fe2868076df5297",
		"00028_lists.sql":                "712be7f6c44634a0",
		"00029_shared_terms.sql":         "f907eb36cedd7194",
		"00030_destinations.sql":         "936d835b74fe793a",
		"00031_accounts.sql":             "384782120300cd5c",
		"00032_old_sign_ins.sql":         "d4760d03e2124d58",
		"00033_lookups.sql":              "0dc32e79f6cb54b3",
		"00036_day_sums.sql":             "41fd92f5c1077868",
		"00037_payment_settings.sql":     "9702399e1776b9af",
		"00038_notifications.sql":        "4fdfbf416387e129",
		"00039_shops.sql":                "8ff945176f362ac8",
		"00040_refunds.sql":              "20e8dd8f3fa98a6c",
		"00041_casework.sql":             "f4f72a091c6593c9",
		"00042_preferences.sql":          "d1ee8b54847a563c",
		"00043_zones.sql":                "0a992b9aec28a9d2",
		"00044_refund_facts.sql":         "d601a3771dff1446",
		"00045_counts.sql":               "d2da3e445c3be0f6",
		"00046_unreadable.sql":           "8505c2dc45019279",
		"00047_retention.sql":            "e146d8c3507ecd55",
		"00048_terminal_assignments.sql": "9dc823b6e2b25762",
		"00049_plugin_keys.sql":          "4cc61648def73470",
		"00050_plugin_data.sql":          "97c77cf22d922a84",
		"00051_plugin_webhooks.sql":      "ef72057da650bd43",
		"00053_told_transfers.sql":       "a7fc392266857961",
		"00054_zero_confirmation.sql":    "0cc23deda493f0a4",
		"00055_books.sql":                "f1f25a65e5323358",
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

// A process that starts while another one makes the tables waits for it.
func TestOpen_waits_for_the_migrations_of_another_process(t *testing.T) {
	t.Parallel()
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, url := t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "chequer.db")
			if name == "postgres" {
				url = storagetest.Postgres(t)
				storagetest.Exec(t, url, "DROP SCHEMA public CASCADE")
				storagetest.Exec(t, url, "CREATE SCHEMA public")
			}
			db := storagetest.Database(t, url)
			d, err := engine.DialectOf(url)
			if err != nil {
				t.Fatal(err)
			}
			latest, err := engine.LatestSchema()
			if err != nil {
				t.Fatal(err)
			}
			box, err := seal.New(bytes.Repeat([]byte{1}, seal.KeySize))
			if err != nil {
				t.Fatal(err)
			}
			open := func() error {
				e, err := engine.Open(ctx, url, box, engine.Options{Unavailable: errUnavailable, BusyTimeout: time.Minute, Log: slog.New(slog.DiscardHandler)}) // the race detector makes migrations slow
				if err != nil {
					return err
				}
				return e.Close()
			}
			opened := make(chan error, 1)
			err = engine.WithMigrationLock(ctx, db, d, func() error {
				if err := engine.MigrateLocked(ctx, db, d, 2); err != nil {
					return err
				}
				go func() { opened <- open() }()
				select {
				case err := <-opened:
					return fmt.Errorf("the database was opened while its tables were made: %w", err)
				case <-time.After(200 * time.Millisecond):
				}
				return engine.MigrateLocked(ctx, db, d, latest)
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := <-opened; err != nil {
				t.Error(err)
			}
		})
	}
}
