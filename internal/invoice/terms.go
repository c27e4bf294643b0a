package invoice

import (
	"math/big"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/money"
)

// Terms are the terms that the merchant and the shopper agreed to.
type Terms struct {
	Price            money.Amount
	Merchant         string // the name shown to the shopper
	AllowPaidExpired bool   // a late payment can count without a decision, see lateCounts
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
