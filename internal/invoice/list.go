package invoice

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// ListStorage reads lists of invoices, newest first unless the comment of a method states another order.
// Its methods read a page of a list: at most limit invoices after a position. Invoices, Summaries and ExportLines
// also return the position after which the list may have more, which is zero if it has none. Such a page may have
// fewer invoices than limit, or none: the search for invoices with several filters is bounded.
type ListStorage interface {
	// Invoices returns whole invoices.
	Invoices(ctx context.Context, f Filter, after Position, limit int) ([]*Invoice, Position, error)
	// Summaries returns invoices in their short form.
	Summaries(ctx context.Context, f Filter, after Position, limit int) ([]Summary, Position, error)
	// Undecided returns the invoices of a merchant and a mode that wait for a decision and are not snoozed at a time,
	// oldest first.
	Undecided(ctx context.Context, merchantID string, mode Mode, at time.Time, after Position, limit int) ([]*Invoice, error)
	// ExportLines returns invoices as lines of an export.
	ExportLines(ctx context.Context, f Filter, after Position, limit int) ([]ExportLine, Position, error)
	// Refunds returns refunds, newest first.
	Refunds(ctx context.Context, f RefundFilter, after Position, limit int) ([]ListedRefund, error)
	// Tally counts the invoices of a merchant and a mode, and those that are snoozed at a time.
	Tally(ctx context.Context, merchantID string, mode Mode, at time.Time) (Tally, error)
}

// Position is a position in the list of invoices, which is sorted from the newest to the oldest.
// Invoices created at the same time are sorted by their identifiers, so that positions are unique.
type Position struct {
	CreatedAt time.Time
	ID        string
}

// Compare returns a negative number if p is before q in the list, a positive one if it is after q, and 0 if both are
// the same.
func (p Position) Compare(q Position) int {
	return cmp.Or(q.CreatedAt.Compare(p.CreatedAt), cmp.Compare(q.ID, p.ID))
}

// Position returns the position of the invoice in the list.
func (inv *Invoice) Position() Position { return Position{CreatedAt: inv.CreatedAt, ID: inv.ID} }

// Position returns the position of the invoice in the list.
func (s Summary) Position() Position { return Position{CreatedAt: s.CreatedAt, ID: s.ID} }

// Invoices lists at most limit invoices after a position, and returns the position after which there may be more;
// see ListStorage. As an argument, the zero position is the start of the list; as a result, its end.
func (s *Service) Invoices(ctx context.Context, f Filter, after Position, limit int) ([]*Invoice, Position, error) {
	if f.selectsNone() {
		return nil, Position{}, nil
	}
	return s.storage.Invoices(ctx, f, after, limit)
}

// Summaries is Invoices with the invoices in their short form.
func (s *Service) Summaries(ctx context.Context, f Filter, after Position, limit int) ([]Summary, Position, error) {
	if f.selectsNone() {
		return nil, Position{}, nil
	}
	return s.storage.Summaries(ctx, f, after, limit)
}

// Undecided lists at most limit invoices of a merchant and a mode that wait for a decision and are not snoozed, after
// a position, oldest first. The zero position is the start of the list.
func (s *Service) Undecided(ctx context.Context, merchantID string, mode Mode, after Position, limit int) ([]*Invoice, error) {
	return s.storage.Undecided(ctx, merchantID, mode, s.now(), after, limit)
}

// ExportLines is Invoices with the invoices as lines of an export. A caller that reads all pages
// of a list gets each invoice once: invoices that are created meanwhile are before the first page.
func (s *Service) ExportLines(ctx context.Context, f Filter, after Position, limit int) ([]ExportLine, Position, error) {
	if f.selectsNone() {
		return nil, Position{}, nil
	}
	return s.storage.ExportLines(ctx, f, after, limit)
}

// Tally counts the invoices of a merchant and a mode.
func (s *Service) Tally(ctx context.Context, merchantID string, mode Mode) (Tally, error) {
	return s.storage.Tally(ctx, merchantID, mode, s.now())
}

// Scripts returns the scripts of an address, in any spelling of the address or in a payment link, on every network of a
// mode that has such an address. The result is not nil.
func (s *Service) Scripts(mode Mode, address string) []Script {
	scripts, seen := []Script{}, map[Script]bool{}
	for _, n := range s.networks[mode] {
		reader, ok := n.(chain.AddressReader)
		if !ok {
			continue
		}
		for _, asset := range n.Assets() {
			to, err := reader.ReadAddress(asset.Code, asset.Address(address))
			if err != nil || to.Script == "" {
				continue // not an address of this asset, or one that no transfer names
			}
			if script := (Script{n.ID(), to.Script}); !seen[script] {
				seen[script] = true
				scripts = append(scripts, script)
			}
		}
	}
	if to, _, err := chain.ReadRequest(address); err == nil && mode == Live {
		scripts = append(scripts, Script{Script: to.Script}) // of any connection
	}
	return scripts
}

// Filter selects the invoices of a list. Empty fields select everything.
type Filter struct {
	MerchantID string
	Mode       Mode
	Status     Status
	From, To   time.Time // time of creation, from From until before To
	OrderID    string
	Reference  string // see Summary
	Price      money.Amount
	Origin     Origin    // an empty ID selects every source of the kind
	Exception  Exception // one of the exceptions
	// NeedsDecision selects the invoices that wait for a decision of the merchant.
	NeedsDecision bool
	// PaidAsset selects paid invoices by the code of the asset of the transfer that completed the amount.
	PaidAsset string
	// Tx is the identifier of a transaction with a transfer to the invoice.
	Tx string
	// Scripts are destinations, one of which is the invoice's.
	Scripts []Script
}

// hexTx matches the identifier of a transaction in hexadecimal digits.
var hexTx = regexp.MustCompile(`^(0[xX])?[0-9A-Fa-f]{64}$`)

// NormalizeTx returns the identifier of a transaction as networks write it, for Filter.Tx: in lower case
// if it is hexadecimal.
func NormalizeTx(text string) string {
	if hexTx.MatchString(text) {
		return strings.ToLower(text)
	}
	return text
}

// Script is the script of a destination on a network. The empty network is any network: payment hashes are unique on all
// networks of Lightning.
type Script struct {
	Network chain.ID
	Script  string
}

// matches reports whether s selects the script of a destination.
func (s Script) matches(to Script) bool {
	return s.Script == to.Script && (s.Network == "" || s.Network == to.Network)
}

// selectsNone reports whether the filter selects no invoice, because only paid ones have a paid asset.
func (f Filter) selectsNone() bool { return f.PaidAsset != "" && f.Status != "" && f.Status != Paid }

// ReadPages reads pages of a list with one of its methods, until it has limit invoices or the list ends.
func ReadPages[T any](
	ctx context.Context, read func(context.Context, Filter, Position, int) ([]T, Position, error), f Filter, after Position, limit int,
) (all []T, err error) {
	for len(all) < limit {
		page, more, err := read(ctx, f, after, limit-len(all))
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); more == (Position{}) {
			break
		}
		after = more
	}
	return all, nil
}

// Selects reports whether the filter selects an invoice.
func (f Filter) Selects(inv *Invoice) bool {
	return inv.MerchantID == f.MerchantID && inv.Mode == f.Mode &&
		(f.Status == "" || inv.State.Status == f.Status) &&
		!inv.CreatedAt.Before(f.From) && (f.To.IsZero() || inv.CreatedAt.Before(f.To)) &&
		(f.OrderID == "" || inv.Terms.OrderID == f.OrderID) &&
		(f.Reference == "" || inv.Terms.Reference() == f.Reference) &&
		(f.Price.IsZero() || inv.Terms.Price.Equal(f.Price)) &&
		(f.Origin.Kind == "" || inv.Origin.Kind == f.Origin.Kind) && (f.Origin.ID == "" || inv.Origin.ID == f.Origin.ID) &&
		(f.Exception == "" || inv.State.Has(f.Exception)) && (!f.NeedsDecision || inv.NeedsDecision()) &&
		(f.PaidAsset == "" || inv.State.Status == Paid && inv.State.PaidAsset == f.PaidAsset) &&
		(f.Tx == "" || slices.ContainsFunc(inv.Transfers, func(t Transfer) bool { return t.Tx == f.Tx })) &&
		(f.Scripts == nil || slices.ContainsFunc(inv.Destinations(), f.matchesDestination))
}

// matchesDestination reports whether a destination is one of the filter's.
func (f Filter) matchesDestination(to Script) bool {
	return slices.ContainsFunc(f.Scripts, func(s Script) bool { return s.matches(to) })
}

// Summary is an invoice in a list, without its methods, quotes and transfers.
type Summary struct {
	ID          string
	Mode        Mode
	Version     int64
	Status      Status
	Exceptions  []Exception
	Price       money.Amount
	Paid        money.Amount
	Due         money.Amount
	Overpaid    money.Amount
	OrderID     string
	Description string
	// Reference is the text that a shopper entered in the storefront's form.
	Reference string
	Origin    Origin
	CreatedAt time.Time
	ExpiresAt time.Time // see Invoice.ExpiresAt
	PaidAt    time.Time // zero unless the invoice is paid
	PaidAsset string    // see State
	Received  []Received
	// Accepted reports whether the merchant accepted transfers as the full price.
	Accepted    bool
	Decided     bool // see State
	RefundAsked bool // see State
	PaidCount   int64
}

// ExportLine is an invoice as a line of an export for bookkeeping.
type ExportLine struct {
	Summary
	Note          string // of the shopper
	DisableSale   bool
	Tolerance     money.Amount
	PaidTx        string
	RefundAddress RefundAddress
	FirstPaidAt   time.Time
	AcceptedAt    time.Time
	AcceptedBy    string
	Sales         []Sale
}

// Shortfall returns the fiat that the merchant accepted as missing; see Invoice.Shortfall.
func (l ExportLine) Shortfall() money.Amount {
	if l.AcceptedAt.IsZero() {
		return money.Zero(l.Price.Currency())
	}
	return l.Price.Sub(l.Paid)
}

// Received is an amount that the merchant received with one transfer, whether or not it counts.
type Received struct {
	Asset  string // code
	Amount money.Amount
	State  PaymentState // PaymentConfirmed, PaymentSeen or PaymentLate
}

// ReceivedAmounts returns the received amounts of the reported payments.
func (inv *Invoice) ReceivedAmounts() []Received {
	if len(inv.Transfers) == 0 {
		return nil
	}
	var received []Received
	reported, _ := inv.ReportedPayments()
	for _, p := range reported {
		switch p.State {
		case PaymentConfirmed, PaymentSeen, PaymentLate:
			received = append(received, Received{Asset: p.Asset, Amount: p.Amount, State: p.State})
		}
	}
	return received
}

// Summary returns the invoice in its short form.
func (inv *Invoice) Summary() Summary {
	return Summary{
		ID: inv.ID, Mode: inv.Mode, Version: inv.Version, Status: inv.State.Status, Exceptions: inv.State.Exceptions,
		Price: inv.Terms.Price, Paid: inv.State.Paid, Due: inv.State.Due, Overpaid: inv.State.Overpaid,
		OrderID: inv.Terms.OrderID, Description: inv.Terms.Description, Reference: inv.Terms.Reference(), Origin: inv.Origin,
		CreatedAt: inv.CreatedAt, ExpiresAt: inv.ExpiresAt(), PaidAt: inv.State.PaidAt, PaidAsset: inv.State.PaidAsset,
		Received: inv.ReceivedAmounts(), Accepted: len(inv.Accepted) > 0, Decided: inv.State.Decided, RefundAsked: inv.State.RefundAsked, PaidCount: inv.PaidCount,
	}
}

// ExportLine returns the invoice as a line of an export.
func (inv *Invoice) ExportLine() ExportLine {
	return ExportLine{
		Summary: inv.Summary(), Note: inv.Terms.Note(), DisableSale: inv.Terms.DisableSale, Tolerance: inv.Terms.Rules.Tolerance,
		PaidTx: inv.State.PaidTx, RefundAddress: inv.RefundAddress, FirstPaidAt: inv.FirstPaidAt,
		AcceptedAt: inv.AcceptedAt, AcceptedBy: inv.AcceptedBy, Sales: inv.Sales,
	}
}

// Has reports whether an exception is raised.
func (s Summary) Has(e Exception) bool { return slices.Contains(s.Exceptions, e) }

// NeedsDecision reports whether received money waits for a decision of the merchant: to accept it, to
// pay it back or to keep it, or whether the shopper waits for a refund, or a refund is in trouble. An underpaid invoice waits for the shopper until it has ended.
func (s Summary) NeedsDecision() bool {
	return State{Status: s.Status, Exceptions: s.Exceptions, Decided: s.Decided, RefundAsked: s.RefundAsked}.needsDecision(s.Accepted)
}

// NeedsDecision reports whether received money waits for a decision of the merchant; see
// Summary.NeedsDecision.
func (inv *Invoice) NeedsDecision() bool {
	return inv.State.needsDecision(len(inv.Accepted) > 0)
}

func (s State) needsDecision(accepted bool) bool {
	if s.RefundAsked || s.Has(RefundInTrouble) {
		return true
	}
	if s.Decided {
		return false
	}
	for _, e := range s.Exceptions {
		switch e {
		case Overpaid, WrongAsset:
			return true
		case Late, Older:
			if !accepted {
				return true
			}
		case Underpaid:
			if !accepted && (s.Status == Expired || s.Status == Declined) {
				return true
			}
		}
	}
	return false
}

// Tally is the number of a merchant's invoices in one mode.
type Tally struct {
	Statuses map[Status]int64
	// Exceptions counts the invoices with an exception by their status. An invoice may have several.
	Exceptions map[Exception]map[Status]int64
	// NeedDecision counts the invoices that wait for a decision of the merchant.
	NeedDecision int64
	// Snoozed counts those of them that are snoozed.
	Snoozed int64
}

// Total returns the number of invoices.
func (t Tally) Total() (n int64) {
	for _, count := range t.Statuses {
		n += count
	}
	return n
}

// Open returns the number of invoices that wait for a decision and are not snoozed.
func (t Tally) Open() int64 { return t.NeedDecision - t.Snoozed }

// NewTally returns a Tally of no invoices.
func NewTally() Tally {
	return Tally{Statuses: map[Status]int64{}, Exceptions: map[Exception]map[Status]int64{}}
}

// Add counts an invoice.
func (t *Tally) Add(s Summary) {
	t.Statuses[s.Status]++
	for _, e := range s.Exceptions {
		t.AddException(e, s.Status, 1)
	}
	if s.NeedsDecision() {
		t.NeedDecision++
	}
}

// AddException counts invoices of a status with an exception.
func (t *Tally) AddException(e Exception, status Status, count int64) {
	if t.Exceptions[e] == nil {
		t.Exceptions[e] = map[Status]int64{}
	}
	t.Exceptions[e][status] += count
}
