package storage_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/storage"
)

// filtered is a list with one combination of its filters.
type filtered struct {
	name       string
	index      string // the index that its conditions and its order need
	statements []storage.Statement
}

// filteredLists returns every list that has filters, with every combination of them.
func filteredLists() []filtered {
	const page = 10
	all := filteredInvoices(page)
	for _, state := range []merchant.DeliveryState{"", merchant.DeliveryFailed} {
		all = append(all, filtered{"deliveries " + string(state), indexOf(state != "", "deliveries_by_state", "deliveries_pkey"),
			storage.DeliveriesStatements("e", state, math.MaxInt64, page)})
	}
	for _, kind := range []string{"", "invoice.paid"} {
		all = append(all, filtered{"events " + kind, indexOf(kind != "", "events_by_type", "events_by_mode"),
			storage.NewestEventsStatements("shop", invoice.Live, 0, kind, page)})
	}
	for _, state := range []invoice.SaleState{"", invoice.SaleFailed} {
		all = append(all, filtered{"sales " + string(state), indexOf(state != "", "conversions_by_state", "conversions_by_age"),
			storage.SaleStatements("shop", state, page)})
	}
	return all
}

func filteredInvoices(page int) (all []filtered) {
	for choice := range 1 << 5 {
		has := func(bit int) bool { return choice&(1<<bit) != 0 }
		f, after := invoice.Filter{MerchantID: "shop", Mode: invoice.Live}, invoice.Position{}
		name, index := "invoices", "invoices_by_age"
		if has(0) {
			f.Status, name, index = invoice.Paid, name+" status", "invoices_by_status"
		}
		if has(1) {
			f.OrderID, name, index = "o7", name+" order", "invoices_by_order"
		}
		if has(2) {
			f.From, name = noon.Add(-time.Hour), name+" from"
		}
		if has(3) {
			f.To, name = noon.Add(time.Hour), name+" to"
		}
		if has(4) {
			after, name = invoice.Position{CreatedAt: noon.Add(time.Second), ID: "i9"}, name+" after"
		}
		all = append(all, filtered{name, index, storage.InvoicesStatements(f, after, page)})
	}
	return all
}

func indexOf(filter bool, with, without string) string {
	if filter {
		return with
	}
	return without
}

// With every combination of its filters, a list reads no whole table, and sorts no more than the rows of
// its page.
func TestLists_are_served_by_an_index(t *testing.T) {
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
		texts := map[string]bool{}
		for _, l := range filteredLists() {
			for _, q := range l.statements {
				texts[q.Text] = true
				p := explain(t, conn, q)
				if len(p.refused) > 0 || !slices.Contains(p.indexes, l.index) {
					t.Errorf("%s:\n%s\nhas %q and uses %q, want %s", l.name, q.Text, p.refused, p.indexes, l.index)
				}
			}
		}
		// The list of invoices has 16 combinations of conditions with four statements each. The other lists
		// have two combinations, with one statement each, or two for sales.
		if got, want := len(texts), 16*4+2+2+2*2; got != want {
			t.Errorf("%d different statements, want %d", got, want)
		}
	})
}

// addListed writes rows of every table that the lists read: many on PostgreSQL, since its planner
// estimates costs from the number of rows. SQLite's planner does not.
func addListed(t *testing.T, s *storage.Storage, url string) {
	t.Helper()
	addEndpoints(t, s, newEndpoint("e"))
	create(t, s, creation("a", "shop"))
	_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
		inv.Transfers = []invoice.Transfer{{
			ID: "t", Network: "bitcoin", Tx: "t", Asset: "BTC", Script: "s", Amount: money.FromCents(1, money.BTC),
			Presence: invoice.Present, FirstSeen: noon, Spends: []string{"in:0"},
		}}
		inv.Sales = []invoice.Sale{newSale("BTC")}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	claims, _ := claim(t, s, "e", noon, 1)
	save(t, s, claims[0], noon, 204, done)
	if !strings.HasPrefix(url, "postgres") {
		return
	}
	for _, multiply := range []struct{ table, with string }{
		{"invoices", `'id', 'i' || n, 'order_id', 'o' || n, 'created_at', created_at + n, 'status', CASE n % 5 WHEN 0 THEN 'created' ELSE 'paid' END`},
		{"transfers", `'id', 't' || n, 'invoice_id', 'i' || n, 'tx', 't' || n`},
		{"spends", `'tx', 't' || n`},
		{"conversions", `'invoice_id', 'i' || n, 'created_at', created_at + n, 'state', CASE n % 5 WHEN 0 THEN 'failed' ELSE 'filled' END`},
		{"events", `'position', position + n, 'id', 'e' || n, 'type', CASE n % 5 WHEN 0 THEN 'invoice.paid' ELSE type END, 'mode', CASE n % 2 WHEN 0 THEN 'test' ELSE mode END`},
		{"deliveries", `'position', position + n, 'event_id', 'e' || n, 'state', CASE n % 5 WHEN 0 THEN 'failed' ELSE state END`},
		{"tries", `'position', position + n`},
	} {
		change(t, url, fmt.Sprintf(`INSERT INTO %[1]s SELECT made.* FROM %[1]s first, generate_series(1, 2000) n,
			LATERAL jsonb_populate_record(first, jsonb_build_object(%[2]s)) made`, multiply.table, multiply.with))
	}
	change(t, url, "ANALYZE")
}

// plan holds the parts of a query plan that the test checks.
type plan struct {
	indexes []string // that are searched
	refused []string // scans and sorts
}

// sqliteIndex matches the name of an index in a plan of SQLite, without the prefix of the indexes of
// primary keys.
var sqliteIndex = regexp.MustCompile(`INDEX (?:sqlite_autoindex_)?(\w+)`)

// planOfSQLite returns a query's plan. See SQLite, "EXPLAIN QUERY PLAN".
func planOfSQLite(t *testing.T, conn *sql.Conn, q storage.Statement) (p plan) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.Text, q.Args...)
	if err != nil {
		t.Fatalf("%s: %v", q.Text, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(detail, "SCAN") || strings.Contains(detail, "TEMP B-TREE") {
			p.refused = append(p.refused, detail)
		}
		if index := sqliteIndex.FindStringSubmatch(detail); index != nil {
			p.indexes = append(p.indexes, strings.Replace(index[1], "_1", "_pkey", 1))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// node is a node of a plan of PostgreSQL.
type node struct {
	Type  string `json:"Node Type"`
	Index string `json:"Index Name"`
	Cond  string `json:"Index Cond"`
	Plans []node
}

// planOfPostgres returns a query's plan. It disables sequential scans, which PostgreSQL prefers for
// small tables: such a plan still has one if there is no index. See PostgreSQL, "Using EXPLAIN".
func planOfPostgres(t *testing.T, conn *sql.Conn, q storage.Statement) (p plan) {
	t.Helper()
	if _, err := conn.ExecContext(t.Context(), "SET enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	var text string
	if err := conn.QueryRowContext(t.Context(), "EXPLAIN (FORMAT JSON) "+q.Text, q.Args...).Scan(&text); err != nil {
		t.Fatalf("%s: %v", q.Text, err)
	}
	var explained []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &explained); err != nil {
		t.Fatal(err)
	}
	explained[0].Plan.add(&p)
	return p
}

// add adds a node and the nodes below it to a plan. It reports whether one of them is a limit, above which
// the rows of a page may be sorted.
func (n node) add(p *plan) (limited bool) {
	for _, below := range n.Plans {
		limited = below.add(p) || limited
	}
	switch {
	case n.Type == "Seq Scan", strings.Contains(n.Type, "Index") && n.Cond == "", strings.HasSuffix(n.Type, "Sort") && !limited:
		p.refused = append(p.refused, n.Type+" "+n.Index)
	case n.Index != "":
		p.indexes = append(p.indexes, n.Index)
	}
	return limited || n.Type == "Limit"
}
