package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/seal"
	"chequer/internal/storage"
)

func TestRestore_brings_back_every_row(t *testing.T) {
	t.Parallel()
	for from := range engines {
		for to := range engines {
			t.Run(from+"_to_"+to, func(t *testing.T) {
				t.Parallel()
				source, target := engines[from](t), engines[to](t)
				fill(t, open(t, source), source)
				want := dump(t, source)
				for table, rows := range want {
					if len(rows) == 0 {
						t.Errorf("fill writes no row to table %s: add one, so that this test covers the table", table)
					}
				}

				backup, m := backUp(t, source)
				restored := restore(t, target, backup, storage.RestoreOptions{})

				if m.Engine != from || !m.CreatedAt.Equal(noon) || restored.Skipped != 1000 {
					t.Errorf("got %+v of %+v", restored, m)
				}
				if diff := cmp.Diff(m, restored.Manifest); diff != "" {
					t.Errorf("restored manifest (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(counts(want), m.Rows); diff != "" {
					t.Errorf("rows by table (-want +got):\n%s", diff)
				}
				got := dump(t, target)
				delete(want, "counters") // see TestRestore_skips_indexes
				delete(got, "counters")
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("tables (-want +got):\n%s", diff)
				}
				again := open(t, target)
				if _, err := again.Keys(t.Context(), "shop"); err != nil {
					t.Errorf("open sealed values: %v", err)
				}
				create(t, again, creation("later", "bakery"))
			})
		}
	}
}

// fill writes at least one row into every table, with values that are hard to copy.
func fill(t *testing.T, s *storage.Storage, url string) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	addMerchants(t, s)
	must(s.CreateMerchant(ctx, merchant.Merchant{ID: "odd", Name: "Süd \"<&>\" \u2028\t\\u0041 🥨 'x'; --", CreatedAt: noon}))
	must(s.CreateKey(ctx, newKey("k1")))
	must(s.CreateKey(ctx, newKey("k2")))
	must(s.RevokeKey(ctx, newKey("k2").Key, noon))
	must(s.CreateWallet(ctx, newWallet("w1", "BTC", "zpub", noon)))
	must(s.CreateEndpoint(ctx, newEndpoint("e1")))
	must(s.SetTheme(ctx, "odd", oddLook, noon))
	c := creation("first", "shop")
	c.Key, c.BodyHash, c.EvidenceName, c.Evidence = invoice.IdempotencyKey{Namespace: "live/api", Value: "order-1"}, "hash", "ev", "{}"
	c.Order = invoice.Order{KeyID: "k1", ID: "1042"}
	create(t, s, c)
	for i := range 250 { // more than one statement writes
		create(t, s, creation(fmt.Sprint("i", i), "bakery"))
	}
	_, err := s.UpdateInvoice(ctx, "first", invoice.Lease{}, func(inv *invoice.Invoice) error {
		inv.Transfers = []invoice.Transfer{{
			ID: "tx:0", Network: "bitcoin", Tx: "tx", Asset: "BTC", Script: "shop/BTC/0", Amount: money.MustParse("1", money.BTC),
			Presence: invoice.Present, FirstSeen: noon, Sighted: true, Required: 6,
		}}
		return nil
	})
	must(err)
	_, err = s.UseNonce(ctx, "k", "n", noon, time.Hour)
	must(err)
	_, err = s.AcquireLease(ctx, "bitcoin", "holder", noon, time.Hour)
	must(err)
	must(s.UpdateSimnet(ctx, -1, func(c *simnet.Chain) error {
		c.Blocks, c.Txs = []simnet.Block{block(0, "b0")}, []simnet.Tx{tx("deep", 0), tx("waiting", -1)}
		return nil
	}))
	change(t, url, "UPDATE invoices SET order_id = $1 WHERE id = 'first'", strings.Repeat("é", 5000))
	change(t, url, "INSERT INTO simnet_blocks (height, hash, parent, time) VALUES ($1, 'far', '', $2)", int64(math.MaxInt64), int64(math.MinInt64))
	tables := dump(t, url)
	names := slices.Sorted(maps.Keys(tables))
	slices.Reverse(names) // links before link_uses, which refers to links
	for _, table := range names {
		if len(tables[table]) == 0 {
			fillTable(t, url, table)
		}
	}
}

// fillTable writes a row into a table that fill does not handle.
func fillTable(t *testing.T, url, table string) {
	t.Helper()
	result, err := database(t, url).QueryContext(t.Context(), `SELECT * FROM "`+table+`"`)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	columns, err := result.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	var values []any
	for i, c := range columns {
		places = append(places, fmt.Sprint("$", i+1))
		switch name, kind := c.Name(), c.DatabaseTypeName(); {
		case name == "merchant_id":
			values = append(values, "shop")
		case name == "invoice_id":
			values = append(values, "first")
		case kind == "TEXT":
			values = append(values, name)
		case strings.HasPrefix(kind, "BOOL"):
			values = append(values, true)
		default:
			values = append(values, int64(i))
		}
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	change(t, url, `INSERT INTO "`+table+`" VALUES (`+strings.Join(places, ", ")+")", values...)
}

// backUp makes a backup of a database that uses the first master key.
func backUp(t testing.TB, url string) ([]byte, storage.Manifest) {
	t.Helper()
	var backup bytes.Buffer
	m, err := storage.Backup(t.Context(), url, masterKey(1), noon, &backup)
	if err != nil {
		t.Fatal(err)
	}
	checked, master, err := storage.CheckBackup(bytes.NewReader(backup.Bytes()))
	if err != nil || !cmp.Equal(checked, m) || !bytes.Equal(master, masterKey(1)) {
		t.Fatalf("check: got %+v with key %x, error %v, want %+v", checked, master, err, m)
	}
	return backup.Bytes(), m
}

func restore(t testing.TB, url string, backup []byte, o storage.RestoreOptions) storage.Restored {
	t.Helper()
	restored, err := storage.Restore(t.Context(), url, bytes.NewReader(backup), o)
	if err != nil {
		t.Fatal(err)
	}
	return restored
}

// masterKey returns the key of box.
func masterKey(b byte) []byte { return bytes.Repeat([]byte{b}, seal.KeySize) }

// dump returns every table of a database, whether or not the program knows it: its rows as text,
// sorted.
func dump(t testing.TB, url string) map[string][]string {
	t.Helper()
	list := "SELECT name FROM sqlite_schema WHERE type = 'table'"
	if strings.HasPrefix(url, "postgres") {
		list = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
	}
	tables := map[string][]string{}
	for _, name := range rows(t, url, list) {
		if name == "goose_db_version" || strings.HasPrefix(name, "sqlite_") {
			continue
		}
		tables[name] = dumpTable(t, url, name)
	}
	return tables
}

func dumpTable(t testing.TB, url, table string) []string {
	t.Helper()
	result, err := database(t, url).QueryContext(t.Context(), `SELECT * FROM "`+table+`"`)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	columns, err := result.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for result.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := result.Scan(into...); err != nil {
			t.Fatal(err)
		}
		fields := make([]string, len(columns))
		for i, v := range values {
			if n, ok := v.(int64); ok && columns[i].DatabaseTypeName() == "BOOLEAN" {
				v = n != 0 // SQLite stores booleans as integers
			}
			fields[i] = fmt.Sprintf("%s: %#v", columns[i].Name(), v)
		}
		all = append(all, strings.Join(fields, ", "))
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func counts(tables map[string][]string) map[string]int64 {
	n := map[string]int64{}
	for name, rows := range tables {
		n[name] = int64(len(rows))
	}
	return n
}

func TestBackup_of_a_running_server_is_consistent(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for i := range 20 {
			create(t, s, creation(fmt.Sprint("before", i), "shop"))
		}
		ctx, stop := context.WithCancel(t.Context())
		var created atomic.Int64
		progress := make(chan struct{})
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				for j := 0; ctx.Err() == nil; j++ {
					create(t, s, creation(fmt.Sprintf("i%d-%d", i, j), []string{"shop", "bakery"}[i%2]))
					created.Add(1)
					select {
					case progress <- struct{}{}: // the backup waits
					default:
					}
				}
			})
		}
		// The backup waits at each write until more invoices are created, which it must not contain.
		var backup bytes.Buffer
		slow := writerFunc(func(p []byte) (int, error) {
			for range 5 {
				<-progress
			}
			return backup.Write(p)
		})
		m, err := storage.Backup(ctx, url, masterKey(1), noon, slow)
		stop()
		group.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if m.Rows["invoices"] >= created.Load()+20 {
			t.Errorf("the backup has all %d invoices: none was created during the backup", m.Rows["invoices"])
		}
		for name, newURL := range engines {
			target := newURL(t)
			restore(t, target, backup.Bytes(), storage.RestoreOptions{})
			checkConsistent(t, target)
			again := open(t, target)
			create(t, again, creation("later in "+name, "shop"))
			checkConsistent(t, target)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// checkConsistent fails unless the rows of a database fit together, as transactions leave them.
func checkConsistent(t *testing.T, url string) {
	t.Helper()
	for _, merchantID := range rows(t, url, "SELECT DISTINCT merchant_id FROM invoices") {
		checkFeed(t, url, merchantID)
		for _, asset := range []string{"BTC", "ETH"} {
			used := rows(t, url, "SELECT MAX(address_index) FROM destinations WHERE script LIKE $1", merchantID+"/"+asset+"/%")
			next := rows(t, url, "SELECT next FROM counters WHERE name = $1", merchantID+"/"+asset)
			last, _ := strconv.Atoi(used[0])
			if n, err := strconv.Atoi(next[0]); err != nil || n <= last {
				t.Errorf("counter %s/%s is at %s, index %d is used", merchantID, asset, next[0], last)
			}
		}
	}
	for what, query := range map[string]string{
		"invoices without their event":        "SELECT id FROM invoices WHERE id NOT IN (SELECT invoice_id FROM events)",
		"invoices without their destinations": "SELECT id FROM invoices WHERE (SELECT COUNT(*) FROM destinations WHERE invoice_id = invoices.id) <> 2",
		"events without their invoice":        "SELECT id FROM events WHERE invoice_id NOT IN (SELECT id FROM invoices)",
	} {
		if found := rows(t, url, query); len(found) > 0 {
			t.Errorf("%s: %q", what, found)
		}
	}
}

func TestRestore_skips_indexes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		made, lost int // invoices before the backup and after it
		keepMarks  bool
		least      uint32
		most       uint32
	}{
		{"on_a_new_machine", 5, 0, false, 1005, 1005},
		{"before_the_first_invoice", 0, 5, false, 1000, 1000},
		{"on_the_same_machine", 5, 5, true, 1005, 1005},
		{"on_the_same_machine_after_many", 5, 1050, true, 1055, 1160},
	} {
		for name := range engines {
			t.Run(tt.name+"_"+name, func(t *testing.T) {
				t.Parallel()
				s := newShop(t, name)
				store := open(t, s.url)
				wallet := newWallet("w1", "BTC", "zpub", noon)
				wallet.Counter = "shop/BTC"
				if err := store.CreateWallet(t.Context(), wallet); err != nil {
					t.Fatal(err)
				}
				s.indexes(tt.made)
				backup, _ := backUp(t, s.url)
				s.indexes(tt.lost)

				s.url = engines[name](t)
				if !tt.keepMarks {
					s.marks = filepath.Join(t.TempDir(), "indexes.json")
				}
				restore(t, s.url, backup, storage.RestoreOptions{IndexMarks: s.marks})
				first := s.index()
				if first < tt.least || first > tt.most {
					t.Errorf("the next index is %d, want %d to %d", first, tt.least, tt.most)
				}
				if next := s.index(); next != first+1 {
					t.Errorf("the index after %d is %d: indexes were skipped a second time", first, next)
				}
			})
		}
	}
}

func TestRestore_skips_indexes_of_wallets_that_only_the_marks_know(t *testing.T) {
	t.Parallel()
	s := newShop(t, "sqlite")
	backup, _ := backUp(t, s.url) // before there was any wallet
	used := s.indexes(30)
	s.url = engines["sqlite"](t)
	restore(t, s.url, backup, storage.RestoreOptions{IndexMarks: s.marks})
	if got := s.index(); got <= used[29] {
		t.Errorf("the next index is %d, although %d was used", got, used[29])
	}
}

func TestBackup_refuses(t *testing.T) {
	onBoth(t, func(t *testing.T, _ *storage.Storage, url string) {
		_, err := storage.Backup(t.Context(), url, masterKey(2), noon, io.Discard)
		if !errors.Is(err, storage.ErrMasterKey) {
			t.Errorf("another master key: got error %v, want %v", err, storage.ErrMasterKey)
		}
		change(t, url, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)")
		_, err = storage.Backup(t.Context(), url, masterKey(1), noon, io.Discard)
		if !errors.Is(err, storage.ErrNewer) {
			t.Errorf("a newer schema: got error %v, want %v", err, storage.ErrNewer)
		}
	})
}

func TestBackup_makes_no_database(t *testing.T) {
	t.Parallel()
	for name, newURL := range engines {
		url := newURL(t)
		_, err := storage.Backup(t.Context(), url, masterKey(1), noon, io.Discard)
		if !errors.Is(err, storage.ErrNoDatabase) {
			t.Errorf("%s: got error %v, want %v", name, err, storage.ErrNoDatabase)
		}
		if used, err := storage.InUse(t.Context(), url); used || err != nil {
			t.Errorf("%s: in use %v, error %v", name, used, err)
		}
	}
}
