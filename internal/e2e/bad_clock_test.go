package e2e_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/client"
	"chequer/internal/clocktest"
	"chequer/internal/httpapi"
	"chequer/internal/invoice"
	"chequer/internal/invoicing"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/proof"
	"chequer/internal/rates"
	"chequer/internal/server"
	"chequer/internal/signature"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/watcher"
	"chequer/internal/wire"
)

// clockedService is the service with storage, simnet and watcher, on a clock that the test sets. It takes the place of the
// program, which always uses the clock of the machine.
type clockedService struct {
	t        *testing.T
	store    *storage.Storage
	net      *simnet.Network
	invoices *invoice.Service
	watcher  *watcher.Watcher
	api      http.Handler
	key      merchant.Key
	clock    *clocktest.Clock
}

func newClockedService(t *testing.T) *clockedService {
	t.Helper()
	service := &clockedService{t: t, store: storagetest.SQLite(t), clock: clocktest.New(time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC))}
	service.net = simnet.New(service.store, service.clock.Now)
	fixed, err := rates.ParseFixed("BTC-EUR=80000,EUR-USD=1.08", "fixed")
	service.must(err)
	log := slog.New(slog.DiscardHandler)
	service.invoices = invoice.NewService(invoice.Config{
		Storage: service.store, Networks: map[invoice.Mode][]chain.Network{invoice.Test: {service.net}},
		Rates: func() invoice.Rates { return fixed }, Now: service.clock.Now, NewID: rand.Text, Encode: wire.Event, Log: log,
	})
	merchants := merchant.NewService(service.store, service.clock.Now, func(length int) string { return strings.Repeat(rand.Text(), 2)[:length] })
	service.api = server.New(server.Config{
		Invoices: service.invoices, Creator: invoicing.New(invoicing.Config{Invoices: service.invoices, Merchants: merchants}), Merchants: merchants, Nonces: service.store, Simnet: service.net, Proofs: service.proofs(),
		BaseURL: "http://shop.example", Prices: merchant.NewPrices(nil, "1000000"), Limits: httpapi.Limits{PerKey: 20, PerAddress: 10}, Now: service.clock.Now, Log: log,
	})
	m, err := merchants.EnsureFirst(t.Context(), "Shop")
	service.must(err)
	secret, key, err := keys.NewTestKey(rand.Reader, keys.BTC)
	service.must(err)
	service.must(service.store.CreateWallet(t.Context(), merchant.Wallet{
		ID: "wlt_1", MerchantID: m.ID, Mode: merchant.Test, Asset: string(keys.BTC),
		Key: key.String(), Counter: key.Fingerprint(), Secret: secret, CreatedAt: service.clock.Now(),
	}))
	service.key, err = merchants.CreateKey(t.Context(), m.ID, merchant.Test, merchant.AllScopes, "")
	service.must(err)
	service.watcher = service.newWatcher("first")
	service.scan()
	return service
}

// proofs returns a keyring with a signing key.
func (s *clockedService) proofs() *proof.Keyring {
	keyring := proof.NewKeyring(s.store, s.clock.Now)
	s.must(keyring.Ensure(s.t.Context()))
	return keyring
}

// newWatcher returns a watcher that leases the network as the given holder, as each process does.
func (s *clockedService) newWatcher(holder string) *watcher.Watcher {
	return watcher.New(watcher.Config{
		Network: s.net, Storage: s.store, Observer: s.invoices, Holder: holder, Every: time.Second,
		Now: s.clock.Now, Log: slog.New(slog.DiscardHandler),
	})
}

// must ends the test if there is an error.
func (s *clockedService) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// scan runs one step of the watcher, and then of the expirer.
func (s *clockedService) scan() {
	s.t.Helper()
	_, err := s.watcher.Step(s.t.Context())
	s.must(err)
	s.expire()
}

// expire runs one step of the expirer.
func (s *clockedService) expire() {
	s.t.Helper()
	_, err := s.invoices.Expire(s.t.Context(), 100)
	s.must(err)
}

// shop returns a client of the API that uses the service's clock.
func (s *clockedService) shop() shop {
	s.t.Helper()
	c, err := client.New(client.Config{
		BaseURL: "http://shop.example", Key: s.key.Key, Secret: s.key.Secret, Transport: client.InProcess(s.api), Now: s.clock.Now,
	})
	s.must(err)
	return shop{t: s.t, client: c}
}

// pay sends the amount due of an invoice and returns the transaction.
func (s *clockedService) pay(id string) string {
	s.t.Helper()
	inv, err := s.invoices.Invoice(s.t.Context(), id)
	s.must(err)
	m := inv.Methods[0]
	price, _ := inv.Quote().Price(m.Asset.Code)
	tx, err := s.net.Pay(s.t.Context(), m.Asset, m.Destination.Script, price.Expected)
	s.must(err)
	return tx
}

// checkStatus fails if an invoice has another status or any exception.
func (s *clockedService) checkStatus(id string, want invoice.Status) {
	s.t.Helper()
	inv, err := s.invoices.Invoice(s.t.Context(), id)
	s.must(err)
	if got := inv.State; got.Status != want || len(got.Exceptions) > 0 {
		s.t.Errorf("invoice is %s %v, want %s", got.Status, got.Exceptions, want)
	}
}

// TestClock_stepping_forward_expires_no_invoice_early moves the clock an hour ahead, past the expiry of
// every quote. Payments that were made before are counted, and no invoice expires before the network has
// been scanned.
func TestClock_stepping_forward_expires_no_invoice_early(t *testing.T) {
	t.Parallel()
	service := newClockedService(t)
	shop := service.shop()
	unpaid, seen, unseen := shop.createInvoice(), shop.createInvoice(), shop.createInvoice()
	txs := []string{service.pay(seen)}
	service.scan()
	txs = append(txs, service.pay(unseen))

	service.clock.Advance(time.Hour)
	service.expire()
	service.checkStatus(unpaid, invoice.Created)
	service.checkStatus(seen, invoice.Pending)
	service.checkStatus(unseen, invoice.Created)
	if seconds := shop.invoice(unpaid).SecondsLeft; seconds > 0 {
		t.Errorf("SecondsLeft = %d, want at most 0", seconds)
	}
	service.scan()
	service.checkStatus(seen, invoice.Pending)
	service.checkStatus(unseen, invoice.Pending)
	service.clock.Advance(time.Minute) // invoices that could not expire immediately are checked again within a minute
	service.scan()
	service.checkStatus(unpaid, invoice.Expired)
	service.must(service.net.Confirm(t.Context(), txs))
	service.scan()
	service.checkStatus(seen, invoice.Paid)
	service.checkStatus(unseen, invoice.Paid)

	later := shop.createInvoice()
	service.scan()
	service.checkStatus(later, invoice.Created)
}

// TestClock_stepping_back_keeps_invoices moves the clock an hour back. Open invoices stay open, and
// ended invoices stay ended. New invoices can be created and paid, and waiting callers get the changes.
func TestClock_stepping_back_keeps_invoices(t *testing.T) {
	t.Parallel()
	service := newClockedService(t)
	shop := service.shop()
	open, declined, paid := shop.createInvoice(), shop.createInvoice(), shop.createInvoice()
	service.must(service.net.Confirm(t.Context(), []string{service.pay(paid)}))
	service.clock.Advance(14 * time.Minute)
	service.scan()
	_, err := service.invoices.Cancel(t.Context(), declined, 0)
	service.must(err)

	service.clock.Advance(-time.Hour)
	service.scan()
	service.checkStatus(open, invoice.Created)
	service.checkStatus(declined, invoice.Declined)
	service.checkStatus(paid, invoice.Paid)
	later := shop.createInvoice()
	service.scan()
	service.checkStatus(later, invoice.Created)
	status := shop.nextStatus(later)
	tx := service.pay(later)
	service.scan()
	service.checkStatus(later, invoice.Pending)
	if got := <-status; got != api.StatusPending {
		t.Errorf("the waiting caller got %q", got)
	}
	service.must(service.net.Confirm(t.Context(), []string{tx}))
	service.scan()
	service.checkStatus(later, invoice.Paid)

	service.clock.Advance(time.Hour) // the clock is correct again
	service.scan()
	service.checkStatus(open, invoice.Created)
	service.checkStatus(later, invoice.Paid)
	service.must(service.net.Confirm(t.Context(), []string{service.pay(open)}))
	service.scan()
	service.checkStatus(open, invoice.Paid)
}

// TestSignatures_when_the_clock_steps signs with the correct time while the server's clock is an hour
// wrong in either direction. The server refuses the timestamp until its clock is correct again. A
// nonce stays valid only once.
func TestSignatures_when_the_clock_steps(t *testing.T) {
	t.Parallel()
	for _, shift := range []time.Duration{time.Hour, -time.Hour} {
		t.Run("clock ahead by "+shift.String(), func(t *testing.T) {
			t.Parallel()
			service := newClockedService(t)
			right := service.clock.Now()
			call := func(nonce string) string {
				t.Helper()
				body := []byte(`{"amount":12.50,"fiat_currency":"EUR"}`)
				request, err := http.NewRequest(http.MethodPost, "http://shop.example"+api.PathInvoiceNew, bytes.NewReader(body))
				service.must(err)
				signed := signature.Request{
					Timestamp: strconv.FormatInt(right.Unix(), 10), Nonce: nonce,
					Method: request.Method, Target: request.URL.RequestURI(), Body: body,
				}
				for name, value := range map[string]string{
					"Content-Type": "application/json", api.HeaderKey: service.key.Key, api.HeaderTimestamp: signed.Timestamp,
					api.HeaderNonce: nonce, api.HeaderSignature: signature.Sign(service.key.Secret, signed.Message()),
				} {
					request.Header.Set(name, value)
				}
				resp, err := client.InProcess(service.api).RoundTrip(request)
				service.must(err)
				return fmt.Sprint(resp.StatusCode, " ", resp.Header.Get(api.HeaderErrorCode))
			}
			const first, second = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"
			for _, row := range []struct {
				step        time.Duration
				nonce, want string
			}{
				{0, first, "200 "},
				{0, first, "403 bad_nonce_header"},
				{shift, second, "403 bad_timestamp_header"},
				{0, first, "403 bad_timestamp_header"},
				{-shift, second, "200 "},
				{0, first, "403 bad_nonce_header"},
			} {
				service.clock.Advance(row.step)
				if got := call(row.nonce); got != row.want {
					t.Errorf("after a step of %s: got %q, want %q", row.step, got, row.want)
				}
			}
		})
	}
}
