package greenfield

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// InvoiceSettled is the type of the message that an invoice is paid.
const InvoiceSettled = "InvoiceSettled"

// The types of messages.
const (
	invoiceCreated         = "InvoiceCreated"
	invoiceReceivedPayment = "InvoiceReceivedPayment"
	invoiceProcessing      = "InvoiceProcessing"
	invoicePaymentSettled  = "InvoicePaymentSettled"
	invoiceExpired         = "InvoiceExpired"
	invoiceInvalid         = "InvoiceInvalid"
	testMessage            = "Test"
)

// messageTypes are the types of messages that a webhook may choose.
var messageTypes = []string{
	invoiceCreated, invoiceReceivedPayment, invoiceProcessing, invoicePaymentSettled, InvoiceSettled, invoiceExpired, invoiceInvalid,
}

// message is a message to a webhook, without the metadata. The first four fields are set for each attempt.
type message struct {
	DeliveryID         string `json:"deliveryId"`
	WebhookID          string `json:"webhookId"`
	OriginalDeliveryID string `json:"originalDeliveryId"`
	IsRedelivery       bool   `json:"isRedelivery"`
	Type               string `json:"type"`
	Timestamp          int64  `json:"timestamp"`
	StoreID            string `json:"storeId"`
	InvoiceID          string `json:"invoiceId"`

	AfterExpiration *bool        `json:"afterExpiration,omitempty"`
	MethodID        string       `json:"paymentMethodId,omitempty"`
	Method          string       `json:"paymentMethod,omitempty"`
	Payment         *paymentView `json:"payment,omitempty"`
	OverPaid        *bool        `json:"overPaid,omitempty"`
	PartiallyPaid   *bool        `json:"partiallyPaid,omitempty"`
	ManuallyMarked  *bool        `json:"manuallyMarked,omitempty"`
}

// Messages returns the messages about a change of an invoice at a time, or about a new invoice if before is nil. It is
// the function invoice.Config.Messages.
//
// Some plug-ins treat the message about a payment as the payment of the full price. These messages are therefore held
// back until the payments cover the price or the invoice has expired, and then sent once for each payment.
func Messages(before, after *invoice.Invoice, at time.Time) []invoice.Message {
	c := change{before: before, after: after, at: at}
	if before == nil {
		c.add(message{Type: invoiceCreated})
		return c.messages
	}
	if !c.isHeldBack(after) {
		c.payments = paymentsOf(after)
	}
	from, to := statusName(before), statusName(after)
	c.addPayments(invoiceReceivedPayment, func(t *invoice.Transfer) *bool { return &t.ToldReceived }, func(invoice.Payment) bool { return true })
	if from != to && to == processing {
		c.add(message{Type: invoiceProcessing, OverPaid: new(isOverpaid(after))})
	}
	c.addPayments(invoicePaymentSettled, func(t *invoice.Transfer) *bool { return &t.ToldConfirmed }, func(p invoice.Payment) bool { return p.Confirmed() })
	if from != to {
		c.addStatus(to)
	}
	return c.messages
}

// change is a change of an invoice with its messages.
type change struct {
	before, after *invoice.Invoice
	at            time.Time
	payments      []invoice.Payment // of after; none while messages about them are held back
	messages      []invoice.Message
}

// add adds a message.
func (c *change) add(m message) {
	m.Timestamp, m.InvoiceID = c.at.Unix(), c.after.ID
	m.StoreID = merchant.StoreID(c.after.MerchantID, merchant.Mode(c.after.Mode))
	body, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("greenfield: encode message: %v", err)) // texts and numbers always encode
	}
	c.messages = append(c.messages, invoice.Message{Type: m.Type, Body: body})
}

// addStatus adds the message about a status that the invoice has reached.
func (c *change) addStatus(status string) {
	switch status {
	case settled:
		c.add(message{Type: InvoiceSettled, ManuallyMarked: new(isAccepted(c.after)), OverPaid: new(isOverpaid(c.after))})
	case expired:
		c.add(message{Type: invoiceExpired, PartiallyPaid: new(!c.after.State.Paid.IsZero())})
	case invalid:
		c.add(message{Type: invoiceInvalid, ManuallyMarked: new(c.after.State.Status == invoice.Declined)})
	}
}

// addPayments adds a message of a type for each payment for which applies returns true and which has no such message yet.
// told returns the field of a transfer that records the message. An invoice that is older than these fields already has the
// messages that applied before the change.
func (c *change) addPayments(kind string, told func(*invoice.Transfer) *bool, applies func(invoice.Payment) bool) {
	untold := slices.DeleteFunc(slices.Clone(c.payments), func(p invoice.Payment) bool { return *told(&p.Transfer) || !applies(p) })
	if len(untold) == 0 {
		return
	}
	known := map[string]bool{}
	if !c.isHeldBack(c.before) {
		for _, p := range paymentsOf(c.before) {
			known[p.ID] = applies(p)
		}
	}
	for _, p := range untold {
		i := slices.IndexFunc(c.after.Transfers, func(t invoice.Transfer) bool { return t.Network == p.Network && t.ID == p.ID })
		*told(&c.after.Transfers[i]) = true
		m, offered := c.after.Method(p.Network, p.Asset)
		if !offered || known[p.ID] {
			continue
		}
		payment := paymentOf(c.after, p)
		c.add(message{
			Type: kind, AfterExpiration: new(p.FirstSeen.After(c.after.ExpiresAt())), MethodID: methodID(m.Asset), Method: formerID(m.Asset), Payment: &payment,
		})
	}
}

// isHeldBack reports whether messages about the payments of an invoice are held back: the payments do not cover the
// price, and the invoice has not expired.
func (c *change) isHeldBack(inv *invoice.Invoice) bool {
	switch inv.State.Status {
	case invoice.Paid, invoice.Expired:
		return false
	case invoice.Declined:
		return !wouldCover(inv, inv.Evaluation().Decisions(c.at, invoice.Tolerance{}))
	}
	return !isCovered(inv)
}

// paymentsOf returns the payments of an invoice that are on their networks and may count. It leaves out a payment that
// combines transfers, because their messages were sent before.
func paymentsOf(inv *invoice.Invoice) (list []invoice.Payment) {
	reported, _ := inv.ReportedPayments()
	for _, p := range reported {
		switch p.State {
		case invoice.PaymentSeen, invoice.PaymentConfirmed, invoice.PaymentLate:
			if p.Folded == 0 {
				list = append(list, p)
			}
		}
	}
	return list
}

// Completer completes messages for each attempt to send them.
type Completer struct {
	data MetadataReader
	now  func() time.Time
}

// MetadataReader reads the metadata that plug-ins store with invoices. It is safe for concurrent use.
type MetadataReader interface {
	// PluginData is as in Data.
	PluginData(ctx context.Context, invoiceIDs ...string) (map[string]invoice.PluginData, error)
}

// NewCompleter returns a new Completer.
func NewCompleter(data MetadataReader, now func() time.Time) *Completer { return &Completer{data, now} }

// Complete returns the body of an attempt at a delivery. It reads the metadata for each attempt, so that removed metadata
// are not sent.
func (c *Completer) Complete(ctx context.Context, e merchant.Endpoint, d merchant.Delivery, stored []byte) ([]byte, error) {
	var m message
	if err := json.Unmarshal(stored, &m); err != nil {
		return nil, fmt.Errorf("message %s: %w", d.EventID, err)
	}
	if d.EventType == merchant.EventTest {
		m = message{Type: testMessage, Timestamp: c.now().Unix()}
	}
	m.WebhookID, m.StoreID = e.ID, merchant.StoreID(e.MerchantID, e.Mode)
	m.DeliveryID, m.OriginalDeliveryID, m.IsRedelivery = d.EventID, d.EventID, d.Attempts > 0
	if m.IsRedelivery {
		m.DeliveryID += "-" + strconv.Itoa(d.Attempts)
	}
	data, err := c.data.PluginData(ctx, d.InvoiceID)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("message %s: %w", d.EventID, err)
	}
	return withMetadata(body, data[d.InvoiceID].Metadata), nil
}
