package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/internal/signature"
)

const (
	// originals is the number of test invoices that the program itself creates. The others are copies
	// of them in the database, spread over a year.
	originals = 100
	// paidOriginals is the number of originals that are paid. One more is declined.
	paidOriginals = 78
	// copyBatch is the number of copies of each original in one transaction.
	copyBatch = 50
	year      = 365 * 24 * time.Hour
)

// growth prints how the cost of work depends on the number of stored invoices. The ratios compare each
// size with the smallest.
func growth(ctx context.Context, binary, folder, engine string, database func() (string, error), sizes []int, span time.Duration) error {
	fmt.Printf("### Growth on %s\n\n| stored invoices | %s |\n|---%s|\n", engine, joined(sizes, strconv.Itoa), strings.Repeat("|---", len(sizes)))
	var columns [][]figure
	for _, size := range sizes {
		url, err := database()
		if err != nil {
			return err
		}
		column, err := grown(ctx, binary, filepath.Join(folder, fmt.Sprintf("growth-%s-%d", engine, size)), url, size, span)
		if err != nil {
			return fmt.Errorf("%d invoices: %w", size, err)
		}
		columns = append(columns, column)
	}
	for row := range columns[0] {
		fmt.Printf("| %s | %s |\n", columns[0][row].name, joined(columns, func(c []figure) string {
			text := fmt.Sprintf("%.3g %s", c[row].value, c[row].unit)
			if base := columns[0][row].value; len(sizes) > 1 && base != 0 {
				text += fmt.Sprintf(" (%.2f)", c[row].value/base)
			}
			return text
		}))
	}
	return nil
}

// growthSizes returns the sizes that are measured: 1,000, 100,000 and so on below the largest, and the largest.
func growthSizes(largest int) (sizes []int) {
	for size := 1000; size < largest; size *= 100 {
		sizes = append(sizes, size)
	}
	return append(sizes, largest)
}

func joined[T any](all []T, text func(T) string) string {
	var texts []string
	for _, t := range all {
		texts = append(texts, text(t))
	}
	return strings.Join(texts, " | ")
}

// figure is one measured value.
type figure struct {
	name  string
	value float64
	unit  string
}

// grown returns the figures of a program with the given number of stored invoices.
func grown(ctx context.Context, binary, folder, database string, size int, span time.Duration) ([]figure, error) {
	p, err := serve(ctx, binary, folder, database)
	if err != nil {
		return nil, err
	}
	defer func() { p.stop() }()
	if err := p.useTestKey(ctx, binary); err != nil {
		return nil, err
	}
	if err := p.createOriginals(ctx); err != nil {
		return nil, err
	}
	p.stop()
	empty, err := p.size(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.multiply(ctx, size/originals-1); err != nil {
		return nil, fmt.Errorf("copy invoices: %w", err)
	}
	full, err := p.size(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.start(ctx, binary); err != nil {
		return nil, err
	}
	figures := []figure{
		{"start", milliseconds(p.started), "ms"},
		{"memory when idle", float64(p.memory()) / (1 << 20), "MiB"},
		{"disk per invoice", float64(full-empty) / float64(max(size-originals, 1)) / 1000, "kB"},
	}
	random := mathrand.New(mathrand.NewPCG(1, uint64(size)))
	now := time.Now()
	order := func() string { return fmt.Sprintf("order-%d-%d", random.IntN(originals), random.IntN(size/originals)) }
	old := func() string {
		return url.QueryEscape(now.Add(-time.Duration(random.Int64N(int64(year)))).UTC().Format(time.RFC3339))
	}
	cursor := ""
	if page, err := p.list(ctx, "to="+url.QueryEscape(now.Add(-360*24*time.Hour).UTC().Format(time.RFC3339))); err == nil {
		cursor = page.NextCursor
	}
	for _, w := range []struct {
		name  string
		query func() string
	}{
		{"find an order", func() string { return "order_id=" + order() }},
		{"find an order that does not exist", func() string { return "order_id=none" }},
		{"newest 100", func() string { return "limit=100" }},
		{"100 declined ones", func() string { return "limit=100&status=declined" }},
		{"100 pending ones, of none", func() string { return "limit=100&status=pending" }},
		{"100 before a random time", func() string { return "limit=100&to=" + old() }},
		{"100 after a cursor 360 days back", func() string { return "limit=100&cursor=" + cursor }},
	} {
		got, err := load(ctx, 1, span, func(ctx context.Context) error {
			_, err := p.list(ctx, w.query())
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		figures = append(figures, figure{w.name + ", p50", got.at(.5), "ms"})
	}
	rows, took, err := p.export(ctx, now.Add(-30*24*time.Hour))
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	figures = append(figures, figure{"CSV of 30 days", float64(rows) / took.Seconds(), "rows/s"})
	for _, clients := range []int{1, 32} {
		got, err := load(ctx, clients, span, p.create)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure{fmt.Sprintf("create, %d clients", clients), got.perSecond(), "/s"})
	}
	begin := time.Now()
	backup := filepath.Join(folder, "backup")
	if _, err := p.run(ctx, binary, "backup", backup); err != nil {
		return nil, err
	}
	figures = append(figures, figure{"backup", time.Since(begin).Seconds(), "s"})
	return figures, os.Remove(backup)
}

// useTestKey lets the following requests use a test key, whose invoices have every method of the
// test wallets.
func (p *program) useTestKey(ctx context.Context, binary string) error {
	p.environ = append(p.environ, "CHEQUER_PASSPHRASE=correct horse battery staple")
	out, err := p.run(ctx, binary, "key", "add", "--test", "--json")
	if err != nil {
		return err
	}
	var key struct{ Key, Secret string }
	if err := json.Unmarshal(out, &key); err != nil {
		return err
	}
	p.secret = key.Secret
	p.headers = map[string]string{api.HeaderKey: key.Key, api.HeaderSignature: signature.Sign(key.Secret, []byte(body))}
	return nil
}

// createOriginals creates the invoices that are copied afterwards: most are paid, one is declined.
func (p *program) createOriginals(ctx context.Context) error {
	for i := range originals {
		var inv api.Invoice
		content := fmt.Sprintf(`{"amount":12.50,"fiat_currency":"EUR","order_id":"order-%d-0","expires_in":60}`, i)
		if err := p.call(ctx, http.MethodPost, api.PathInvoiceNew, content, &inv); err != nil {
			return err
		}
		switch {
		case i < paidOriginals:
			for _, action := range []string{api.SimulateExact, api.SimulateConfirm} {
				if err := p.call(ctx, http.MethodPost, api.PathTestInvoices+"/"+inv.ForeignID+"/simulate", `{"action":"`+action+`"}`, nil); err != nil {
					return err
				}
			}
		case i == paidOriginals:
			if err := p.call(ctx, http.MethodPost, api.PathInvoices+"/"+inv.ForeignID+"/cancel", "{}", nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// call sends a request with the project's own signature scheme and decodes the answer.
func (p *program) call(ctx context.Context, method, path, content string, into any) error {
	answer, err := p.open(ctx, method, path, content)
	if err != nil {
		return err
	}
	defer answer.Close()
	if into == nil {
		_, err = io.Copy(io.Discard, answer)
		return err
	}
	return json.NewDecoder(answer).Decode(into)
}

func (p *program) open(ctx context.Context, method, path, content string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(content))
	if err != nil {
		return nil, err
	}
	signed := signature.Request{
		Timestamp: strconv.FormatInt(time.Now().Unix(), 10), Nonce: rand.Text(),
		Method: method, Target: r.URL.RequestURI(), Body: []byte(content),
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", api.HeaderKey: p.headers[api.HeaderKey], api.HeaderTimestamp: signed.Timestamp,
		api.HeaderNonce: signed.Nonce, api.HeaderSignature: signature.Sign(p.secret, signed.Message()),
	} {
		r.Header.Set(name, value)
	}
	response, err := browser.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("%s: %s", response.Status, text)
	}
	return response.Body, nil
}

// list reads a page of the list of invoices.
func (p *program) list(ctx context.Context, query string) (page api.InvoiceList, err error) {
	err = p.call(ctx, http.MethodGet, api.PathInvoices+"?"+query, "", &page)
	return page, err
}

// export reads the CSV of the invoices since a time, and returns the number of lines and the time taken.
func (p *program) export(ctx context.Context, from time.Time) (lines int, took time.Duration, err error) {
	begin := time.Now()
	answer, err := p.open(ctx, http.MethodGet, api.PathInvoices+"/export?format=csv&from="+url.QueryEscape(from.UTC().Format(time.RFC3339)), "")
	if err != nil {
		return 0, 0, err
	}
	defer answer.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := answer.Read(buffer)
		lines += strings.Count(string(buffer[:n]), "\n")
		if err == io.EOF {
			return lines, time.Since(begin), nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// size returns the bytes that the database takes on disk, after a checkpoint.
func (p *program) size(ctx context.Context) (bytes int64, err error) {
	db, err := p.openFeed()
	if err != nil {
		return 0, err
	}
	defer db.Close()
	if p.postgres != "" {
		err = db.QueryRowContext(ctx, "SELECT pg_database_size(current_database())").Scan(&bytes)
		return bytes, err
	}
	if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return 0, err
	}
	info, err := os.Stat(p.database())
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// copied are the statements that copy the rows of all originals. In each, $1 and $2 are the first and the
// last number of the copies, and $3 is the distance of two copies in milliseconds.
var copied = []string{
	`INSERT INTO invoices (id, merchant_id, mode, version, status, exceptions, price, currency, decimals, paid, due, overpaid, order_id, created_at, expires_at,
		next_check_at, paid_at, paid_tx, paid_asset, declined_at, delayed_at, accepted, refund, clock, terms, methods, quotes, coverage, refund_asset, conversions,
		revision, paid_count, first_paid_at, accepted_at, accepted_by)
	SELECT substr(o.id, 1, 24) || CAST(10000000 + n.i AS TEXT), o.merchant_id, o.mode, o.version, o.status, o.exceptions, o.price, o.currency, o.decimals, o.paid, o.due,
		o.overpaid, substr(o.order_id, 1, length(o.order_id) - 1) || CAST(n.i AS TEXT), o.created_at - n.i * CAST($3 AS BIGINT), o.expires_at - n.i * CAST($3 AS BIGINT),
		NULL, o.paid_at - n.i * CAST($3 AS BIGINT), o.paid_tx, o.paid_asset, o.declined_at, o.delayed_at, o.accepted, o.refund, o.clock, o.terms, o.methods, o.quotes,
		o.coverage, o.refund_asset, o.conversions, o.revision, o.paid_count, o.first_paid_at, o.accepted_at, o.accepted_by
	FROM n, invoices o WHERE o.id IN (SELECT id FROM originals)`,
	`INSERT INTO destinations (network, script, invoice_id, merchant_id, address_index, position, watch_until)
	SELECT o.network, o.script || CAST(n.i AS TEXT), substr(o.invoice_id, 1, 24) || CAST(10000000 + n.i AS TEXT), o.merchant_id, o.address_index, o.position, o.created_at
	FROM n, (SELECT d.*, 0 AS created_at FROM destinations d WHERE d.invoice_id IN (SELECT id FROM originals)) o`,
	`INSERT INTO transfers (network, id, invoice_id, number, tx, asset, script, amount, currency, decimals, spends, coinbase, presence, first_seen, sighted,
		block_height, block_hash, block_time, confirmed_at, confirmations, required, old, market, unsure, folded)
	SELECT o.network, o.id || CAST(n.i AS TEXT), substr(o.invoice_id, 1, 24) || CAST(10000000 + n.i AS TEXT), o.number, o.tx || CAST(n.i AS TEXT), o.asset, o.script, o.amount,
		o.currency, o.decimals, o.spends, o.coinbase, o.presence, o.first_seen, o.sighted, o.block_height, o.block_hash, o.block_time, o.confirmed_at, o.confirmations,
		o.required, o.old, o.market, o.unsure, o.folded
	FROM n, transfers o WHERE o.invoice_id IN (SELECT id FROM originals)`,
	`INSERT INTO events (merchant_id, position, id, invoice_id, type, version, created_at, body, mode)
	SELECT o.merchant_id, -(o.position * 1000000 + n.i), o.id || CAST(n.i AS TEXT), substr(o.invoice_id, 1, 24) || CAST(10000000 + n.i AS TEXT), o.type, o.version,
		o.created_at, o.body, o.mode
	FROM n, events o WHERE o.invoice_id IN (SELECT id FROM originals) AND n.i <= 30 * 86400000 / CAST($3 AS BIGINT)`, // events are kept for 30 days
}

// multiply stores the given number of copies of each original, spread over a year.
func (p *program) multiply(ctx context.Context, copies int) error {
	if copies <= 0 {
		return nil
	}
	db, err := p.openFeed()
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE originals AS SELECT id FROM invoices WHERE mode = 'test'"); err != nil {
		return err
	}
	for first := 1; first <= copies; first += copyBatch {
		if err := copyOnce(ctx, db, first, min(first+copyBatch-1, copies), year.Milliseconds()/int64(copies)); err != nil {
			return err
		}
	}
	if _, err := db.ExecContext(ctx, "DROP TABLE originals"); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "ANALYZE")
	return err
}

func copyOnce(ctx context.Context, db *sql.DB, first, last int, distance int64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, statement := range copied {
		numbers := "WITH RECURSIVE n (i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < CAST($2 AS BIGINT)) "
		arguments := []any{first, last, distance}
		if !strings.Contains(statement, "$3") {
			arguments = arguments[:2]
		}
		if _, err := tx.ExecContext(ctx, numbers+statement, arguments...); err != nil {
			return err
		}
	}
	return tx.Commit()
}
