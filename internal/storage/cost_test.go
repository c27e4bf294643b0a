package storage_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	coins "chequer/internal/chain/bitcoin"
	evm "chequer/internal/chain/ethereum"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/rates"
	"chequer/internal/storage"
)

// An invoice of eight methods on four networks is stored as one row of invoices, one event and four
// destinations, because methods share destinations.
func TestCreateInvoice_writes_few_rows_with_few_statements(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		service, capture := watchedService(t, s, url)
		create := func() []string {
			t.Helper()
			createWithEightMethods(t, service)
			statements, err := s.StatementsOfCreation(t.Context(), capture.repeat(t))
			if err != nil {
				t.Fatal(err)
			}
			return statements
		}
		create() // writes the shared terms, too
		before := rowCounts(t, url)
		statements := create()
		written := rowCounts(t, url)
		maps.DeleteFunc(written, func(table string, n int) bool {
			written[table] -= before[table]
			return written[table] == 0
		})
		if diff := cmp.Diff(map[string]int{"invoices": 2, "events": 2, "destinations": 8}, written); diff != "" {
			t.Errorf("rows of two creations (-want +got):\n%s", diff)
		}
		// Two counters of wallets and the feed share their statements with other creations.
		if want := 8; len(statements) != want {
			t.Errorf("%d statements, want %d:\n%s", len(statements), want, strings.Join(statements, "\n"))
		}
	})
}

// maxPages is the average number of pages that a creation may change in a SQLite database. Each is written to
// disk twice, and pages at random places are shared with no other creation.
const maxPages = 28.4

func TestCreateInvoice_changes_few_pages(t *testing.T) {
	t.Parallel()
	url := engines["sqlite"](t)
	s := open(t, url)
	addMerchants(t, s)
	service, _ := watchedService(t, s, url)
	for range 200 {
		createWithEightMethods(t, service)
	}
	conn, err := database(t, url).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	checkpoint := func(mode string) (pages int) { // pages in the write-ahead log
		t.Helper()
		await(t, "no other connection writes a checkpoint", func() bool {
			var busy, checkpointed int
			if err := conn.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &checkpointed); err != nil {
				t.Fatal(err)
			}
			return busy == 0
		})
		return pages
	}
	const rounds, count = 3, 100 // the log of a round is shorter than that at which SQLite writes a checkpoint itself
	pages := 0
	for range rounds {
		checkpoint("TRUNCATE")
		for range count {
			createWithEightMethods(t, service)
		}
		pages += checkpoint("PASSIVE")
	}
	got := float64(pages) / (rounds * count)
	t.Logf("%.1f pages for a creation", got)
	if got > maxPages {
		t.Errorf("a creation changes %.1f pages, want at most %.1f", got, maxPages)
	}
}

// maxPaidBytes returns the number of bytes that a paid invoice may take, once its events are
// deleted. PostgreSQL adds 24 bytes to each row and 8 to each entry of an index.
func maxPaidBytes(url string) int {
	if strings.HasPrefix(url, "postgres") {
		return 4500
	}
	return 3250
}

func TestInvoice_takes_little_space(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		service, _ := watchedService(t, s, url)
		created := 0
		pay := func(count int) (bytes int) {
			t.Helper()
			for range count {
				created++
				// A page has space for three or four rows of invoices, depending on one character more or less.
				payInFull(t, s, createWithOrderID(t, service, fmt.Sprintf("%0*d", 4+created%9, created)))
			}
			if _, err := s.DeleteEvents(t.Context(), noon.Add(time.Hour), 10*count); err != nil {
				t.Fatal(err)
			}
			return storedBytes(t, url)
		}
		// The first invoices fill a page of each table and index.
		const count = 400
		before := pay(100)
		got := (pay(count) - before) / count
		t.Logf("%d bytes for an invoice", got)
		if maximum := maxPaidBytes(url); got > maximum {
			t.Errorf("a paid invoice takes %d bytes, want at most %d", got, maximum)
		}
	})
}

// The cost of reading the open invoices does not depend on the number of stored invoices.
func TestOpenMethods_reads_only_open_invoices(t *testing.T) {
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
		p := explain(t, conn, storage.Statement{Text: storage.OpenMethods})
		// The order of the invoices is irrelevant here, so PostgreSQL may first collect the positions of their rows.
		p.refused = slices.DeleteFunc(p.refused, func(r string) bool { return r == "Bitmap Index Scan invoices_to_check" })
		if len(p.refused) > 0 || len(p.indexes) > 0 && !slices.Contains(p.indexes, "invoices_to_check") {
			t.Errorf("the plan has %q and uses %q, want invoices_to_check", p.refused, p.indexes)
		}
	})
}

// watched is a network that another process scans.
type watched struct{ chain.Network }

func (watched) Scan(context.Context, chain.Cursor, chain.Watched) (chain.Snapshot, error) {
	return chain.Snapshot{}, errors.New("this network is not scanned")
}

// capture is storage that keeps the newest creation.
type capture struct {
	*storage.Storage
	newest invoice.Creation
}

func (c *capture) CreateInvoice(ctx context.Context, creation invoice.Creation) (*invoice.Invoice, bool, error) {
	c.newest = creation
	return c.Storage.CreateInvoice(ctx, creation)
}

// repeat returns the newest creation with another invoice ID.
func (c *capture) repeat(t testing.TB) invoice.Creation {
	creation, id := c.newest, publicID()
	build := creation.Build
	creation.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		inv, err := build(next)
		if err != nil {
			return nil, err
		}
		inv.ID = id
		for i := range inv.Events {
			inv.Events[i].ID += "-" + id
		}
		return inv, nil
	}
	return creation
}

func publicID() string { return (rand.Text() + rand.Text())[:32] }

// watchedService returns a service whose four networks are watched, with fixed prices.
func watchedService(t testing.TB, s *storage.Storage, url string) (*invoice.Service, *capture) {
	t.Helper()
	for i, network := range []string{"bitcoin", "litecoin", "ethereum", "base"} {
		hash := make([]byte, 32)
		if _, err := rand.Read(hash); err != nil {
			t.Fatal(err)
		}
		execSQL(t, url, fmt.Sprintf(`
			INSERT INTO networks (network, epoch, holder, sequence, cursor_height, cursor_hash, tip_height, tip_hash, scanned_at, gaps, balances)
			VALUES ('%s', 1, 'x', 1, %d, '', %d, '%x', %d, '[]', '')`, network, 900_000*(i+1), 900_000*(i+1), hash, noon.UnixMilli()))
	}
	fixed, err := rates.ParseFixed("BTC-EUR=86420.07,LTC-EUR=78.351,ETH-EUR=2650.1,EUR-USD=1.0837", "fixed")
	if err != nil {
		t.Fatal(err)
	}
	c := &capture{Storage: s}
	body := strings.Repeat("x", 900)
	return invoice.NewService(invoice.Config{
		Storage: c,
		Networks: map[invoice.Mode][]chain.Network{invoice.Live: {
			watched{coins.New(coins.Mainnet)}, watched{coins.New(coins.Litecoin)}, watched{evm.New(evm.Mainnet)}, watched{evm.New(evm.Base)},
		}},
		Rates: func() invoice.Rates { return fixed },
		Now:   func() time.Time { return noon }, NewID: publicID,
		Encode: func(*invoice.Invoice, invoice.Event) []byte { return []byte(body) },
		Log:    slog.New(slog.NewTextHandler(io.Discard, nil)),
	}), c
}

var orders atomic.Int64

// createWithEightMethods creates an invoice of an order with all eight methods.
func createWithEightMethods(t testing.TB, service *invoice.Service) *invoice.Invoice {
	t.Helper()
	return createWithOrderID(t, service, fmt.Sprintf("order-%06d", orders.Add(1)))
}

func createWithOrderID(t testing.TB, service *invoice.Service, orderID string) *invoice.Invoice {
	t.Helper()
	inv, err := service.Create(t.Context(), invoice.CreateRequest{
		MerchantID: "shop", Mode: invoice.Live, Wallets: wallets, ExpiresIn: 15 * time.Minute,
		Terms: invoice.Terms{
			Price: money.FromCents(1250, money.EUR), Merchant: "Shop", OrderID: orderID, Language: "en",
			Rules: invoice.DefaultRules(money.EUR),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range inv.Methods {
		if !m.Watched || m.Birth.Hash == "" {
			t.Fatalf("method %s is not watched from a known block", m.Asset.Code)
		}
	}
	if len(inv.Methods) != 8 {
		t.Fatalf("got %d methods, want 8", len(inv.Methods))
	}
	return inv
}

// payInFull records a confirmed payment in bitcoin.
func payInFull(t testing.TB, s *storage.Storage, created *invoice.Invoice) {
	t.Helper()
	tx, block := make([]byte, 32), make([]byte, 32)
	_, _ = rand.Read(tx) // never fails
	_, _ = rand.Read(block)
	_, err := s.UpdateInvoice(t.Context(), created.ID, invoice.Lease{}, func(inv *invoice.Invoice) error {
		m := inv.Methods[0]
		inv.Transfers = []invoice.Transfer{{
			ID: hex.EncodeToString(tx) + ":0", Network: m.Asset.Network, Tx: hex.EncodeToString(tx), Asset: m.Asset.Code,
			Script: m.Destination.Script, Amount: inv.Quotes[0].Prices[0].Expected, Presence: invoice.Present,
			FirstSeen: noon.Add(time.Minute), Sighted: true, Confirmations: 1, Required: 1, ConfirmedAt: noon.Add(2 * time.Minute),
			Block: &chain.Block{Height: 900_001, Hash: hex.EncodeToString(block), Time: noon.Add(2 * time.Minute)},
		}}
		inv.Version, inv.PaidCount, inv.FirstPaidAt = 2, 1, noon.Add(2*time.Minute)
		inv.State = inv.Evaluate()
		inv.Events = []invoice.Event{newEvent(inv.ID, invoice.EventPaid, 2)}
		if inv.State.Status != invoice.Paid {
			return fmt.Errorf("the invoice is %s, want %s", inv.State.Status, invoice.Paid)
		}
		inv.State.NextCheck = time.Time{}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rowCounts returns the number of rows of each table.
func rowCounts(t *testing.T, url string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for table, all := range dump(t, url) {
		counts[table] = len(all)
	}
	return counts
}

// storedBytes returns the bytes that the tables and indexes of a database take, without free pages.
func storedBytes(t *testing.T, url string) int {
	t.Helper()
	// How full the pages are depends on the order of the writes.
	vacuum, query := "VACUUM", "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
	if strings.HasPrefix(url, "postgres") {
		vacuum, query = "VACUUM FULL", "SELECT SUM(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
	}
	execSQL(t, url, vacuum)
	var bytes int
	if _, err := fmt.Sscan(rows(t, url, query)[0], &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}
