package storage_test

import (
	"slices"
	"strings"
	"testing"

	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

// The statements of notifications read no whole table. The sums of a day sort the currencies of the day.
func TestNotifications_are_served_by_an_index(t *testing.T) {
	t.Parallel()
	url := storagetest.File(t)
	open(t, url)
	conn, err := database(t, url).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for index, q := range storage.NotificationStatements() {
		p := planOfSQLite(t, conn, q)
		p.refused = slices.DeleteFunc(p.refused, func(node string) bool {
			return index == "invoices_by_paid_at" && strings.HasSuffix(node, "FOR GROUP BY")
		})
		if len(p.refused) > 0 || !slices.Contains(p.indexes, index) {
			t.Errorf("%s\nhas %q and uses %q, want %s", q.Text, p.refused, p.indexes, index)
		}
	}
}
