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
	"chequer/internal/report"
	"chequer/internal/storage"
)

// filtered is a list with one combination of its filters.
type filtered struct {
	name       string
	index      string // the index that its conditions and its order need
	statements []storage.Statement
	sorts      bool // the invoices of one transaction or address, which are few, are sorted
}

// filteredLists returns every list that has filters, with every combination of them.
func filteredLists() []filtered {
	const page = 2
	lists := append(filteredInvoices(page), filtered{"tally", "invoices_by_status", storage.TallyStatements("shop", invoice.Live), false})
	for _, after := range []invoice.Position{{}, {CreatedAt: noon, ID: "i9"}} {
		lists = append(lists, filtered{"undecided", "invoice_flags_by_age", storage.UndecidedStatements(after, page), false})
	}
	inSnoozes, inResolutions := storage.CaseStatements(noon, page)
	lists = append(lists, filtered{"snoozed", "snoozes_by_end", []storage.Statement{inSnoozes}, false}, filtered{"resolved", "resolutions_by_time", []storage.Statement{inResolutions}, false})
	period := report.LastDays(7, report.DayOf(noon, time.UTC))
	lists = append(lists, filtered{"security", "audit_log_of_security", storage.SecurityStatements(page), false})
	lists = append(lists, filtered{"sums of days", "day_sums_pkey", storage.DaySumsStatements(period), false})
	lists = append(lists, filtered{"invoices of sums of days", "invoices_by_paid_at", storage.FillStatements(), false})
	passed, waiting, metadata := storage.RetentionStatements("shop", noon)
	lists = append(lists, filtered{"retention", "invoices_by_age", passed, false}, filtered{"waiting for the retention", "retention_waiting_pkey", waiting, false},
		filtered{"metadata of plug-ins", "plugin_data_by_age", metadata, false})
	for _, after := range []report.Position{{}, {PaidAt: noon, ID: "i9"}} {
		lists = append(lists, filtered{"paid", "invoices_by_paid_at", storage.PaidStatements(period, after, page), false})
	}
	for _, state := range []merchant.DeliveryState{"", merchant.DeliveryFailed} {
		lists = append(lists, filtered{"deliveries " + string(state), chooseIndex(state != "", "deliveries_by_state", "deliveries_pkey"),
			storage.DeliveriesStatements("e", state, math.MaxInt64, page), false})
	}
	for _, kind := range []string{"", "invoice.paid"} {
		lists = append(lists, filtered{"events " + kind, chooseIndex(kind != "", "events_by_type", "events_by_mode"),
			storage.NewestEventsStatements("shop", invoice.Live, 0, kind, page), false})
	}
	for _, state := range []invoice.SaleState{"", invoice.SaleFailed} {
		lists = append(lists, filtered{"sales " + string(state), chooseIndex(state != "", "conversions_by_state", "conversions_by_age"),
			storage.SaleStatements("shop", state, page), false})
	}
	for _, state := range []invoice.RefundState{"", invoice.RefundReady} {
		for _, after := range []invoice.Position{{}, {CreatedAt: noon, ID: "r9"}} {
			lists = append(lists, filtered{"refunds " + string(state), chooseIndex(state != "", "refunds_by_state", "refunds_by_merchant"),
				storage.RefundStatements(state, after, page), false})
		}
	}
	for _, after := range []string{"", "swp_9"} {
		lists = append(lists, filtered{"sweeps", "sweeps_by_time", storage.SweepStatements(after, page), false})
	}
	return lists
}

// listFilter is a filter of the list of invoices, with the index of the list that it alone uses.
type listFilter struct {
	name, index string
	set         func(*invoice.Filter)
	ofOrigin    bool // sets the field Origin
}

// listFilters are all filters, in the order in which one of them is chosen to drive a list.
var listFilters = []listFilter{
	{"transaction", "transfers_by_tx", func(f *invoice.Filter) { f.Tx = "t7" }, false},
	{"address", "destinations_pkey", func(f *invoice.Filter) {
		f.Scripts = []invoice.Script{{Network: "bitcoin", Script: "s7"}, {Network: "ethereum", Script: "s8"}}
	}, false},
	{"order", "invoices_by_order", func(f *invoice.Filter) { f.OrderID = "o7" }, false},
	{"reference", "invoices_by_reference", func(f *invoice.Filter) { f.Reference = "r7" }, false},
	{"price", "invoices_by_price", func(f *invoice.Filter) { f.Price = money.FromCents(700, money.EUR) }, false},
	{"exception", "invoice_flags_by_age", func(f *invoice.Filter) { f.Exception = invoice.Late }, false},
	{"decision", "invoice_flags_by_age", func(f *invoice.Filter) { f.NeedsDecision = true }, false},
	{"link", "invoices_by_source", func(f *invoice.Filter) { f.Origin = invoice.Origin{Kind: invoice.FromLink, ID: "l7"} }, true},
	{"paid asset", "invoices_by_paid_asset", func(f *invoice.Filter) { f.PaidAsset = "BTC" }, false},
	{"status", "invoices_by_status", func(f *invoice.Filter) { f.Status = invoice.Paid }, false},
	{"API key", "invoices_by_origin", func(f *invoice.Filter) { f.Origin = invoice.Origin{Kind: invoice.FromAPI, ID: "k7"} }, true},
	{"origin", "invoices_by_origin", func(f *invoice.Filter) { f.Origin = invoice.Origin{Kind: invoice.FromLink} }, true},
}

// filteredInvoices returns the lists of invoices that the test examines, driven by each filter that may do so. The list
// without a filter, and with each single filter, has every combination of the bounds From, To and after. The list with
// each pair of filters has no bounds or all three.
func filteredInvoices(page int) (lists []filtered) {
	combinations := [][]listFilter{nil}
	for i, filter := range listFilters {
		combinations = append(combinations, []listFilter{filter})
		for _, other := range listFilters[i+1:] {
			if filter.ofOrigin && other.ofOrigin {
				continue
			}
			combinations = append(combinations, []listFilter{filter, other})
		}
	}
	for _, filters := range combinations {
		for choice := range 1 << 3 {
			if len(filters) > 1 && choice != 0 && choice != 7 {
				continue
			}
			isChosen := func(bit int) bool { return choice&(1<<bit) != 0 }
			f, after := invoice.Filter{MerchantID: "shop", Mode: invoice.Live}, invoice.Position{}
			name := "invoices"
			for _, filter := range filters {
				filter.set(&f)
				name += " " + filter.name
			}
			if isChosen(0) {
				f.From, name = noon.Add(-time.Hour), name+" from"
			}
			if isChosen(1) {
				f.To, name = noon.Add(time.Hour), name+" to"
			}
			if isChosen(2) {
				after, name = invoice.Position{CreatedAt: noon.Add(time.Second), ID: "i9"}, name+" after"
			}
			if len(filters) == 0 {
				lists = append(lists, filtered{name, "invoices_by_age", storage.InvoicesStatements(f, after, page, 0), false})
			}
			for driver, filter := range filters[:storage.Drivers(f)] {
				index, sorts := filter.index, filter.name == "transaction" || filter.name == "address"
				if index == "invoice_flags_by_age" && f.Status != "" {
					index = "invoice_flags_by_status"
				}
				lists = append(lists, filtered{name + " by " + filter.name, index, storage.InvoicesStatements(f, after, page, driver), sorts})
				if !sorts {
					lists = append(lists, filtered{"end of " + name + " by " + filter.name, index, storage.SearchEndStatements(f, after, driver), false})
				}
			}
		}
	}
	return lists
}

// chooseIndex returns the index that a list uses with its filter or without it.
func chooseIndex(isFiltered bool, with, without string) string {
	if isFiltered {
		return with
	}
	return without
}

// No list scans a table, or sorts more than the rows of its page, with any combination of its filters.
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
				if texts[q.Text] {
					continue
				}
				texts[q.Text] = true
				p := explain(t, conn, q)
				if l.sorts {
					p.refused = slices.DeleteFunc(p.refused, func(node string) bool { return isSort.MatchString(node) })
				}
				if len(p.refused) > 0 || !slices.Contains(p.indexes, l.index) {
					t.Errorf("%s:\n%s\nhas %q and uses %q, want %s", l.name, q.Text, p.refused, p.indexes, l.index)
				}
			}
		}
		// A list of invoices has seven statements. There are 12 choices of at most one filter (exception and
		// decision have the same texts), with 4 texts for the combinations of bounds, and 52 pairs of
		// filters, with 2; a paid asset and the status paid are not a pair. The second filter drives 32 of the pairs, too.
		// 8 filters and a pair of them, an exception with a status, have an end of the search. The list of undecided
		// invoices has five statements, with and without a position. The tally and the security entries have one statement
		// each, and the sums of days, their computation and the paid invoices two each. Deliveries and events have one
		// statement without a filter and one with it, and sales have two each, and refunds have two with and two without a
		// position. Sweeps have one with and one without a position. Snoozed and resolved invoices, and the three lists of the retention, have one statement each, and so has the check of
		// the sums of days.
		if got, want := len(texts), (12*4+2*(52+32))*7+8*4+2+5*2+1+1+2+2+2+2+2+2*2+2*2+2+2+3+1; got != want {
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
		inv.Refunds = []invoice.Refund{newRefund("r", invoice.RefundReady)}
		inv.State.Exceptions = []invoice.Exception{invoice.Late}
		inv.State.Status, inv.State.PaidAt = invoice.Paid, noon
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	execSQL(t, url, "INSERT INTO snoozes (invoice_id, merchant_id, mode, until, set_by) VALUES ('a', 'shop', 'live', 1, 'Tove')")
	execSQL(t, url, "INSERT INTO resolutions (invoice_id, merchant_id, mode, at, actor_kind, actor_name) VALUES ('a', 'shop', 'live', 1, 'account', 'Tove')")
	execSQL(t, url, "INSERT INTO retention_waiting (merchant_id, invoice_id) VALUES ('shop', 'a')")
	claims, _ := claim(t, s, "e", noon, 1)
	saveAttempt(t, s, claims[0], noon, 204, deliveryDone)
	if !strings.HasPrefix(url, "postgres") {
		return
	}
	for _, multiply := range []struct{ table, with string }{
		{"invoices", `'id', 'i' || n, 'order_id', 'o' || n, 'created_at', created_at + n, 'paid_at', paid_at + n, 'status', CASE n % 5 WHEN 0 THEN 'created' ELSE 'paid' END,
			'reference', 'r' || n, 'price', 100 * n, 'origin', CASE n % 3 WHEN 0 THEN 'link' ELSE 'api' END, 'origin_id', 'l' || n, 'paid_asset', CASE n % 2 WHEN 0 THEN 'BTC' ELSE '' END`},
		{"day_sums", `'day', day + n, 'origin_id', 'l' || n`},
		{"destinations", `'script', 's' || n, 'invoice_id', 'i' || n, 'position', position + n`},
		{"invoice_flags", `'invoice_id', 'i' || n, 'created_at', created_at + n, 'status', CASE n % 5 WHEN 0 THEN 'expired' ELSE 'paid' END`},
		{"transfers", `'id', 't' || n, 'invoice_id', 'i' || n, 'tx', 't' || n`},
		{"spends", `'tx', 't' || n`},
		{"conversions", `'invoice_id', 'i' || n, 'created_at', created_at + n, 'state', CASE n % 5 WHEN 0 THEN 'failed' ELSE 'filled' END`},
		{"refunds", `'invoice_id', 'i' || n, 'id', 'ref_' || n, 'asked_at', asked_at + n, 'state', CASE n % 5 WHEN 0 THEN 'ready' ELSE 'sent' END`},
		{"snoozes", `'invoice_id', 'i' || n, 'until', until + n`},
		{"retention_waiting", `'invoice_id', 'i' || n`},
		{"resolutions", `'invoice_id', 'i' || n, 'at', at + n`},
		{"events", `'position', position + n, 'id', 'e' || n, 'type', CASE n % 5 WHEN 0 THEN 'invoice.paid' ELSE type END, 'mode', CASE n % 2 WHEN 0 THEN 'test' ELSE mode END`},
		{"deliveries", `'position', position + n, 'event_id', 'e' || n, 'invoice_id', 'i' || n, 'state', CASE n % 5 WHEN 0 THEN 'failed' ELSE state END`},
		{"tries", `'position', position + n`},
	} {
		execSQL(t, url, fmt.Sprintf(`INSERT INTO %[1]s SELECT made.* FROM %[1]s first, generate_series(1, 2000) n,
			LATERAL jsonb_populate_record(first, jsonb_build_object(%[2]s)) made`, multiply.table, multiply.with))
	}
	execSQL(t, url, "ANALYZE")
}

// isSort matches a node of a plan that sorts.
var isSort = regexp.MustCompile(`^(USE TEMP B-TREE FOR ORDER BY|(Incremental )?Sort )`)

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
	bounded := []string{"SCAN CONSTANT ROW"} // and the rows of subqueries, whose own plans follow
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		if name, isSubquery := strings.CutPrefix(detail, "CO-ROUTINE "); isSubquery {
			bounded = append(bounded, "SCAN "+name)
		}
		if strings.HasPrefix(detail, "SCAN") && !slices.Contains(bounded, detail) || strings.Contains(detail, "TEMP B-TREE") {
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
		// A renamed table keeps the names of its indexes.
		p.indexes = append(p.indexes, strings.Replace(n.Index, "script_destinations_pkey", "destinations_pkey", 1))
	}
	return limited || n.Type == "Limit"
}
