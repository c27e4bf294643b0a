package greenfield_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/greenfield"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// recordingData is a Data in which the given invoices are archived. It records the IDs of the invoices whose data are read.
type recordingData struct {
	greenfield.Data
	archived map[string]bool
	read     []string // IDs
}

// PluginData implements greenfield.Data.
func (d *recordingData) PluginData(ctx context.Context, ids ...string) (map[string]invoice.PluginData, error) {
	d.read = append(d.read, ids...)
	return d.Data.PluginData(ctx, ids...)
}

// PluginArchived implements greenfield.Data.
func (d *recordingData) PluginArchived(_ context.Context, ids ...string) (map[string]bool, error) {
	found := map[string]bool{}
	for _, id := range ids {
		found[id] = d.archived[id]
	}
	return found, nil
}

// A list includes an invoice that follows more archived invoices than are read at once.
func TestListInvoices_finds_invoices_behind_archived_ones(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("creates more than a thousand invoices")
	}
	f := newFixture(t, storageFile(t))
	wanted := f.create(order).ID
	data := &recordingData{Data: f.storage, archived: map[string]bool{}}
	for range 1100 {
		f.clock.Advance(time.Second)
		data.archived[f.create(order).ID] = true
	}
	f.config.Data = data
	f.handler = greenfield.New(f.config)
	got := call[[]view](f, "GET", f.store("/invoices"), "")
	if len(got) != 1 || got[0].ID != wanted {
		t.Errorf("got %d invoices, want the one that is not archived", len(got))
	}
	if len(data.read) != 1 {
		t.Errorf("the data of %d invoices were read, want 1", len(data.read))
	}
}

// The metadata of skipped invoices are not read.
func TestListInvoices_reads_metadata_of_listed_invoices_only(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	data := &recordingData{Data: f.storage}
	f.config.Data = data
	f.handler = greenfield.New(f.config)
	for range 5 {
		f.create(`{"amount":"5","currency":"EUR","metadata":"` + strings.Repeat("x", 60<<10) + `"}`)
		f.clock.Advance(time.Second)
	}
	data.read = nil
	got := call[[]view](f, "GET", f.store("/invoices?skip=3&take=1"), "")
	if len(got) != 1 || len(data.read) != 1 || data.read[0] != got[0].ID {
		t.Errorf("got %d invoices, the data of %q were read, want those of one invoice", len(got), data.read)
	}
}

// endlessList is a storage that always lists the requested number of invoices.
type endlessList struct{ invoice.Storage }

// Summaries implements invoice.ListStorage.
func (e endlessList) Summaries(ctx context.Context, f invoice.Filter, _ invoice.Position, limit int) ([]invoice.Summary, invoice.Position, error) {
	list, _, err := e.Storage.Summaries(ctx, f, invoice.Position{}, 1)
	if err != nil || len(list) == 0 {
		return nil, invoice.Position{}, errors.Join(err, errors.New("no invoice"))
	}
	for len(list) < limit {
		list = append(list, list[0])
	}
	return list, list[0].Position(), nil
}

// A search through too many invoices is refused, so that it is not mistaken for a complete list.
func TestListInvoices_refuses_too_long_a_search(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	id := f.create(order).ID
	f.config.Invoices = f.newInvoices(endlessList{f.storage})
	f.config.Data = &recordingData{Data: f.storage, archived: map[string]bool{id: true}}
	f.handler = greenfield.New(f.config)
	got := f.send("GET", f.store("/invoices"), f.token, "")
	const want = `[{"path":"startDate","message":"More than 50000 invoices had to be read: select fewer with startDate and endDate"}]`
	if got.status != http.StatusUnprocessableEntity || got.body != want {
		t.Errorf("answer %d: %s, want 422: %s", got.status, fmt.Sprintf("%.200s", got.body), want)
	}
}

// A search for a text that looks like the identifier of an invoice, and is none, finds the invoices with this order ID.
func TestListInvoices_finds_order_IDs_that_look_like_identifiers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	const orderID = "0190f3a2b4c85d6e97f8a1b2c3d4e5f6"
	wanted := f.create(`{"amount":"5","currency":"EUR","metadata":{"orderId":"` + orderID + `"}}`).ID
	f.create(order)
	for query, want := range map[string]int{"": 1, "&orderId=" + orderID: 1, "&orderId=other": 0, "&status=Settled": 0} {
		got := call[[]view](f, "GET", f.store("/invoices?textSearch="+orderID+query), "")
		if len(got) != want || want == 1 && got[0].ID != wanted {
			t.Errorf("textSearch%s: got %d invoices, want %d", query, len(got), want)
		}
	}
}

// withoutInvoice is storage from which an invoice is removed after it was listed.
type withoutInvoice struct {
	invoice.Storage
	removed string
}

// Invoice implements invoice.Storage.
func (w withoutInvoice) Invoice(ctx context.Context, id string) (*invoice.Invoice, error) {
	if id == w.removed {
		return nil, invoice.ErrNotFound
	}
	return w.Storage.Invoice(ctx, id)
}

// An invoice that is removed from the books while a list is read is left out.
func TestListInvoices_leaves_out_an_invoice_that_is_removed_meanwhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	wanted, removed := f.create(order).ID, f.create(order).ID
	f.config.Invoices = f.newInvoices(withoutInvoice{f.storage, removed})
	f.handler = greenfield.New(f.config)
	if got := call[[]view](f, "GET", f.store("/invoices"), ""); len(got) != 1 || got[0].ID != wanted {
		t.Errorf("got %d invoices, want the one that was not removed", len(got))
	}
}

func TestListInvoices_filters_and_leaves_out_archived_invoices(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		names := map[string]string{}
		for i, name := range []string{"a", "b", "c", "d"} {
			id := f.create(fmt.Sprintf(`{"amount":"864.20","currency":"EUR","metadata":{"orderId":"order %d"}}`, i%3)).ID
			names[id] = name
			f.clock.Advance(time.Minute)
		}
		ids := map[string]string{}
		for id, name := range names {
			ids[name] = id
		}
		f.confirm(f.pay(ids["b"], whole))
		f.pay(ids["c"], whole)
		other := f.newToken(f.createShop("Bakery"), merchant.Test, "other")
		if a := f.send("GET", "/stores/test-m_bakery/invoices", other, ""); a.body != "[]" {
			t.Errorf("another shop: got %s", a.body)
		}
		for query, want := range map[string]string{
			"": "dcba", "?take=2": "dc", "?take=2&skip=1": "cb", "?skip=9": "", "?take=0": "",
			"?orderId=order+0": "da", "?orderId=order+1&orderId=order+2": "cb", "?orderId=order+1&orderId=order+1": "b", "?orderId=nothing": "", "?orderId=": "",
			"?status=Settled": "b", "?status=Processing": "c", "?status=New": "da", "?status=New&status=Settled": "dba", "?status=Expired": "",
			"?textSearch=order+2": "c", "?textSearch=order+2&orderId=order+1": "", "?textSearch=order+2&orderId=order+1&orderId=order+2": "c", "?textSearch=order+2&orderId=": "",
			"?orderId=order+0&textSearch=" + ids["a"]: "a", "?orderId=order+1&textSearch=" + ids["a"]: "", "?orderId=order+1&orderId=order+0&textSearch=" + ids["a"]: "a", "?textSearch=" + ids["a"]: "a", "?textSearch=" + strings.Repeat("x", 32): "",
			fmt.Sprintf("?startDate=%d", noon.Add(90*time.Second).Unix()): "dc", "?endDate=2026-11-27T12:01:30Z": "ba", "?unknown=1": "dcba",
		} {
			got := ""
			for _, v := range call[[]view](f, "GET", f.store("/invoices"+query), "") {
				got += names[v.ID]
			}
			if got != want {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
		}
		for query, want := range map[string]string{
			"?take=251": "take", "?skip=x": "skip", "?startDate=soon": "startDate", "?status=paid": "status", "?" + strings.Repeat("orderId=1&", 51): "orderId",
		} {
			if a := f.send("GET", f.store("/invoices"+query), f.token, ""); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `"path":"`+want+`"`) {
				t.Errorf("%.20s: answer %d: %s", query, a.status, a.body)
			}
		}
		// An archived invoice is in no list, but can be read.
		a := f.send("DELETE", f.store("/invoices/"+ids["d"]), f.token, "")
		if a.status != http.StatusOK || a.body != "" {
			t.Errorf("archive: answer %d: %q, want an empty one", a.status, a.body)
		}
		if got := call[[]view](f, "GET", f.store("/invoices?orderId=order+0"), ""); len(got) != 1 || got[0].ID != ids["a"] {
			t.Errorf("after the archive: got %+v, want the invoice a alone", got)
		}
		if got := call[view](f, "GET", "/invoices/"+ids["d"], ""); !got.Archived || string(got.Metadata) != `{"orderId":"order 0"}` {
			t.Errorf("archived: got %+v, want the archived invoice with its metadata", got)
		}
	})
}
