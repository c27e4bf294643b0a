// Package invoice holds what is owed and how it stands: invoices with their
// frozen terms, the rules that decide when one is paid, and the service that
// makes a decision lasting together with the events that tell of it.
package invoice

import (
	"maps"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Mode keeps money and trials apart.
type Mode string

const (
	// Live invoices are about real money.
	Live Mode = "live"
	// Test invoices are paid on simnet.
	Test Mode = "test"
)

// Invoice is what is owed, everything its networks have shown, and how it
// stands. Terms, methods and quotes are frozen when they are made.
type Invoice struct {
	ID         string // 32 random letters and digits: who knows it may see it
	MerchantID string
	Mode       Mode
	// Version counts the changes that events tell of.
	Version int64
	// Revision counts the writes of the invoice to storage, which sets it.
	Revision  int64
	CreatedAt time.Time
	Terms     Terms
	Methods   []Method
	Quotes    []Quote // by number, from 1
	// Elsewhere is where else its destinations are looked at. It is written with a
	// new invoice, and not read back.
	Elsewhere []Elsewhere

	// What happened since. Times are on the invoice's own clock, see Clock.
	Transfers  []Transfer
	Coverage   map[chain.ID]Coverage
	DeclinedAt time.Time // zero unless the merchant cancelled
	Accepted   []string  // transfer IDs that a person let stand for the full price
	AcceptedAt time.Time // zero unless a person accepted
	AcceptedBy string    // names the key or the command that accepted
	DelayedAt  time.Time // zero unless expiry waits for coverage for too long
	Refund     Refund    // where the shopper wants money back

	// Clock is how far the invoice's own clock is ahead of everybody's. Only test
	// invoices have one.
	Clock time.Duration

	// Conversions are the sales of what paid it, made when it became paid.
	Conversions []Conversion

	// PaidCount is how many times the invoice became paid: more than once after
	// EventReverted. FirstPaidAt is the first time, on the invoice's own clock.
	PaidCount   int64
	FirstPaidAt time.Time

	// Standing is what the facts above amount to.
	Standing Standing
	// Events are those of the change being made; storage writes them with it.
	Events []Event
	// Evidence is what the quote being made rests on; storage keeps it under the
	// quote's name for it.
	Evidence string
}

// Refund is where the shopper wants money back. The zero value is nowhere yet.
type Refund struct {
	Asset   string // code
	Address string
}

// IsZero tells whether nothing was said yet.
func (r Refund) IsZero() bool { return r == Refund{} }

// Terms are what merchant and shopper agreed to.
type Terms struct {
	Price            money.Amount
	Merchant         string // the name shown to the shopper
	AllowPaidExpired bool
	DisableConvert   bool
	Convert          ConvertTerms
	URLSuccess       string
	URLFailure       string
	OrderID          string
	Description      string
	Metadata         map[string]string
	Language         string
	Rules            Rules
}

// Rules are the merchant's settings that decide about money, frozen.
type Rules struct {
	Tolerance     money.Amount  // how much may be missing
	BlindWindow   time.Duration // after expiry, when our view was not continuous
	ConfirmWindow time.Duration // after expiry, for the first confirmation
	RequoteWindow time.Duration // after the first expiry, for the shopper
	LatePercent   int64         // least market value of late money; 0 = any
	// Gas is how much of a network's own coin may come unexpected once the price is
	// covered, and change nothing; see chain.Policy. Nil in invoices of before it was
	// looked for: there any amount may.
	Gas map[chain.ID]money.Amount
}

// DefaultRules are those of a merchant who set nothing.
func DefaultRules(fiat money.Currency) Rules {
	return Rules{
		Tolerance:     money.Zero(fiat),
		BlindWindow:   2 * time.Hour,
		ConfirmWindow: 24 * time.Hour,
		RequoteWindow: 24 * time.Hour,
		LatePercent:   95,
	}
}

// Watch is how long after the end of the newest quote transfers are looked for.
const Watch = 30 * 24 * time.Hour

// Coverage is how far an invoice's network has been looked at, on the invoice's
// own clock.
type Coverage struct {
	// Scanned is the start of the last scan that reached the tip.
	Scanned time.Time
	// BlindFrom is the first moment since creation at which unconfirmed money was
	// not watched; zero when there was none.
	BlindFrom time.Time
}

// blindBefore tells whether unconfirmed money was not watched at some moment
// between creation and t.
func (c Coverage) blindBefore(t time.Time) bool {
	return !c.BlindFrom.IsZero() && c.BlindFrom.Before(t)
}

// Quote returns the newest quote.
func (inv *Invoice) Quote() Quote { return inv.Quotes[len(inv.Quotes)-1] }

// Shortfall returns the fiat that the merchant accepted as missing: zero unless the
// merchant accepted less than the price.
func (inv *Invoice) Shortfall() money.Amount {
	if inv.AcceptedAt.IsZero() {
		return money.Zero(inv.Terms.Price.Currency())
	}
	return inv.Terms.Price.Sub(inv.Standing.Paid)
}

// ExpiresAt is the end of the newest quote, on the invoice's own clock.
func (inv *Invoice) ExpiresAt() time.Time { return inv.Quote().Until }

// Method finds the payment method of an asset on a network.
func (inv *Invoice) Method(network chain.ID, asset string) (Method, bool) {
	for _, m := range inv.Methods {
		if m.Asset.Network == network && m.Asset.Code == asset {
			return m, true
		}
	}
	return Method{}, false
}

// clone is a copy that shares nothing that Observe or a decision changes.
func (inv *Invoice) clone() *Invoice {
	c := *inv
	c.Methods = slices.Clone(inv.Methods)
	c.Transfers = slices.Clone(inv.Transfers)
	c.Quotes = slices.Clone(inv.Quotes)
	c.Accepted = slices.Clone(inv.Accepted)
	c.Coverage = maps.Clone(inv.Coverage)
	c.Standing.Exceptions = slices.Clone(inv.Standing.Exceptions)
	c.Conversions = slices.Clone(inv.Conversions)
	return &c
}
