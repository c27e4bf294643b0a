package foreign

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/internal/client"
)

// pollInterval is the interval at which a service that cannot wait is polled during a wait.
const pollInterval = 5 * time.Second

// pollPlain polls a service that implements only the specification until the ETag of an invoice differs
// from the given ETag.
func (c *Client) pollPlain(ctx context.Context, id, etag string, wait time.Duration) (client.Snapshot, error) {
	end := time.NewTimer(wait)
	defer end.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		snapshot, err := c.readPlain(ctx, id)
		if err != nil || snapshot.ETag != etag {
			return snapshot, err
		}
		select {
		case <-ctx.Done():
			return client.Snapshot{}, ctx.Err()
		case <-end.C:
			return client.Snapshot{}, client.ErrNotModified
		case <-tick.C:
		}
	}
}

// readPlain reads an invoice by the call of the specification. If the service does not have that call,
// the answer to the creation is used.
func (c *Client) readPlain(ctx context.Context, id string) (client.Snapshot, error) {
	read, err := c.service.ReadSpecified(ctx, id)
	created, remembered := c.memory.find(c.now(), id)
	apiErr, isAnswer := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		created.invoice, created.offset = read.Invoice, c.offset(read.Header)
	case !isAnswer || apiErr.IsTemporary() || !remembered && apiErr.Status == http.StatusForbidden: // the invoice may exist
		return client.Snapshot{}, cleanError(err)
	case !remembered:
		return client.Snapshot{}, fmt.Errorf("read invoice: %w", client.ErrNotFound)
	}
	resource := plainResource(created, read.Header, c.now())
	if err := checkResource(&resource, id); err != nil {
		return client.Snapshot{}, fmt.Errorf("read invoice: %w", err)
	}
	return client.Snapshot{Resource: resource, ETag: etagOf(resource)}, nil
}

// offset returns the time by which the service's clock is ahead of the local clock, by its Date header.
func (c *Client) offset(header http.Header) time.Duration {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0
	}
	return checkedOffset(date.Sub(c.now()))
}

// plainResource returns the specification's answer in the form of Chequer's resource. Other fields are
// empty. There are no payment URIs, because the specification does not define the codes of
// currencies.
func plainResource(created creation, header http.Header, now time.Time) api.Resource {
	spec := created.invoice
	price := digits(spec.ClientAmount)
	r := api.Resource{
		ForeignID: spec.ForeignID, OrderID: created.request.OrderID, Mode: "live", Status: spec.Status,
		CreatedAt: created.createdAt, ExpiredAt: spec.ExpiredAt,
		ClientAmount: price, ClientCurrency: spec.ClientCurrency,
		PaidAmount: "0", DueAmount: price, OverpaidAmount: "0", ToleranceAmount: "0", Accepted: api.Acceptance{Shortfall: "0"}, KeptSurplus: api.KeptSurplus{Amount: "0"},
		AllowPaidExpired: created.request.AllowPaidExpired != nil && *created.request.AllowPaidExpired, DisableConvert: created.request.DisableConvert,
		Description: created.request.Description, Language: created.request.Language,
		URLSuccess: created.request.URLSuccess, URLFailure: created.request.URLFailure,
		Exceptions: []string{}, PaymentMethods: []api.PaymentMethod{}, Payments: []api.Payment{},
		Quotes: []api.Quote{}, Metadata: map[string]string{},
	}
	if end, err := time.Parse(time.RFC3339Nano, spec.ExpiredAt); err == nil {
		r.ExpiredAt = end.UTC().Format(api.TimeLayout)
		r.SecondsLeft = int64(end.Sub(now.Add(created.offset)) / time.Second)
	}
	if r.Status == api.StatusPaid {
		r.PaidAmount, r.DueAmount = price, "0"
		r.PaidAt, r.PaidTx = header.Get(api.HeaderPaidAt), header.Get(api.HeaderPaidTx)
		r.PaidCurrency = header.Get(api.HeaderPaidCurrency)
	}
	for _, a := range spec.Addresses {
		r.PaymentMethods = append(r.PaymentMethods, plainMethod(a))
	}
	return r
}

func plainMethod(a api.Address) api.PaymentMethod {
	symbol, _, _ := strings.Cut(a.CryptoCurrency, "-")
	expected := digits(a.ExpectedAmount)
	return api.PaymentMethod{
		CryptoCurrency: a.CryptoCurrency, Symbol: symbol, Name: symbol, Address: a.Address,
		ExpectedAmount: expected, DueAmount: expected, SmallestAmount: "0",
		RateEUR: digits(a.RateEUR), RateUSD: digits(a.RateUSD), Watched: true,
	}
}

// digits returns a number in plain digits, or as it was sent if it is invalid.
func digits(n json.Number) string {
	if plain, err := api.Plain(n); err == nil {
		return plain
	}
	return n.String()
}

// etagOf returns an ETag of a resource. The remaining time is not part of it.
func etagOf(r api.Resource) string {
	r.SecondsLeft = 0
	body, _ := json.Marshal(r) // texts and numbers always encode
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}
