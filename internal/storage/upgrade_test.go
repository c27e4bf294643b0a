package storage_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/storage"
	"chequer/internal/storage/backup"
	"chequer/internal/storage/engine"
)

// firstRelease makes a database in the state of the first release, see testdata/schema1.sql.
func firstRelease(t *testing.T, name string) (url string) {
	t.Helper()
	url = withoutTables(t, name)
	migrateTo(t, url, 1)
	rows, err := os.ReadFile("testdata/schema1.sql")
	if err != nil {
		t.Fatal(err)
	}
	execSQL(t, url, string(rows))
	return url
}

// onFirstRelease runs a test on both engines, with a database of the first release.
func onFirstRelease(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Parallel()
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, firstRelease(t, name))
		})
	}
}

// migrateTo migrates a database to a version of the schema.
func migrateTo(t *testing.T, url string, version int64) {
	t.Helper()
	db, d, err := engine.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(engine.MigrateTo(t.Context(), db, d, version), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// withoutTables makes an empty database.
func withoutTables(t *testing.T, name string) (url string) {
	t.Helper()
	url = engines[name](t)
	if name == "postgres" { // the new database has the schema already
		execSQL(t, url, "DROP SCHEMA public CASCADE")
		execSQL(t, url, "CREATE SCHEMA public")
	}
	return url
}

// C79: an upgrade loses no data, and invoices can be created right after it.
func TestOpen_upgrades_the_first_schema(t *testing.T) {
	onFirstRelease(t, func(t *testing.T, url string) {
		before := dump(t, url)
		s := open(t, url)
		after := dump(t, url)
		delete(before, "networks") // see checkFirstRelease
		delete(after, "networks")
		checkSpendsOnce(t, before, after)
		checkLists(t, s)
		delete(after, "invoice_flags") // see checkLists
		delete(after, "tallies")
		checkDaySums(t, s, "m", invoice.Test, "the upgrade")
		delete(after, "day_sums")
		delete(after, "day_sum_zones")
		delete(after, "refund_transactions")
		delete(after, "unreadable_invoices")
		delete(after, "retention_runs")
		delete(after, "retention_waiting")
		delete(after, "book_runs")
		delete(after, "received_sums")
		delete(after, "removed_orders")
		removeAdded(t, after)
		for i, row := range after["invoices"] { // columns of migrations 10 and 4, empty
			row, _, _ = strings.Cut(row, ", paid_count: ") // columns of migration 22
			row = strings.TrimSuffix(strings.TrimSuffix(row, ", revision: 0"), ", conversions: 0")
			after["invoices"][i] = strings.TrimSuffix(row, `, refund_asset: ""`)
		}
		for i, row := range after["api_keys"] { // columns of migrations 21 and 49
			row = strings.Replace(row, `, plugin: "", token_hash: ""`, "", 1)
			after["api_keys"][i] = strings.Replace(strings.Replace(row, `, label: ""`, "", 1), ", used_at: <nil>", "", 1)
		}
		for i, row := range after["merchants"] {
			after["merchants"][i] = strings.Replace(row, `, settings: "{}"`, "", 1) // column of migration 37
		}
		for i, row := range after["idempotency"] { // column of migration 20
			after["idempotency"][i] = strings.Replace(row, `, namespace: ""`, "", 1)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("rows (-before +after):\n%s", diff)
		}
		if wrong := rows(t, url, "SELECT e.id FROM events e JOIN invoices i ON i.id = e.invoice_id WHERE e.mode <> i.mode"); len(wrong) > 0 {
			t.Errorf("events %q have another mode than their invoice", wrong)
		}
		checkFirstRelease(t, s)
		checkNextIndex(t, s, 11, 6)
		open(t, url) // like the next start
	})
}

// spendsColumn matches the column of transfers with the spends in the first release.
var spendsColumn = regexp.MustCompile(`spends: "(.*?)", coinbase`)

// checkSpendsOnce compares the spends of the first release's transfers with those that are now
// stored by transaction, and removes both from the dumps.
func checkSpendsOnce(t *testing.T, before, after map[string][]string) {
	t.Helper()
	var want []string
	for i, row := range before["transfers"] {
		want = append(want, spendsColumn.FindStringSubmatch(row)[1])
		before["transfers"][i] = spendsColumn.ReplaceAllString(row, `spends: "", coinbase`)
	}
	var got []string
	for _, row := range after["spends"] {
		_, outpoints, _ := strings.Cut(row, `outpoints: "`)
		got = append(got, strings.TrimSuffix(outpoints, `"`))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("spends (-want +got):\n%s", diff)
	}
	delete(after, "spends")
}

// The upgrade that gives every kind of caller a namespace keeps the idempotency keys of the
// merchant's API.
func TestOpen_keeps_idempotency_keys(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 27, 12, 24, 2, 0, time.UTC)
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := firstRelease(t, name)
			for _, key := range []string{"live:order-7", "test:order-7", "live-link:slug tips:token", "product:soap:token", "live:live-link:x"} {
				execSQL(t, url, `INSERT INTO idempotency (merchant_id, key, body_hash, invoice_id, created_at)
					VALUES ('m', '`+key+`', 'hash of `+key+`', '00000000000000000000000000000001', 1795780801000)`)
			}
			s := open(t, url)
			for _, tt := range []struct{ before, namespace, value string }{
				{"live:order-7", "live/api", "order-7"},
				{"test:order-7", "test/api", "order-7"},
				{"live-link:slug tips:token", "live/link", "slug tips:token"},
				{"product:soap:token", "product", "soap:token"},
				{"live:live-link:x", "live/api", "live-link:x"},
			} {
				inv, err := s.Replay(t.Context(), invoice.Creation{
					MerchantID: "m", Key: invoice.IdempotencyKey{Namespace: tt.namespace, Value: tt.value}, BodyHash: "hash of " + tt.before, At: at,
				})
				if err != nil || inv.ID != "00000000000000000000000000000001" {
					t.Errorf("%s: got %v, error %v", tt.before, inv, err)
				}
			}
		})
	}
}

// The upgrade that merges accounts with destinations keeps both.
func TestOpen_keeps_accounts(t *testing.T) {
	t.Parallel()
	const script = "0014bfa8e87e481524079af04bac28815c4b51049616"
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := firstRelease(t, name)
			migrateTo(t, url, 29)
			execSQL(t, url, "INSERT INTO accounts (network, script, born, birth_height, birth_hash) VALUES ('simnet', '"+script+"', 38, 7, '00aa')")
			before := rows(t, url, "SELECT script FROM destinations ORDER BY script")
			open(t, url)
			if diff := cmp.Diff(before, rows(t, url, "SELECT script FROM destinations ORDER BY script")); diff != "" {
				t.Errorf("destinations (-before +after):\n%s", diff)
			}
			got := rows(t, url, "SELECT script || ' ' || born || ' ' || birth_height || ' ' || birth_hash FROM destinations WHERE born IS NOT NULL")
			if want := []string{script + " 38 7 00aa"}; !slices.Equal(got, want) {
				t.Errorf("got accounts %q, want %q", got, want)
			}
		})
	}
}

// removeAdded removes from a dump everything that later releases added.
func removeAdded(t *testing.T, tables map[string][]string) {
	t.Helper()
	for i, row := range tables["events"] {
		tables["events"][i], _, _ = strings.Cut(row, ", mode: ")
	}
	for i, row := range tables["transfers"] {
		tables["transfers"][i], _, _ = strings.Cut(row, ", unsure: ")
	}
	for i, row := range tables["destinations"] {
		tables["destinations"][i], _, _ = strings.Cut(row, ", born: ")
	}
	for _, added := range []string{"endpoints", "deliveries", "tries", "links", "link_orders", "looks", "link_uses", "proof_keys", "products", "terminals", "exchange_accounts", "conversions", "unpaid_places", "shared_terms", "desk_accounts", "desk_tickets", "desk_sessions", "sign_in_attempts", "audit_log", "audit_head", "notification_settings", "notification_choices", "notification_cursors", "notified_cases", "notified_faults", "messages", "refunds", "team_notes", "snoozes", "resolutions", "terminal_assignments", "plugin_data", "simnet_requests", "sweeps", "sweep_rows", "sweep_leases", "closings", "closed_lines", "examined_invoices"} {
		if len(tables[added]) > 0 {
			t.Errorf("%s has rows: %q", added, tables[added])
		}
		delete(tables, added)
	}
}

// C79: this release restores a backup that the first release wrote.
func TestRestore_accepts_a_backup_of_the_first_release(t *testing.T) {
	t.Parallel()
	stream, err := os.ReadFile("testdata/schema1.backup")
	if err != nil {
		t.Fatal(err)
	}
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := withoutTables(t, name)
			if got := restore(t, url, stream, backup.RestoreOptions{}); got.Schema != 1 {
				t.Errorf("restored %+v", got)
			}
			s := open(t, url)
			checkFirstRelease(t, s)
			checkNextIndex(t, s, 1011, 1006)
		})
	}
}

// checkFirstRelease fails unless all data of the first release is read correctly.
func checkFirstRelease(t *testing.T, s *storage.Storage) {
	t.Helper()
	scanned := time.Date(2026, 11, 27, 12, 24, 2, 0, time.UTC)
	progress, err := s.Progress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[chain.ID]invoice.Progress{
		"simnet": {
			Cursor: chain.Cursor{Height: 0, Hash: progress["simnet"].Cursor.Hash}, Tip: chain.Cursor{Height: 4, Hash: progress["simnet"].Tip.Hash},
			Scanned: scanned, Sequence: 8, // always watched, without a gap
		},
		"bitcoin": {
			Cursor: chain.Cursor{Height: 800_000, Hash: "00aa"}, Tip: chain.Cursor{Height: 800_100, Hash: "00bb"},
			Scanned: scanned, Gaps: []invoice.Gap{{Until: scanned.Add(-30 * time.Second)}}, Sequence: 7,
		},
	}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	for id, want := range map[string]string{
		"01": "created", "03": "expired underpaid", "05": "paid", "07": "expired", "09": "expired late", "11": "declined",
		"13": "paid overpaid", "15": "pending reorged", "18": "expired late", "47": "created", "49": "pending",
	} {
		inv, err := s.Invoice(t.Context(), strings.Repeat("0", 30)+id)
		if err != nil {
			t.Errorf("invoice %s: %v", id, err)
			continue
		}
		if got := stateText(inv.State); got != want {
			t.Errorf("invoice %s is %s, want %s", id, got, want)
		}
		if blind := !inv.Coverage["simnet"].BlindFrom.IsZero(); blind != (id == "47") {
			t.Errorf("invoice %s has a gap: %v", id, blind)
		}
		// A gap of bitcoin does not affect invoices that were evaluated before it was recorded.
		for _, m := range inv.Methods {
			p := progress[m.Asset.Network]
			inv.Cover(m.Asset.Network, inv.Coverage[m.Asset.Network].Scanned, p.Gaps)
		}
		if got := stateText(inv.Evaluate()); got != want {
			t.Errorf("invoice %s is evaluated as %s, want %s", id, got, want)
		}
	}
	first, err := s.Replay(t.Context(), invoice.Creation{MerchantID: "m", Key: invoice.IdempotencyKey{Value: "order-1042"}, BodyHash: "hash", At: scanned})
	if err != nil || first.Terms.Description != strings.Repeat("é", 5000) || first.Terms.Metadata["table"] != "7" {
		t.Errorf("replay of the first invoice: %+v, error %v", first, err)
	}
	if keys, err := s.Keys(t.Context(), "m"); err != nil || len(keys) != 1 || keys[0].Secret != "firstsecret" {
		t.Errorf("keys: %+v, error %v", keys, err)
	}
	if wallets, err := s.Wallets(t.Context(), "m", "test"); err != nil || len(wallets) != 2 || wallets[0].Secret != "sealedBTC" {
		t.Errorf("wallets: %+v, error %v", wallets, err)
	}
}

// stateText returns the status and the exceptions as text.
func stateText(s invoice.State) string {
	words := []string{string(s.Status)}
	for _, e := range s.Exceptions {
		words = append(words, string(e))
	}
	return strings.Join(words, " ")
}

// checkNextIndex fails unless a new invoice gets the next indexes of the first release's wallets.
func checkNextIndex(t *testing.T, s *storage.Storage, bitcoin, ether uint32) {
	t.Helper()
	c := creation("next", "m")
	c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		b, err := next("e13f4377a1a1a17d706fe12989eb7a85d82b9bc1")
		if err != nil {
			return nil, err
		}
		e, err := next("cc7137fb7f9e593c1258f3ffc943b59470527272")
		return newInvoice("next", "m", b, e), err
	}
	created := create(t, s, c)
	if got := []uint32{created.Methods[0].Index, created.Methods[1].Index}; !slices.Equal(got, []uint32{bitcoin, ether}) {
		t.Errorf("the next indexes are %d, want %d and %d", got, bitcoin, ether)
	}
}

func TestOpen_upgrades_only_when_asked(t *testing.T) {
	onFirstRelease(t, func(t *testing.T, url string) {
		before := dump(t, url)
		_, err := storage.Open(t.Context(), url, box(t, 1), storage.Options{})
		if !errors.Is(err, engine.ErrOlder) {
			t.Errorf("got error %v, want %v", err, engine.ErrOlder)
		}
		checkVersion(t, url, "1")
		if diff := cmp.Diff(before, dump(t, url)); diff != "" {
			t.Errorf("rows (-before +after):\n%s", diff)
		}
		open(t, url)
		if s, err := storage.Open(t.Context(), url, box(t, 1), storage.Options{}); err != nil {
			t.Errorf("after the upgrade: %v", err)
		} else if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestOpen_copies_a_SQLite_database_before_it_upgrades_it(t *testing.T) {
	t.Parallel()
	url := firstRelease(t, "sqlite")
	before := dump(t, url)
	copied := url + ".schema-1"
	if err := os.WriteFile(copied[len("sqlite:"):], []byte("of an earlier attempt"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, url)
	checkVersion(t, copied, "1")
	if diff := cmp.Diff(before, dump(t, copied)); diff != "" {
		t.Errorf("rows (-before +copy):\n%s", diff)
	}
	info, err := os.Stat(copied[len("sqlite:"):])
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the copy has mode %v, want 0600", mode)
	}
	entries, err := os.ReadDir(filepath.Dir(copied[len("sqlite:"):]))
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s remains", e.Name())
		}
	}
	if err != nil {
		t.Error(err)
	}
	checkFirstRelease(t, open(t, url))
}

func checkVersion(t *testing.T, url, want string) {
	t.Helper()
	if got := rows(t, url, "SELECT MAX(version_id) FROM goose_db_version WHERE is_applied"); !slices.Equal(got, []string{want}) {
		t.Errorf("schema version is %q, want %s", got, want)
	}
}

// The upgrade keeps the payment methods that merchants chose.
func TestOpen_keeps_chosen_methods(t *testing.T) {
	t.Parallel()
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := withoutTables(t, name)
			migrateTo(t, url, 36)
			execSQL(t, url, "INSERT INTO merchants (id, name, created_at, methods) VALUES ('all', 'All', 1, ''), ('some', 'Some', 2, 'EURC-BASE BTC')")
			found, err := open(t, url).Merchants(t.Context())
			want := []merchant.Choices{{}, {merchant.SettingMethods: "EURC-BASE BTC"}}
			if err != nil || len(found) != 2 || !cmp.Equal(want, []merchant.Choices{found[0].Choices, found[1].Choices}) {
				t.Errorf("got %+v, %v", found, err)
			}
		})
	}
}
