package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/storage"
	"chequer/internal/storage/backup"
	"chequer/internal/storage/engine"
	"chequer/internal/storage/storagetest"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/recorded"
	"chequer/internal/theme"
)

// The names of storagetest that these tests use.
var (
	engines      = storagetest.Engines
	noon         = storagetest.Noon
	onBoth       = storagetest.OnBoth
	open         = storagetest.Open
	rows         = storagetest.Rows
	execSQL      = storagetest.Exec
	database     = storagetest.Database
	dump         = storagetest.Dump
	dumpTable    = storagetest.DumpTable
	addMerchants = storagetest.AddMerchants
	creation     = storagetest.Creation
	create       = storagetest.Create
	masterKey    = storagetest.MasterKey
	backUp       = storagetest.BackUp
	restore      = storagetest.Restore
)

func TestRestore_restores_every_row(t *testing.T) {
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

				stream, m := backUp(t, source)
				restored := restore(t, target, stream, backup.RestoreOptions{})

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
				reopened := open(t, target)
				if _, err := reopened.Keys(t.Context(), "shop"); err != nil {
					t.Errorf("open sealed values: %v", err)
				}
				if _, err := reopened.VerifyAuditLog(t.Context()); err != nil {
					t.Error(err)
				}
				create(t, reopened, creation("later", "bakery"))
			})
		}
	}
}

// fill writes at least one row into every table, with values that a wrong copy would change.
func fill(t *testing.T, s *storage.Storage, url string) {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	addMerchants(t, s)
	check(s.CreateShop(ctx, merchant.NewShop{Merchant: merchant.Merchant{ID: "odd", Name: "Süd \"<&>\" \u2028\t\\u0041 🥨 'x'; --", CreatedAt: noon}}))
	for _, id := range []string{"k1", "k2"} {
		check(s.CreateKey(ctx, merchant.Key{ID: id, MerchantID: "shop", Key: "key " + id, Secret: "secret", Mode: merchant.Live, CreatedAt: noon}))
	}
	check(s.RevokeKey(ctx, "shop", "key k2", noon))
	check(s.CreateWallet(ctx, merchant.Wallet{ID: "w1", MerchantID: "shop", Mode: merchant.Live, Asset: "BTC", Key: "zpub", Counter: "shop/BTC", CreatedAt: noon}))
	check(s.CreateEndpoint(ctx, merchant.Endpoint{ID: "e1", MerchantID: "shop", Mode: merchant.Live, URL: "https://shop.example/", Key: "key", Secret: "secret", CreatedAt: noon}))
	check(s.SetTheme(ctx, "odd", "", theme.Theme{Name: "Süd", Accent: "#0a7d5a", Logo: theme.Logo{Type: theme.TypePNG, Body: []byte("\x89PNG\x00\xff\n")}}, noon))
	check(s.ChangeTeam(ctx, "", func(account.Ticket, []account.Account) ([]account.Account, account.Outcome, error) {
		return []account.Account{{ID: "acc_1", Name: "Zoë", Roles: map[string]account.Role{"shop": account.Seller}}}, account.Outcome{Entry: audit.Change{Action: "account.created", After: audit.Fields{"name": "Zoë \u2028"}}}, nil
	}))
	check(s.CreateTerminal(ctx, merchant.Terminal{ID: "pos_1", MerchantID: "shop", Mode: merchant.Live, Currency: "EUR", CreatedAt: noon}, "hash"))
	check(s.AddAssignment(ctx, merchant.Assignment{MerchantID: "shop", TerminalID: "pos_1", AccountID: "acc_1", Secret: "secret", CreatedAt: noon}, "hash of it"))
	check(s.CreateSession(ctx, account.Session{Hash: "h", AccountID: "acc_1", CreatedAt: noon, UsedAt: noon}, "", audit.Change{}))
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
	check(err)
	_, err = s.UseNonce(ctx, "k", "n", noon, time.Hour)
	check(err)
	_, err = s.AcquireLease(ctx, "bitcoin", "holder", noon, time.Hour)
	check(err)
	check(s.UpdateSimnet(ctx, -1, func(c *simnet.Chain) error {
		c.Blocks, c.Txs = []simnet.Block{{Hash: "b0", Time: noon}}, []simnet.Tx{{ID: "deep", Seen: noon}, {ID: "waiting", Seen: noon, Height: -1}}
		return nil
	}))
	check(s.AddSweep(ctx, recorded.New("shop", plantest.Encoded(t, plantest.Example(noon)))))
	execSQL(t, url, "UPDATE invoices SET order_id = $1 WHERE id = 'first'", strings.Repeat("é", 5000))
	execSQL(t, url, "INSERT INTO simnet_blocks (height, hash, parent, time) VALUES ($1, 'far', '', $2)", int64(math.MaxInt64), int64(math.MinInt64))
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
	var placeholders []string
	var values []any
	for i, c := range columns {
		placeholders = append(placeholders, fmt.Sprint("$", i+1))
		switch name, kind := c.Name(), c.DatabaseTypeName(); {
		case name == "merchant_id":
			values = append(values, "shop")
		case name == "invoice_id":
			values = append(values, "first")
		case name == "key_id":
			values = append(values, "k1")
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
	execSQL(t, url, `INSERT INTO "`+table+`" VALUES (`+strings.Join(placeholders, ", ")+")", values...)
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
		var stream bytes.Buffer
		slowWriter := writerFunc(func(p []byte) (int, error) {
			for range 5 {
				<-progress
			}
			return stream.Write(p)
		})
		m, err := backup.Write(ctx, url, masterKey(1), noon, slowWriter)
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
			restore(t, target, stream.Bytes(), backup.RestoreOptions{})
			checkConsistent(t, target)
			restored := open(t, target)
			create(t, restored, creation("later in "+name, "shop"))
			checkConsistent(t, target)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// checkConsistent fails unless the rows of a database are consistent with each other.
func checkConsistent(t *testing.T, url string) {
	t.Helper()
	for _, merchantID := range rows(t, url, "SELECT DISTINCT merchant_id FROM invoices") {
		storagetest.CheckFeed(t, url, merchantID)
		for _, asset := range []string{"BTC", "ETH"} {
			highestIndex := rows(t, url, "SELECT MAX(address_index) FROM destinations WHERE script LIKE $1", merchantID+"/"+asset+"/%")
			next := rows(t, url, "SELECT next FROM counters WHERE name = $1", merchantID+"/"+asset)
			last, _ := strconv.Atoi(highestIndex[0])
			if n, err := strconv.Atoi(next[0]); err != nil || n <= last {
				t.Errorf("counter %s/%s is at %s, index %d is used", merchantID, asset, next[0], last)
			}
		}
	}
	for fault, query := range map[string]string{
		"invoices without their event":        "SELECT id FROM invoices WHERE id NOT IN (SELECT invoice_id FROM events)",
		"invoices without their destinations": "SELECT id FROM invoices WHERE (SELECT COUNT(*) FROM destinations WHERE invoice_id = invoices.id) <> 2",
		"events without their invoice":        "SELECT id FROM events WHERE invoice_id NOT IN (SELECT id FROM invoices)",
	} {
		if found := rows(t, url, query); len(found) > 0 {
			t.Errorf("%s: %q", fault, found)
		}
	}
}

func TestBackup_refuses_other_keys_and_newer_schemas(t *testing.T) {
	onBoth(t, func(t *testing.T, _ *storage.Storage, url string) {
		_, err := backup.Write(t.Context(), url, masterKey(2), noon, io.Discard)
		if !errors.Is(err, engine.ErrMasterKey) {
			t.Errorf("another master key: got error %v, want %v", err, engine.ErrMasterKey)
		}
		execSQL(t, url, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)")
		_, err = backup.Write(t.Context(), url, masterKey(1), noon, io.Discard)
		if !errors.Is(err, engine.ErrNewer) {
			t.Errorf("a newer schema: got error %v, want %v", err, engine.ErrNewer)
		}
	})
}

func TestBackup_makes_no_database(t *testing.T) {
	t.Parallel()
	for name, newURL := range engines {
		url := newURL(t)
		_, err := backup.Write(t.Context(), url, masterKey(1), noon, io.Discard)
		if !errors.Is(err, backup.ErrNoDatabase) {
			t.Errorf("%s: got error %v, want %v", name, err, backup.ErrNoDatabase)
		}
		if used, err := engine.InUse(t.Context(), url); used || err != nil {
			t.Errorf("%s: in use %v, error %v", name, used, err)
		}
	}
}
