package e2e_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/app"
	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/exchange/exchangetest"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// sellingShop is the program with an account at a simulated Kraken, where it sells coins.
type sellingShop struct {
	*process
	exchange    *exchangetest.Server
	key, secret string
}

func newSellingShop(t *testing.T, database string) *sellingShop {
	t.Helper()
	exchange := exchangetest.New(t, time.Now)
	url, err := exchange.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	exchange.Deposit("BTC", "1")
	listen := freeAddress(t)
	p := &process{t: t, url: "http://" + listen, environ: append(os.Environ(),
		"CHEQUER_LISTEN="+listen, "CHEQUER_DATA_DIR="+t.TempDir(), "CHEQUER_UNWATCHED=on", "CHEQUER_BITCOIN_NODE=off", "CHEQUER_RATE_LIMIT=off",
		"CHEQUER_ETHEREUM_RPC=off", "CHEQUER_BASE_RPC=off", "CHEQUER_RATES=fixed:BTC-EUR=86420.00,EUR-USD=1.08", "CHEQUER_KRAKEN_URL="+url)}
	if database != "" {
		p.environ = append(p.environ, "CHEQUER_DATABASE_URL="+database)
	}
	p.run("init")
	p.run("wallet", "add", "BTC", zpub)
	var key struct{ Key, Secret string }
	if err := json.Unmarshal(p.run("key", "add", "--json"), &key); err != nil {
		t.Fatal(err)
	}
	add := exec.CommandContext(t.Context(), binary(t), "sale", "add", "kraken", "--key", exchangetest.Key)
	add.Env, add.Stdin = p.environ, strings.NewReader(exchangetest.Secret+"\n")
	if output, err := add.CombinedOutput(); err != nil || bytes.Contains(output, []byte(exchangetest.Secret)) {
		t.Fatalf("sale add: %v\n%s", err, output)
	}
	p.run("sale", "on")
	return &sellingShop{p, exchange, key.Key, key.Secret}
}

// withCore opens the program's storage from this process.
func (s *sellingShop) withCore(use func(*app.Core, *invoice.Service)) {
	s.t.Helper()
	var environ []string
	for _, pair := range s.environ {
		if strings.HasPrefix(pair, "CHEQUER_") {
			environ = append(environ, pair)
		}
	}
	cfg, err := config.Load(environ)
	if err != nil {
		s.t.Fatal(err)
	}
	o := app.Options{Log: slog.New(slog.DiscardHandler)}
	core, err := app.OpenCore(s.t.Context(), cfg, o)
	if err != nil {
		s.t.Fatal(err)
	}
	defer core.Close()
	service, err := core.Invoices(s.t.Context(), cfg, o)
	if err != nil {
		s.t.Fatal(err)
	}
	use(core, service)
}

// createPaid creates an invoice by the API and records a confirmed Bitcoin payment for it.
func (s *sellingShop) createPaid() (id string) {
	s.t.Helper()
	created, err := createSpecInvoice(s.t.Context(), s.url, s.key, s.secret)
	if err != nil {
		s.t.Fatal(err)
	}
	s.withCore(func(core *app.Core, service *invoice.Service) {
		ctx, now := s.t.Context(), time.Now().UTC().Truncate(time.Millisecond)
		inv, err := service.Invoice(ctx, created.ForeignID)
		if err != nil {
			s.t.Fatal(err)
		}
		epoch, err := core.Storage.AcquireLease(ctx, "bitcoin", "test", now, time.Minute)
		if err != nil {
			s.t.Fatal(err)
		}
		script := inv.Methods[0].Destination.Script
		block, tip := chain.Block{Height: 900_000, Hash: "aa", Time: now}, chain.Block{Height: 900_020, Hash: "bb", Time: now}
		snapshot := chain.Snapshot{
			Started: now, From: chain.Cursor{Height: 1, Hash: "01"}, Tip: tip, Next: chain.Cursor{Height: 1, Hash: "01"}, Unconfirmed: chain.Partial,
			Transfers: []chain.Transfer{{
				ID: inv.ID + ":0", Tx: inv.ID, Asset: "BTC", Script: script, Amount: money.MustParse("0.5", money.BTC), Spends: []string{inv.ID + "-in:0"}, Block: &block,
			}},
		}
		owners := func(sc string) (invoice.Owner, bool) {
			return invoice.Owner{InvoiceID: inv.ID, MerchantID: inv.MerchantID}, sc == script
		}
		lease := invoice.Lease{Network: "bitcoin", Epoch: epoch, Sequence: 1}
		if err := service.Observe(ctx, lease, snapshot, invoice.Progress{}.After(snapshot, 1), owners); err != nil {
			s.t.Fatal(err)
		}
	})
	return created.ForeignID
}

// sale is the program's output about a sale.
type sale struct {
	State  string
	Amount string
	Sold   string `json:"sold_amount"`
}

// sale returns the program's output about the sale of an invoice.
func (s *sellingShop) sale(id string) sale {
	s.t.Helper()
	var rows []sale
	if err := json.Unmarshal(s.run("sale", "list", id, "--json"), &rows); err != nil || len(rows) != 1 {
		s.t.Fatalf("sales %+v, error %v", rows, err)
	}
	return rows[0]
}

// orderTimes matches the times of an order in storage.
var orderTimes = regexp.MustCompile(`"(sent|dead|over)":([0-9]+)`)

// backdate moves all stored times ten minutes back while the program is stopped.
func (s *sellingShop) backdate(engine, url string) {
	s.t.Helper()
	db, err := sql.Open(engine, url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	const minutes = 10 * 60 * 1000
	var orders string
	if err := db.QueryRowContext(s.t.Context(), "SELECT orders FROM conversions").Scan(&orders); err != nil {
		s.t.Fatal(err)
	}
	orders = orderTimes.ReplaceAllStringFunc(orders, func(field string) string {
		parts := orderTimes.FindStringSubmatch(field)
		millis, _ := strconv.ParseInt(parts[2], 10, 64)
		return fmt.Sprintf(`"%s":%d`, parts[1], millis-minutes)
	})
	for _, statement := range []string{
		"UPDATE conversions SET next_at = next_at - 600000, orders = $1",
		"UPDATE exchange_accounts SET claimed_until = 0 WHERE $1 <> ''",
	} {
		if _, err := db.ExecContext(s.t.Context(), statement, orders); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestKilled_while_selling_sells_once kills the program with SIGKILL during each call to the exchange, and
// restarts it until the sale is done. It must sell exactly once.
func TestKilled_while_selling_sells_once(t *testing.T) {
	for _, engine := range engines {
		for name, moment := range map[string]struct {
			call  string
			fault exchangetest.Fault
		}{
			"before placing the order":    {"OpenOrders", exchangetest.Hang},
			"before the order arrives":    {"AddOrder", exchangetest.Hang},
			"after the order is accepted": {"AddOrder", exchangetest.HangAfter},
			"before the result is known":  {"QueryOrders", exchangetest.Hang},
		} {
			t.Run(engine.name+" "+name, func(t *testing.T) {
				t.Parallel()
				url := engine.database(t)
				shop := newSellingShop(t, url)
				driver, dataSource := "pgx", url
				if url == "" {
					driver = "sqlite"
					for _, pair := range shop.environ {
						if folder, ok := strings.CutPrefix(pair, "CHEQUER_DATA_DIR="); ok {
							dataSource = "file:" + folder + "/chequer.db?_pragma=busy_timeout(10000)"
						}
					}
				}
				called := make(chan struct{})
				shop.exchange.AddFaults(moment.call, func(x *exchangetest.Server, w http.ResponseWriter, r *http.Request, process func() exchangetest.Answer) {
					close(called)
					moment.fault(x, w, r, process)
				})
				shop.serve()
				id := shop.createPaid()
				select {
				case <-called:
				case <-time.After(waitTimeout):
					t.Fatalf("the exchange was not called by %s: %+v, calls %v", moment.call, shop.sale(id), shop.exchange.Calls())
				}
				shop.kill()
				for range 4 { // a missing order is looked for twice before it is placed again
					shop.backdate(driver, dataSource)
					calls := len(shop.exchange.Calls())
					shop.serve()
					until(t, waitTimeout, "the sale continues", func() bool {
						return shop.sale(id).State == string(invoice.SaleFilled) || len(shop.exchange.Calls()) > calls && shop.sale(id).State == string(invoice.SaleSending)
					})
					if shop.sale(id).State == string(invoice.SaleFilled) {
						break
					}
					shop.kill()
				}
				c := shop.sale(id)
				if c.State != string(invoice.SaleFilled) || c.Sold != "0.00014465" || c.Amount != c.Sold {
					t.Errorf("sale %+v, want filled with the whole amount", c)
				}
				if _, filled := shop.exchange.Orders(); filled != 1 {
					t.Errorf("%d orders are filled, want 1", filled)
				}
				if got := shop.exchange.Sold("BTC"); got != "0.00014465" {
					t.Errorf("the exchange sold %s", got)
				}
			})
		}
	}
}

// TestSales_are_shown_to_the_merchant reads a sale by commands. None may print the secret
// of the account at the exchange.
func TestSales_are_shown_to_the_merchant(t *testing.T) {
	t.Parallel()
	s := newSellingShop(t, "")
	s.environ = append(s.environ, "CHEQUER_API_KEY="+s.key, "CHEQUER_API_SECRET="+s.secret)
	s.serve()
	id := s.createPaid()
	until(t, waitTimeout, "the sale is filled", func() bool { return s.sale(id).State == string(invoice.SaleFilled) })
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	doctor := exec.CommandContext(ctx, binary(t), "doctor") // it ends with an error here, because Bitcoin is not watched
	doctor.Env = s.environ
	output, _ := doctor.Output()
	for out, pattern := range map[string]string{
		string(s.run("sale", "list")):     `paid +0\.00014465 BTC +0\.00014465 +86419\.979 +12\.50065 +0\.05 +filled`,
		string(s.run("sale", "list", id)): `kraken +O00001-CHEQR-ORDER .* done`,
		string(s.run("sale", "show")):     `selling +on`,
		string(s.run("events", "list")):   `conversion\.filled`,
		string(output):                    `ok +selling at kraken: on, 0 sales waiting`,
	} {
		if !regexp.MustCompile(pattern).MatchString(out) {
			t.Errorf("%s does not match\n%s", pattern, out)
		}
		if strings.Contains(out, exchangetest.Secret) {
			t.Errorf("the secret is shown: %s", out)
		}
	}
}
