package greenfield

import (
	"encoding/json"
	"fmt"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// invoiceView is an invoice without its metadata.
type invoiceView struct {
	ID                   string       `json:"id"`
	StoreID              string       `json:"storeId"`
	Amount               string       `json:"amount"`
	PaidAmount           string       `json:"paidAmount"`
	Currency             string       `json:"currency"`
	Type                 string       `json:"type"`
	CheckoutLink         string       `json:"checkoutLink"`
	CreatedTime          int64        `json:"createdTime"`
	ExpirationTime       int64        `json:"expirationTime"`
	MonitoringExpiration int64        `json:"monitoringExpiration"`
	Status               string       `json:"status"`
	AdditionalStatus     string       `json:"additionalStatus"`
	Markable             []string     `json:"availableStatusesForManualMarking"`
	Archived             bool         `json:"archived"`
	Checkout             checkoutView `json:"checkout"`
	Receipt              struct{}     `json:"receipt"`
}

// checkoutView are the terms of an invoice.
type checkoutView struct {
	SpeedPolicy           string   `json:"speedPolicy"`
	PaymentMethods        []string `json:"paymentMethods"`
	ExpirationMinutes     int64    `json:"expirationMinutes"`
	MonitoringMinutes     int64    `json:"monitoringMinutes"`
	PaymentTolerance      int      `json:"paymentTolerance"`
	RedirectURL           string   `json:"redirectURL"`
	RedirectAutomatically bool     `json:"redirectAutomatically"`
	DefaultLanguage       string   `json:"defaultLanguage"`
}

// view returns the JSON of an invoice for a key, with what a plug-in keeps with it.
func (s *server) view(k merchant.Key, inv *invoice.Invoice, data invoice.PluginData) ([]byte, error) {
	e, now := s.Invoices.Evaluation(inv), s.Now()
	v := invoiceView{
		ID: inv.ID, StoreID: k.StoreID(), Type: "Standard", CheckoutLink: s.BaseURL + "/i/" + inv.ID,
		Amount: inv.Terms.Price.Fixed(), PaidAmount: inv.State.Paid.Add(inv.State.Overpaid).Fixed(), Currency: inv.Terms.Price.Currency().Code,
		CreatedTime: inv.CreatedAt.Unix(), ExpirationTime: inv.ExpiresAt().Unix(), MonitoringExpiration: inv.ExpiresAt().Add(invoice.WatchPeriod).Unix(),
		Markable: markable(k, e, now), Archived: !data.ArchivedAt.IsZero(), Checkout: checkoutOf(inv),
	}
	v.Status, v.AdditionalStatus = statusOf(inv, e, now)
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode invoice: %w", err)
	}
	return withMetadata(body, data.Metadata), nil
}

// withMetadata adds the metadata to a JSON object that is not empty, byte for byte: encoding/json would change spaces
// and escapes.
func withMetadata(object, metadata []byte) []byte {
	if len(metadata) == 0 {
		metadata = []byte("{}")
	}
	body := append(object[:len(object)-1:len(object)-1], `,"metadata":`...)
	return append(append(body, metadata...), '}')
}

// markable returns the statuses that a key may set.
func markable(k merchant.Key, e *invoice.Evaluation, now time.Time) []string {
	d, list := e.Decisions(now, invoice.Tolerance{}), []string{}
	if d.Accept && k.May(merchant.ScopeSettleInvoices) {
		list = append(list, settled)
	}
	if d.Cancel {
		list = append(list, invalid)
	}
	return list
}

// checkoutOf returns the terms of an invoice.
func checkoutOf(inv *invoice.Invoice) checkoutView {
	first := inv.Quotes[0]
	c := checkoutView{
		SpeedPolicy: speedPolicy, PaymentMethods: []string{}, MonitoringMinutes: int64(invoice.WatchPeriod / time.Minute),
		ExpirationMinutes: int64(first.Until.Sub(first.From) / time.Minute),
		RedirectURL:       inv.Terms.URLSuccess, RedirectAutomatically: inv.Terms.URLSuccess != "" && !inv.Terms.StayOnPage, DefaultLanguage: inv.Terms.Language,
	}
	for _, m := range inv.Methods {
		c.PaymentMethods = append(c.PaymentMethods, methodID(m.Asset))
	}
	return c
}
