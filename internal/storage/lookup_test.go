package storage_test

import (
	"slices"
	"strings"
	"testing"

	"chequer/internal/storage"
)

// Statements that read few rows must not read all rows of a merchant or of a network.
func TestLookups_are_served_by_an_index(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		explain := planOfSQLite
		if strings.HasPrefix(url, "postgres") {
			explain = planOfPostgres
		}
		addListed(t, s, url)
		conn, err := database(t, url).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for index, statements := range storage.LookupStatements() {
			for _, statement := range statements {
				p := explain(t, conn, statement)
				if len(p.refused) > 0 || !slices.Contains(p.indexes, index) {
					t.Errorf("%s\nhas %q and uses %q, want %s", statement.Text, p.refused, p.indexes, index)
				}
			}
		}
	})
}
