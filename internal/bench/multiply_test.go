package bench_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/audit"
	"chequer/internal/storage/storagetest"
)

const (
	// masterKey is the byte of the master key, with which the benchmark appends to the audit log.
	masterKey = 1
	// copyBatch is the number of copies of each original in one transaction.
	copyBatch = 50
)

// multiply stores the given number of copies of each final test invoice with all rows that belong to it, spread
// over a year, and adds the copies to every sum that the program keeps.
func (p *program) multiply(b *testing.B, copies int) {
	b.Helper()
	if copies <= 0 {
		return
	}
	distance := year.Milliseconds() / int64(copies)
	shifted := func(column string) string { return fmt.Sprintf("o.%s - n.i * %d", column, distance) }
	const (
		final    = " WHERE invoice_id IN (SELECT id FROM invoices WHERE mode = 'test' AND status IN ('paid', 'expired', 'declined'))"
		number   = " || CAST(n.i AS TEXT)"
		position = "-(o.position * 1000000 + n.i)" // before the events of the originals
	)
	kept := fmt.Sprintf("n.i <= %d", 30*24*time.Hour.Milliseconds()/distance) // events are kept for 30 days
	c := newCopier(b, p.database, []original{
		{table: "invoices", query: "SELECT * FROM invoices" + strings.Replace(final, "invoice_id", "id", 1), changed: map[string]string{
			"id": copiedID, "order_id": numbered("order_id"), "reference": numbered("reference"), "next_check_at": "NULL",
			"created_at": shifted("created_at"), "expires_at": shifted("expires_at"), "paid_at": shifted("paid_at"),
			"first_paid_at": shifted("first_paid_at"), "declined_at": shifted("declined_at"),
		}},
		{table: "destinations", query: "SELECT * FROM destinations" + final, changed: map[string]string{
			"script": "o.script" + number, "invoice_id": copiedInvoiceID, "watch_until": "0",
		}},
		{table: "transfers", query: "SELECT * FROM transfers" + final, changed: map[string]string{
			"id": "o.id" + number, "invoice_id": copiedInvoiceID, "tx": "o.tx" + number, "first_seen": shifted("first_seen"),
			"block_time": shifted("block_time"), "confirmed_at": shifted("confirmed_at"),
			"block_height": "o.block_height * 0", // no block that the network still scans
		}},
		{table: "spends", query: "SELECT * FROM spends WHERE tx IN (SELECT tx FROM transfers" + final + ")", changed: map[string]string{"tx": "o.tx" + number}},
		{table: "invoice_flags", query: "SELECT * FROM invoice_flags" + final, changed: map[string]string{
			"invoice_id": copiedInvoiceID, "created_at": shifted("created_at"),
		}},
		{table: "link_uses", query: "SELECT * FROM link_uses" + final, changed: map[string]string{"invoice_id": copiedInvoiceID}},
		{table: "refunds", query: "SELECT * FROM refunds" + final, changed: map[string]string{
			"invoice_id": copiedInvoiceID, "id": "o.id" + number, "asked_at": shifted("asked_at"), "prepared_at": shifted("prepared_at"),
		}},
		{table: "events", query: "SELECT * FROM events" + final, changed: map[string]string{
			"position": position, "id": "o.id" + number, "invoice_id": copiedInvoiceID, "created_at": shifted("created_at"),
		}, where: kept},
		{table: "deliveries", query: "SELECT * FROM deliveries" + final, changed: map[string]string{
			"position": position, "event_id": "o.event_id" + number, "invoice_id": copiedInvoiceID, "created_at": shifted("created_at"),
			"first_try_at": shifted("first_try_at"),
		}, where: kept},
		{table: "tries", query: "SELECT * FROM tries", changed: map[string]string{"position": position, "at": shifted("at")}, where: kept},
	})
	for first := 1; first <= copies; first += copyBatch {
		c.write(b, first, min(first+copyBatch-1, copies))
	}
	p.recordCopies(b, copies, time.Duration(distance)*time.Millisecond)
	for _, s := range sums {
		storagetest.Exec(b, p.database, "DELETE FROM "+s.table)
		storagetest.Exec(b, p.database, "INSERT INTO "+s.table+" "+s.query)
	}
	storagetest.Exec(b, p.database, "UPDATE links SET uses = ("+linkUses+")")
	if strings.HasPrefix(p.database, "postgres") { // as its autovacuum does
		storagetest.Exec(b, p.database, "VACUUM ANALYZE")
	}
}

// numbered returns the expression of a text of a copy whose original ends with "-0"; an empty text stays empty.
func numbered(column string) string {
	return fmt.Sprintf("CASE o.%[1]s WHEN '' THEN '' ELSE substr(o.%[1]s, 1, length(o.%[1]s) - 1) || CAST(n.i AS TEXT) END", column)
}

// recordCopies appends a copy of each entry of the audit log about a final invoice for each of its copies, as long
// before the original as the copy of the invoice.
func (p *program) recordCopies(b *testing.B, copies int, distance time.Duration) {
	b.Helper()
	db, box := storagetest.Database(b, p.database), storagetest.Box(b, masterKey)
	entries, err := storagetest.Open(b, p.database).AuditLog(b.Context(), 0, 10*originals)
	if err != nil {
		b.Fatal(err)
	}
	head := entries[0].Head()
	ids := storagetest.Rows(b, p.database, `SELECT DISTINCT subject FROM audit_log
		WHERE subject IN (SELECT id FROM invoices WHERE mode = 'test' AND status IN ('paid', 'expired', 'declined'))`)
	entries = slices.DeleteFunc(entries, func(e audit.Entry) bool { return !slices.Contains(ids, e.Change.Subject) })
	slices.Reverse(entries)
	text := func(f audit.Fields) string {
		if len(f) == 0 {
			return ""
		}
		encoded, _ := json.Marshal(f) // of texts
		return string(encoded)
	}
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for i := copies; i > 0; i-- {
		for _, e := range entries {
			c, a := e.Change, e.Actor
			c.Subject = c.Subject[:24] + strconv.Itoa(10000000+i)
			added := audit.Append(box, head, e.At.Add(-time.Duration(i)*distance), a, c)
			_, err := tx.ExecContext(b.Context(), `
				INSERT INTO audit_log (number, at, actor_kind, actor_id, actor_name, address, stepped_up, merchant_id, action, subject, old_values, new_values, mac)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
				added.Number, added.At.UnixMilli(), string(a.Kind), a.ID, a.Name, a.Address, a.SteppedUp,
				c.MerchantID, c.Action, c.Subject, text(c.Before), text(c.After), added.MAC)
			if err != nil {
				b.Fatal(err)
			}
			head = added.Head()
		}
	}
	if _, err := tx.ExecContext(b.Context(), "UPDATE audit_head SET number = $1, mac = $2", head.Number, head.MAC); err != nil {
		b.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

// sums are the tables with numbers that the program adds up when an invoice changes.
var sums = []sumTable{talliesTable, daySumsTable}

// sumTable is a table with numbers that the program adds up, with the column of its numbers and the query whose
// result it must have.
type sumTable struct{ table, columns, number, query string }

var (
	talliesTable = sumTable{"tallies", "merchant_id, mode, status, flag, count", "count", `SELECT merchant_id, mode, status, '', COUNT(*) FROM invoices
		WHERE status IN ('paid', 'expired', 'declined') GROUP BY merchant_id, mode, status
		UNION ALL SELECT merchant_id, mode, status, flag, COUNT(*) FROM invoice_flags GROUP BY merchant_id, mode, status, flag`}
	daySumsTable = sumTable{"day_sums", "merchant_id, generation, mode, day, currency, decimals, paid_asset, origin, origin_id, invoices, price, received", "invoices", `
		SELECT merchant_id, COALESCE(generation, 0), mode, paid_at / 86400000, currency, decimals, paid_asset, origin, origin_id, COUNT(*),
			CAST(SUM(price) AS BIGINT), CAST(SUM(paid) AS BIGINT)
		FROM invoices LEFT JOIN day_sum_zones USING (merchant_id) WHERE paid_at IS NOT NULL AND COALESCE(zone, 'UTC') = 'UTC'
		GROUP BY merchant_id, generation, mode, paid_at / 86400000, currency, decimals, paid_asset, origin, origin_id`}
)

// linkUses is the query for the number that a link has as its uses.
const linkUses = `SELECT COUNT(*) FROM link_uses u JOIN invoices i ON i.id = u.invoice_id
	WHERE u.slug = links.slug AND i.status IN ('created', 'pending', 'paid')`

// contradictions are queries that count the rows which the program would not have written.
var contradictions = map[string]string{
	"flags that differ from their invoice": `SELECT COUNT(*) FROM invoice_flags f JOIN invoices i ON i.id = f.invoice_id
		WHERE f.status <> i.status OR f.created_at <> i.created_at OR f.merchant_id <> i.merchant_id OR f.mode <> i.mode`,
	"invoices with another number of refunds": `SELECT COUNT(*) FROM invoices
		WHERE refunds <> (SELECT COUNT(*) FROM refunds WHERE invoice_id = invoices.id)`,
	"paid invoices without a transfer": "SELECT COUNT(*) FROM invoices WHERE paid > 0 AND NOT EXISTS (SELECT 1 FROM transfers WHERE invoice_id = invoices.id)",
	"transfers without their spent outputs": `SELECT COUNT(*) FROM transfers WHERE tx <> ''
		AND NOT EXISTS (SELECT 1 FROM spends WHERE network = transfers.network AND tx = transfers.tx)`,
	"deliveries without their event": `SELECT COUNT(*) FROM deliveries d JOIN endpoints p ON p.id = d.endpoint_id
		WHERE d.invoice_id <> '' AND NOT EXISTS (SELECT 1 FROM events
			WHERE merchant_id = p.merchant_id AND position = d.position AND invoice_id = d.invoice_id)`,
	"deliveries without an attempt": `SELECT COUNT(*) FROM deliveries WHERE NOT EXISTS (SELECT 1 FROM tries
		WHERE endpoint_id = deliveries.endpoint_id AND position = deliveries.position)`,
	"invoices of a link that are no use of it": `SELECT COUNT(*) FROM invoices WHERE origin = 'link'
		AND NOT EXISTS (SELECT 1 FROM link_uses WHERE slug = invoices.origin_id AND invoice_id = invoices.id)`,
	"links with another number of uses":         "SELECT COUNT(*) FROM links WHERE uses <> (" + linkUses + ")",
	"refunds without an entry in the audit log": "SELECT COUNT(*) FROM (SELECT invoice_id FROM refunds EXCEPT SELECT subject FROM audit_log) unrecorded",
	"tallies that are wrong":                    difference(talliesTable),
	"day sums that are wrong":                   difference(daySumsTable),
}

// difference returns the query that counts the rows which only the table of a sum or only its query has.
func difference(s sumTable) string {
	stored := "SELECT " + s.columns + " FROM " + s.table + " WHERE " + s.number + " <> 0"
	only := func(one, other string) string {
		return "SELECT * FROM (SELECT * FROM (" + one + ") o EXCEPT SELECT * FROM (" + other + ") n) e"
	}
	return "SELECT COUNT(*) FROM (" + only(stored, s.query) + " UNION ALL " + only(s.query, stored) + ") all_of_them"
}

// checkSums fails the benchmark if the database has rows that the program would not have written.
func (p *program) checkSums(b *testing.B) {
	b.Helper()
	db := storagetest.Database(b, p.database)
	for name, query := range contradictions {
		if n := count(b, db, query); n > 0 {
			b.Errorf("%d %s", n, name)
		}
	}
	p.run(b, "log", "verify")
}
