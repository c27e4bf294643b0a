package storage_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/storage"
)

// C79: an upgrade that fails halfway leaves the old schema, and the next start repeats it.
func TestOpen_rolls_back_a_failed_upgrade(t *testing.T) {
	onFirstRelease(t, func(t *testing.T, url string) {
		before := dump(t, url)
		execSQL(t, url, "CREATE VIEW in_the_way AS SELECT continuous_since FROM networks") // the last step fails
		if s, err := storage.Open(t.Context(), url, box(t, 1), storage.Options{Upgrade: true}); err == nil {
			t.Error("the upgrade succeeded", s.Close())
		}
		execSQL(t, url, "DROP VIEW in_the_way")
		checkVersion(t, url, "1")
		if diff := cmp.Diff(before, dump(t, url)); diff != "" {
			t.Errorf("rows (-before +after):\n%s", diff)
		}
		checkFirstRelease(t, open(t, url))
	})
}

// upgradeURL is the environment variable with the URL of the database that a child process of this
// test binary upgrades.
const upgradeURL = "CHEQUER_UPGRADE_CHILD"

// TestUpgradeChild is the child process, which is killed during the upgrade.
func TestUpgradeChild(t *testing.T) {
	url := os.Getenv(upgradeURL)
	if url == "" {
		t.Skip("runs as a child of TestOpen_continues_after_an_upgrade_was_killed")
	}
	open(t, url)
}

// C79: a process is killed during an upgrade.
func TestOpen_continues_after_an_upgrade_was_killed(t *testing.T) {
	t.Parallel()
	for name, stuck := range map[string]struct{ hang, unblock string }{
		"sqlite": { // a trigger that counts for ever
			hang: `CREATE TRIGGER stuck AFTER UPDATE ON networks BEGIN
				SELECT COUNT(*) FROM events a, events b, events c, events d, events e, events f, events g, events h, events i; END`,
			unblock: "DROP TRIGGER stuck",
		},
		"postgres": { // the server is slow to notice that the client is gone
			hang: `CREATE FUNCTION sleep() RETURNS trigger AS $$ BEGIN PERFORM pg_sleep(600); RETURN NEW; END $$ LANGUAGE plpgsql;
				CREATE TRIGGER stuck AFTER UPDATE ON networks FOR EACH STATEMENT EXECUTE FUNCTION sleep()`,
			unblock: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database();
				DROP TRIGGER stuck ON networks; DROP FUNCTION sleep`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := firstRelease(t, name)
			before := dump(t, url)
			execSQL(t, url, stuck.hang)
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUpgradeChild$")
			child.Env = append(os.Environ(), upgradeURL+"="+url)
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			waitUntilStuck(t, url)
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = child.Wait() // it was killed
			execSQL(t, url, stuck.unblock)
			checkVersion(t, url, "1")
			if diff := cmp.Diff(before, dump(t, url)); diff != "" {
				t.Errorf("rows (-before +after):\n%s", diff)
			}
			s := open(t, url)
			if wrong := rows(t, url, "SELECT e.id FROM events e JOIN invoices i ON i.id = e.invoice_id WHERE e.mode <> i.mode"); len(wrong) > 0 {
				t.Errorf("events %q are not of their invoice's mode", wrong)
			}
			checkFirstRelease(t, s)
			checkNextIndex(t, s, 11, 6)
		})
	}
}

// waitUntilStuck returns when an upgrade is blocked: on SQLite, when another process holds the
// write lock in several checks in a row.
func waitUntilStuck(t *testing.T, url string) {
	t.Helper()
	conn, err := database(t, url).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stuck := func() (bool, error) {
		var n int
		err := conn.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()").Scan(&n)
		return n > 0, err
	}
	if strings.HasPrefix(url, "sqlite") {
		if _, err := conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 0"); err != nil {
			t.Fatal(err)
		}
		stuck = func() (bool, error) {
			if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
				return true, nil
			}
			_, err := conn.ExecContext(t.Context(), "ROLLBACK")
			return false, err
		}
	}
	checks := 0
	await(t, "an upgrade is blocked", func() bool {
		isStuck, err := stuck()
		if err != nil {
			t.Fatal(err)
		}
		if checks++; !isStuck {
			checks = 0
		}
		return checks == 10
	})
}
