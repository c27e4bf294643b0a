// Package invoice implements invoices with their frozen terms, the rules that decide when an
// invoice is paid, and the service that stores each decision together with its events.
package invoice

import (
	"maps"
	"math/big"
	"slices"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/money"
)

// Mode separates real payments from test payments.
type Mode string

const (
	// Live invoices are paid with real money.
	Live Mode = "live"
	// Test invoices are paid on simnet.
	Test Mode = "test"
)

// Invoice is an invoice with the facts that its networks have shown, and its state. Terms, methods
// and quotes do not change after they are created.
type Invoice struct {
	ID         string // 32 random letters and digits; knowledge of the ID gives access to the invoice's page
	MerchantID string
	Mode       Mode
	// Version counts the changes that caused events.
	Version int64
	// Revision counts the writes of the invoice to storage, which sets the value.
	Revision  int64
	CreatedAt time.Time
	Origin    Origin
	Terms     Terms
	Methods   []Method
	Quotes    []Quote // by number, from 1
	// OtherNetworks lists other networks that watch the invoice's destinations. Storage writes
	// it with a new invoice and does not read it.
	OtherNetworks []OtherNetwork

	// The facts recorded since creation. Times are on the invoice's own clock, see Clock.
	Transfers     []Transfer
	Coverage      map[chain.ID]Coverage
	DeclinedAt    time.Time // zero unless the merchant cancelled
	Accepted      []string  // IDs of the transfers that the merchant accepted as the full price
	AcceptedAt    time.Time // zero unless the merchant accepted transfers
	AcceptedBy    string    // the ID of the API key, "command", or the name of the account that accepted them
	DelayedAt     time.Time // when the invoice was found delayed, or zero; see delayedAt
	RefundAddress RefundAddress
	// Refunds are the refunds that were requested, prepared or sent, oldest first. None is ever removed.
	Refunds []Refund
	// Kept is the merchant's decision to keep a surplus.
	Kept KeptSurplus

	// Removal states which personal data of the shopper were removed.
	Removal Removal

	// Clock is the time by which the invoice's own clock is ahead of the real clock. It is zero
	// except for test invoices.
	Clock time.Duration

	// Sales are the sales of the money that paid the invoice. They are created when the invoice
	// becomes paid.
	Sales []Sale

	// PaidCount is the number of times that the invoice became paid. It is greater than one only
	// after EventReverted. FirstPaidAt is the first time, on the invoice's own clock.
	PaidCount   int64
	FirstPaidAt time.Time

	// State is the result of the rules for the facts above.
	State State
	// Events are the events of the current change; storage writes them with it.
	Events []Event
	// Messages are the messages of the current change to shop plug-ins; storage writes them with it.
	Messages []Message
	// Evidence is the source data of the newest quote's prices; storage writes it under the name that
	// the quote contains.
	Evidence string
}

// WatchPeriod is the time after the end of the newest quote for which transfers are watched.
const WatchPeriod = 30 * 24 * time.Hour

// Coverage is the progress of scanning an invoice's network, on the invoice's own clock.
type Coverage struct {
	// Scanned is the start of the last scan that reached the tip.
	Scanned time.Time
	// BlindFrom is the first moment since creation at which unconfirmed transfers were not watched;
	// zero if there was none.
	BlindFrom time.Time
}

// blindBefore reports whether unconfirmed transfers were not watched at some moment between
// creation and t.
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
	return inv.Terms.Price.Sub(inv.State.Paid)
}

// ExpiresAt returns the end of the newest quote, on the invoice's own clock.
func (inv *Invoice) ExpiresAt() time.Time { return inv.Quote().Until }

// Method returns the payment method of an asset on a network.
func (inv *Invoice) Method(network chain.ID, asset string) (Method, bool) {
	for _, m := range inv.Methods {
		if m.Asset.Network == network && m.Asset.Code == asset {
			return m, true
		}
	}
	return Method{}, false
}

// clone returns a copy that shares no data that Observe or a decision changes.
func (inv *Invoice) clone() *Invoice {
	c := *inv
	c.Methods = slices.Clone(inv.Methods)
	c.Transfers = slices.Clone(inv.Transfers)
	c.Quotes = slices.Clone(inv.Quotes)
	c.Accepted = slices.Clone(inv.Accepted)
	c.Coverage = maps.Clone(inv.Coverage)
	c.State.Exceptions = slices.Clone(inv.State.Exceptions)
	c.Sales = slices.Clone(inv.Sales)
	c.Refunds = slices.Clone(inv.Refunds)
	return &c
}

// Origin is the source of the request that created an invoice. The zero value is an unknown source, as
// of invoices that were created before origins were recorded.
type Origin struct {
	Kind OriginKind
	// ID identifies the source among those of its kind: an API key or a terminal by its identifier, a
	// checkout link or a product by its slug. It is empty for the storefront.
	ID string
}

// OriginKind is a kind of source of invoices.
type OriginKind string

// The kinds of sources.
const (
	FromAPI        OriginKind = "api"
	FromStorefront OriginKind = "storefront"
	FromProduct    OriginKind = "product"
	FromLink       OriginKind = "link"
	FromSignedLink OriginKind = "signed_link" // a link that the merchant signed with an API key
	FromTerminal   OriginKind = "terminal"
)

// PersonalData is a kind of data of an invoice that can identify a shopper. They serve the sale and what follows it,
// and a merchant may set the period after which they are removed. What the books need stays: amounts, rates, payments and
// their transactions, the order ID, the description, what was sold, the states of refunds with their amounts, their
// transactions and the merchant's reasons, and the names of the accounts that decided.
type PersonalData string

// The kinds of personal data.
const (
	// TeamNotes are the notes of the team, which package casework keeps.
	TeamNotes PersonalData = "notes"
	// RefundAddresses are the address that the shopper gave, and those of refunds.
	RefundAddresses PersonalData = "refund_addresses"
	// ShopMetadata are the texts that the shopper typed on the page, and the entries that the merchant's shop stored
	// with the invoice. The entries of Chequer about the product or the terminal stay.
	ShopMetadata PersonalData = "metadata"
	// ReturnAddresses are the URLs to which the shopper returns. They may have a key to the shopper's order.
	ReturnAddresses PersonalData = "return_addresses"
)

// Removal states which personal data were removed from an invoice. The zero value means that nothing was removed.
type Removal struct {
	At    time.Time // of the last removal, on the real clock
	Kinds []PersonalData
}

// Has reports whether data of a kind were removed.
func (r Removal) Has(kind PersonalData) bool { return slices.Contains(r.Kinds, kind) }

// Terms are the terms that the merchant and the shopper agreed to.
type Terms struct {
	Price            money.Amount
	VAT              money.VATRate // of the product, included in the price
	Merchant         string        // the name shown to the shopper
	AllowPaidExpired bool          // a late payment can count without a decision, see lateCounts
	DisableSale      bool
	Sale             SaleTerms
	URLSuccess       string
	URLFailure       string
	StayOnPage       bool // the page of the paid invoice leads to URLSuccess only by a click
	OrderID          string
	Description      string
	Metadata         map[string]string
	Language         string
	Rules            Rules
	Lightning        LightningTerms // zero if the invoice offers no method of payment requests
}

// Reference returns the text that a shopper entered as a reference in the storefront's form.
func (t Terms) Reference() string { return t.Metadata[api.MetadataOrderReference] }

// Note returns the text that a shopper entered as a note.
func (t Terms) Note() string { return t.Metadata[api.MetadataNote] }

// Rules are the merchant's settings that affect payments, frozen.
type Rules struct {
	Tolerance     money.Amount  // largest missing amount with which an invoice still counts as covered
	BlindWindow   time.Duration // after expiry, for transfers first seen after it, if watching was interrupted
	ConfirmWindow time.Duration // after expiry, for the first confirmation
	RequoteWindow time.Duration // after the first expiry, in which the shopper can requote
	LatePercent   int64         // minimum market value of late money in percent of its quoted value; 0 = any
	// Gas is, per network, the largest amount of the native coin that has no effect when it arrives
	// after the price is covered: the merchant sends it to pay the fee of a sweep; see chain.Policy.
	// It is nil in invoices made before this rule, which accept any amount.
	Gas map[chain.ID]money.Amount
}

// DefaultRules returns the rules of a merchant who changed no setting.
func DefaultRules(fiat money.Currency) Rules {
	return Rules{
		Tolerance:     money.Zero(fiat),
		BlindWindow:   2 * time.Hour,
		ConfirmWindow: 24 * time.Hour,
		RequoteWindow: 24 * time.Hour,
		LatePercent:   95,
	}
}

// MaxToleranceBasisPoints is the largest share of a price that may be missing, in hundredths of a percent.
const MaxToleranceBasisPoints = 2000

// Tolerance is the merchant's setting for the part of a price that may be missing. If both bounds
// are set, the smaller one applies. The zero value allows no missing amount.
type Tolerance struct {
	BasisPoints int64        // of the price, in hundredths of a percent; 0 = no such bound
	Euro        money.Amount // 0 = no such bound
}

// amountFor returns the tolerance for a price, in the currency of the price and rounded down. An amount of
// euro is converted with the rates at which the invoice prices one of its coins.
func (t Tolerance) amountFor(total money.Amount, coin Price) money.Amount {
	share := t.BasisPoints
	if share == 0 && !t.Euro.IsZero() {
		share = MaxToleranceBasisPoints // it limits a bound in euro, too
	}
	allowed := new(big.Rat).Mul(total.Rat(), big.NewRat(min(share, MaxToleranceBasisPoints), 10_000))
	if !t.Euro.IsZero() {
		euro := t.Euro.Rat()
		if fiat := total.Currency(); fiat != money.EUR {
			rate := new(big.Rat).Quo(coin.Rate(fiat).Value(coin.Expected), coin.EUR.Value(coin.Expected)) // fiat per euro
			euro = new(big.Rat).Mul(euro, rate)
		}
		if euro.Cmp(allowed) < 0 {
			allowed = euro
		}
	}
	return money.RoundDown(allowed, total.Currency())
}
