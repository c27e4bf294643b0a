package bench_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/storage/storagetest"
)

const (
	// originals is the number of test invoices that the program itself creates. The others are copies
	// of them in the database, spread over a year.
	originals = 100
	// The originals below paidOriginals are paid, the first two with too much. One more is declined, one is paid
	// late, one is paid in part, and the others expire. None stays open, because a shop has few open invoices.
	paidOriginals   = 78
	declinedInvoice = paidOriginals
	lateInvoice     = paidOriginals + 1
	partInvoice     = paidOriginals + 2
	refundedInvoice = 1 // overpaid, and its surplus is to be sent back
	linkPrice       = "12.50"
	openInvoices    = 3 // that are not copied
)

// priceOf returns the price of an original that the API creates.
func priceOf(i int) string { return fmt.Sprintf("%d.%02d", 20+i/100, i%100) }

// paidWith are the codes of the methods by which the originals are paid.
var paidWith = []string{"BTC", "LTC", "ETH"}

// sources are the parts of a shop that create invoices besides the API.
type sources struct{ link, terminal, terminalID string }

// addSources adds a product, a checkout link, a terminal, and an endpoint that accepts every event.
func (p *program) addSources(b *testing.B) (s sources) {
	b.Helper()
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	b.Cleanup(endpoint.Close)
	s.link = "coffee"
	p.run(b, "endpoint", "add", endpoint.URL, "--test")
	p.run(b, "product", "add", "beans", "--test", "--name", "Coffee beans", "--price", "14.90")
	p.run(b, "link", "add", "--slug", s.link, "--test", "--amount", linkPrice, "--uses", "1000000")
	var terminal struct{ ID, URL string }
	if err := json.Unmarshal(p.run(b, "terminal", "link", "--test", "--name", "Bar", "--json"), &terminal); err != nil {
		b.Fatal(err)
	}
	s.terminal, s.terminalID = path.Base(terminal.URL), terminal.ID
	return s
}

// createOriginals creates the invoices that are copied afterwards, and a few open ones.
func (p *program) createOriginals(b *testing.B, s sources) {
	b.Helper()
	for i := range originals + openInvoices {
		id, err := p.createOriginal(b.Context(), s, i)
		if err == nil && i < originals {
			err = p.settleOriginal(b.Context(), id, i)
		}
		if err != nil {
			b.Fatalf("invoice %d: %v", i, err)
		}
	}
	db := storagetest.Database(b, p.database)
	for start := time.Now(); count(b, db, "SELECT COUNT(*) FROM deliveries WHERE next_try_at IS NOT NULL") > 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			b.Fatal("the events of the originals are not delivered")
		}
	}
}

// count returns the number that a query counts.
func count(b *testing.B, db *sql.DB, query string) (n int) {
	b.Helper()
	if err := db.QueryRowContext(b.Context(), query).Scan(&n); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	return n
}

// createOriginal creates an invoice: each tenth by the link, each tenth at the terminal, and the others by the API.
func (p *program) createOriginal(ctx context.Context, s sources, i int) (id string, err error) {
	switch i % 10 {
	case 7:
		return p.sendForm(ctx, "/order/pay/"+s.link, url.Values{"shown_amount": {linkPrice}, "shown_currency": {"EUR"}})
	case 8:
		return p.sendForm(ctx, "/order/pos/"+s.terminal, url.Values{"amount": {priceOf(i)}, "order_id": {fmt.Sprintf("order-%d-0", i)}})
	}
	inv, err := p.createWith(ctx, fmt.Sprintf(`{"amount":%s,"fiat_currency":"EUR","order_id":"order-%d-0","expires_in":60,"metadata":{"order_reference":"table-%d-0"}}`, priceOf(i), i, i))
	return inv.ForeignID, err
}

// sendForm sends a form of a shopper's page, and returns the identifier of the invoice that it creates.
func (p *program) sendForm(ctx context.Context, path string, values url.Values) (id string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, strings.NewReader(values.Encode()))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultTransport.RoundTrip(r) // follows no redirect
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	location, err := response.Location()
	if err != nil {
		text, _ := io.ReadAll(response.Body)
		return "", fmt.Errorf("%s: %s: %s", path, response.Status, text)
	}
	return location.Path[strings.LastIndexByte(location.Path, '/')+1:], nil
}

// settleOriginal brings an invoice to its final status.
func (p *program) settleOriginal(ctx context.Context, id string, i int) error {
	hour := api.SimulateRequest{Action: api.SimulateClock, Seconds: int64(time.Hour / time.Second)}
	pay := func(action string) api.SimulateRequest {
		return api.SimulateRequest{Action: action, PaymentMethod: paidWith[i%len(paidWith)]}
	}
	confirm := api.SimulateRequest{Action: api.SimulateConfirm}
	var actions []api.SimulateRequest
	switch {
	case i <= refundedInvoice:
		actions = []api.SimulateRequest{pay(api.SimulateOver), confirm}
	case i < paidOriginals:
		actions = []api.SimulateRequest{pay(api.SimulateExact), confirm}
	case i == declinedInvoice:
		return p.call(ctx, http.MethodPost, api.PathInvoices+"/"+id+"/cancel", "{}", nil)
	case i == lateInvoice:
		actions = []api.SimulateRequest{hour, pay(api.SimulateLate), confirm}
	case i == partInvoice:
		actions = []api.SimulateRequest{pay(api.SimulateUnder), confirm, hour}
	default:
		actions = []api.SimulateRequest{hour}
	}
	for _, a := range actions {
		if err := p.callWith(ctx, api.PathTestInvoices+"/"+id+"/simulate", a); err != nil {
			return err
		}
	}
	if i != refundedInvoice {
		return nil
	}
	return cmp.Or(
		p.callWith(ctx, api.PathInvoices+"/"+id+"/refund-address", api.RefundRequest{Currency: "LTC", Address: "tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0"}),
		p.callWith(ctx, api.PathInvoices+"/"+id+"/refunds", api.NewRefund{Kind: "surplus", Currency: "LTC"}))
}

// callWith sends a value as the body of a signed request.
func (p *program) callWith(ctx context.Context, path string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return p.call(ctx, http.MethodPost, path, string(content), nil)
}
