package storage_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/storage"
)

// The names of child processes that carry out runs of the retention.
const removingPersonalData, removingBooks = "removing personal data", "removing books"

// killedInvoices is the number of invoices of a run that is killed, several times the number that one part examines.
const killedInvoices = 230

// runAt is the time of the runs of the retention that are killed.
var runAt = time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)

// removeUntilKilled carries out the run of the shop until it is killed. It prints a line after each part.
func removeUntilKilled(url, name string) {
	s, err := storage.Open(context.Background(), url, box(&testing.B{}, 1), storage.Options{})
	if err != nil {
		panic(err)
	}
	step := s.RemovePersonalData
	if name == removingBooks {
		step = s.RemoveBooks
	}
	for {
		if _, err := step(context.Background(), "shop", runAt); err != nil {
			panic(err)
		}
		fmt.Println("part")
	}
}

// A run of the retention that is killed three times is completed after the next start, with one entry of the audit log. After each
// kill every invoice is either unchanged or removed.
func TestRetention_continues_after_it_was_killed(t *testing.T) {
	const n = killedInvoices
	number := strconv.Itoa(n)
	for _, tt := range []struct {
		name    string
		setting merchant.SettingName
		value   string
		action  string
		want    audit.Fields
		remove  func(t *testing.T, s *storage.Storage, now time.Time) int
		whole   func(t *testing.T, url string) (removed int) // fails if an invoice is half removed
	}{
		{removingPersonalData, merchant.SettingPersonalData, "24", "personal_data.removed",
			audit.Fields{"invoices": number, "notes": number, "refund addresses": strconv.Itoa(2 * n), "metadata": number, "return addresses": strconv.Itoa(2 * n)},
			removeAll, wholePersonalData},
		{removingBooks, merchant.SettingBooks, "10", "books.removed",
			audit.Fields{"created before": "2027-01-01T00:00:00Z", "invoices": number, "payments": "0", "refunds": number, "notes": number},
			removeBooks, wholeBooks},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
				for i := range n {
					createPersonal(t, s, fmt.Sprint("i", i))
				}
				choose(t, s, tt.setting, tt.value)
				last := 0
				for range 3 {
					linesUntilKilled(t, 1, url, tt.name)
					checkSums(t, s)
					removed := tt.whole(t, url)
					if removed < last+1 || removed >= n {
						t.Fatalf("%d of %d invoices are removed after a kill, want more than the %d of the previous one, and not all", removed, n, last)
					}
					last = removed
				}
				if got := removalsOf(t, s, tt.action); len(got) > 0 {
					t.Errorf("an unfinished run has the entries %v, want none", got)
				}
				reopened := open(t, url)
				tt.remove(t, reopened, runAt)
				if removed := tt.whole(t, url); removed != n {
					t.Errorf("the completed run removed %d invoices, want %d", removed, n)
				}
				tt.remove(t, reopened, runAt.AddDate(0, 0, 1))
				if diff := cmp.Diff([]audit.Fields{tt.want}, removalsOf(t, reopened, tt.action)); diff != "" {
					t.Errorf("audit log (-want +got):\n%s", diff)
				}
				checkSums(t, reopened)
				tally, err := reopened.Tally(t.Context(), "shop", invoice.Live, noon)
				if err != nil || tally.Statuses[invoice.Paid] != int64(len(rows(t, url, "SELECT id FROM invoices"))) {
					t.Errorf("got the tally %v, error %v, want the number of the stored paid invoices", tally.Statuses, err)
				}
			})
		})
	}
}

// removalsOf returns the entries of the audit log about runs, and verifies the log.
func removalsOf(t *testing.T, s *storage.Storage, action string) (all []audit.Fields) {
	t.Helper()
	log, err := s.AuditLog(t.Context(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Backward(log) {
		if e.Change.Action == action {
			all = append(all, e.Change.After)
		}
	}
	if _, err := s.VerifyAuditLog(t.Context()); err != nil {
		t.Error(err)
	}
	return all
}

// wholePersonalData returns the number of invoices without personal data. It fails if an invoice has only a part of them.
func wholePersonalData(t *testing.T, url string) (removed int) {
	t.Helper()
	present := map[string]int{}
	for name, query := range map[string]string{
		"notes": "SELECT id FROM team_notes", "refunds": "SELECT id FROM refunds WHERE address <> ''", "addresses": "SELECT id FROM invoices WHERE refund <> ''",
		"metadata": "SELECT invoice_id FROM plugin_data WHERE metadata <> ''", "references": "SELECT id FROM invoices WHERE reference <> ''",
		"terms": "SELECT id FROM invoices WHERE terms LIKE '%" + shopper + "%'",
	} {
		present[name] = len(rows(t, url, query))
	}
	for name, count := range present {
		if count != present["notes"] {
			t.Fatalf("rows with personal data: %v, want as many %s as notes", present, name)
		}
	}
	all, err := strconv.Atoi(rows(t, url, "SELECT COUNT(*) FROM invoices")[0])
	if err != nil {
		t.Fatal(err)
	}
	return all - present["notes"]
}

// wholeBooks returns the number of removed invoices. It fails if rows of a removed invoice remain, or rows of another one lack.
func wholeBooks(t *testing.T, url string) (removed int) {
	t.Helper()
	remaining := rows(t, url, "SELECT id FROM invoices ORDER BY id")
	for _, table := range []string{"refunds", "team_notes", "plugin_data", "events"} {
		if got := rows(t, url, "SELECT DISTINCT invoice_id FROM "+table+" ORDER BY invoice_id"); !slices.Equal(remaining, got) {
			t.Fatalf("%s has rows of %d invoices, want those of the %d that remain", table, len(got), len(remaining))
		}
	}
	return killedInvoices - len(remaining)
}
