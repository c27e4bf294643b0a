package invoice

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// RefundDraft describes a new refund.
type RefundDraft struct {
	Kind  RefundKind
	Asset string // code
	// Amount or Fiat is the amount of a RefundPart; the other one is zero. Fiat, in the currency of the invoice, is
	// converted at the current rate.
	Amount money.Amount
	Fiat   money.Amount
	// Address is an address that a person typed; "" means the shopper's, without which the refund waits for it.
	Address string
	By      string
	// Again allows a second refund of the same kind and amount.
	Again bool
	// RepeatTime is for callers that repeat requests without an idempotency key: if By prepared an equal refund within
	// this time, CreateRefund returns it and prepares no other. Zero means that no request is a repeated one.
	RepeatTime time.Duration
	Seen       int64 // as in Cancel
}

// CreateRefund prepares a refund. If the shopper asked for a refund in the asset, the request becomes this refund. If the
// shopper gave a payment request that has ended, that asks for another amount, or that pays another refund, the refund waits for
// another address.
// The errors are ErrNotFound, ErrStale, ErrNothingReceived, ErrRefundAsset, ErrNoSurplus, ErrOverRefund,
// ErrRefundExists, ErrTooLittle, ErrNoRate, ErrState while the money counts for an invoice that is not paid yet,
// and for the address those of SetRefundAddress.
func (s *Service) CreateRefund(ctx context.Context, id string, d RefundDraft) (*Invoice, Refund, error) {
	before, err := s.storage.Invoice(ctx, id)
	if err != nil {
		return nil, Refund{}, err
	}
	to, err := s.destinationOf(ctx, before, d)
	if err != nil {
		return nil, Refund{}, err
	}
	ref, rates := s.newRefundID(), s.rates()
	var made Refund
	inv, err := s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		if inv.changedSince(d.Seen) || inv.RefundAddress != before.RefundAddress {
			return ErrStale
		}
		b, received := inv.Evaluation().Balance(d.Asset)
		if !received {
			return ErrRefundAsset
		}
		r := s.newRefund(inv, b, rates)
		now := s.now().Add(inv.Clock)
		r.ID, r.Kind, r.Asked = ref, d.Kind, Mark{d.By, now}
		if i := inv.repeatedRefund(r, d, now); i >= 0 {
			made = inv.Refunds[i]
			return nil
		}
		if err := inv.setRefundAmount(&r, b, d, now); err != nil {
			return err
		}
		switch refundable := b.Refundable(); {
		case len(inv.Refunds) >= maxRefunds:
			return ErrState
		case b.Received.IsZero() && b.Taken.IsZero():
			return ErrNothingReceived // nothing is confirmed
		case !d.Again && slices.ContainsFunc(inv.Refunds, r.repeats):
			return ErrRefundExists
		case r.Amount.Cmp(refundable) > 0, refundable.IsZero():
			return ErrOverRefund
		case isOpen(inv.State.Status) && countsRefunded(inv.ledger(), b, b.Taken.Add(r.Amount)):
			return ErrState // the rest of the price could still be paid: cancel the invoice first
		case s.isTooLittle(b, r.Amount):
			return ErrTooLittle
		}
		if err := s.checkPayable(inv, r, to.Address); err != nil && d.Address != "" {
			return err
		} else if err != nil {
			to = chain.Destination{} // the shopper gives another address
		}
		if isEnded(inv.State.Status) {
			r.EndedQuote = inv.Quote().Number
		}
		if r.State = RefundAsked; to.Address != "" {
			r.State, r.Prepared = RefundReady, r.Asked
			r.Address, r.Script, r.AddressBy = to.Address, to.Script, d.By
			if d.Address == "" {
				r.AddressBy = inv.RefundAddress.By
			}
		}
		s.addRefund(inv, &r)
		made = r
		return nil
	})
	return inv, made, err
}

// isTooLittle reports whether the network of a balance cannot transfer an amount of its asset.
func (s *Service) isTooLittle(b Balance, amount money.Amount) bool {
	a, known := s.KnownAsset(b.Network, b.Asset)
	return amount.IsZero() || known && amount.Cmp(a.Dust) < 0
}

// maxRefunds bounds the size of an invoice.
const maxRefunds = 100

// repeats reports whether a refund exists that takes the same amount for the same reason.
func (r Refund) repeats(o Refund) bool {
	return o.Takes() && o.Kind == r.Kind && o.Asset == r.Asset && o.Network == r.Network && o.Amount.Equal(r.Amount)
}

// repeatedRefund returns the index of the refund that a draft repeats, or -1; see RefundDraft.RepeatTime. r is a refund with the
// kind and the asset of the draft.
func (inv *Invoice) repeatedRefund(r Refund, d RefundDraft, now time.Time) int {
	return slices.IndexFunc(inv.Refunds, func(o Refund) bool {
		isRecent := func(m Mark) bool { return m.By == d.By && now.Sub(m.At) < d.RepeatTime }
		if !o.Takes() || o.Kind != r.Kind || o.Asset != r.Asset || o.Network != r.Network || !isRecent(o.Asked) && !isRecent(o.Prepared) {
			return false
		}
		switch {
		case d.Kind != RefundPart:
			return true
		case !d.Fiat.IsZero():
			return !o.HeldUntil.IsZero() && o.Value.Equal(d.Fiat)
		}
		return o.HeldUntil.IsZero() && o.Amount.Equal(d.Amount)
	})
}

// addRefund adds a refund to an invoice. It takes the place of the shopper's request in the same asset, and its
// ID. A refund without an address gets that of the request, unless it is a payment request that cannot pay the refund.
func (s *Service) addRefund(inv *Invoice, r *Refund) {
	i := inv.requestIn(Balance{Network: r.Network, Asset: r.Asset})
	if i < 0 {
		inv.Refunds = append(inv.Refunds, *r)
		return
	}
	request := inv.Refunds[i]
	if r.State == RefundAsked && s.checkPayable(inv, *r, request.Address) == nil {
		r.State, r.Prepared = RefundReady, r.Asked
		r.Address, r.Script, r.AddressBy = request.Address, request.Script, request.AddressBy
	}
	if r.ID = request.ID; r.State == RefundReady { // otherwise it waits for another address, and is no request any more
		r.Asked = request.Asked
	}
	inv.Refunds[i] = *r
}

// requestIn returns the index of the shopper's request in the asset of a balance, or -1.
func (inv *Invoice) requestIn(b Balance) int {
	return slices.IndexFunc(inv.Refunds, func(r Refund) bool { return r.Requested() && r.matches(b) })
}

// destinationOf returns the destination of a draft; the zero Destination if there is no address yet.
func (s *Service) destinationOf(ctx context.Context, inv *Invoice, d RefundDraft) (chain.Destination, error) {
	text := d.Address
	if text == "" && inv.RefundAddress.Asset == d.Asset {
		text = inv.RefundAddress.Address
	}
	if text == "" {
		return chain.Destination{}, nil
	}
	return s.parseRefundAddress(ctx, inv, d.Asset, text)
}

// newRefund returns a refund in the asset of a balance, with the current rate.
func (s *Service) newRefund(inv *Invoice, b Balance, rates Rates) Refund {
	fiat := inv.Terms.Price.Currency()
	r := Refund{Kind: RefundReceived, Network: b.Network, Asset: b.Asset, Amount: money.Zero(b.Received.Currency()), Value: money.Zero(fiat)}
	if a, known := s.KnownAsset(b.Network, b.Asset); known && a.Rate != "" {
		if rate, err := rates.Rate(a.Rate, a.Currency, fiat); err == nil {
			r.Rate, r.Source = rate, rates.Source()
		}
	}
	return r
}

// setAmount sets the amount, and its value at the rate. A value that is too large to be stored counts as not known.
func (r *Refund) setAmount(a money.Amount) {
	r.Amount = a
	if r.Rate.IsZero() {
		return
	}
	if r.Value = money.RoundDown(r.Rate.Value(a), r.Value.Currency()); !r.Value.HasCents() {
		r.Rate, r.Source, r.Value = money.Rate{}, "", money.Zero(r.Value.Currency())
	}
}

// setFiat sets the value, and the amount that it is worth at the rate, which holds for a time. It returns ErrNoRate
// if there is no rate, and ErrOverRefund if the value is too large to be stored.
func (r *Refund) setFiat(value money.Amount, now time.Time) error {
	switch {
	case r.Rate.IsZero():
		return ErrNoRate
	case !value.HasCents():
		return ErrOverRefund
	}
	r.Value, r.Amount, r.HeldUntil = value, r.Rate.Convert(value), now.Add(RefundHold)
	return nil
}

// setRefundAmount sets the amount of a new refund.
func (inv *Invoice) setRefundAmount(r *Refund, b Balance, d RefundDraft, now time.Time) error {
	switch {
	case d.Kind == RefundReceived:
		r.setAmount(b.Refundable())
	case d.Kind == RefundSurplus:
		if r.setAmount(inv.openSurplus(b)); r.Amount.IsZero() {
			return ErrNoSurplus
		}
	case !d.Fiat.IsZero():
		return r.setFiat(d.Fiat, now)
	case !d.Amount.IsZero():
		r.setAmount(d.Amount)
	}
	return nil
}

// openSurplus returns the part of the surplus of a balance for which there is no refund.
func (inv *Invoice) openSurplus(b Balance) money.Amount {
	if inv.refundedAll(b) {
		return smaller(b.Surplus, b.Refundable())
	}
	rest := b.Surplus
	for _, r := range inv.Refunds {
		if r.Kind != RefundPart && r.matches(b) && (r.Takes() || r.settles()) {
			rest = atLeastZero(rest, r.Amount)
		}
	}
	return rest
}

// OpenSurplus returns the part of the surplus of a balance for which there is no refund.
func (e *Evaluation) OpenSurplus(b Balance) money.Amount { return e.inv.openSurplus(b) }

// RenewRefund determines, at the current rate, a new amount of a refund whose amount in fiat was held for a
// time. The errors are ErrNotFound, ErrNoRefund, ErrStale, ErrState, ErrNoRate, ErrOverRefund, ErrTooLittle and
// ErrRequestAmount.
func (s *Service) RenewRefund(ctx context.Context, id, ref, by string, seen int64) (*Invoice, error) {
	rates := s.rates()
	return s.updateRefund(ctx, id, ref, seen, func(inv *Invoice, r *Refund, now time.Time) error {
		b, received := inv.Evaluation().Balance(r.Asset)
		if !r.Open() || r.HeldUntil.IsZero() || !received {
			return ErrState
		}
		renewed := s.newRefund(inv, b, rates)
		renewed.ID = r.ID
		if err := renewed.setFiat(r.Value, now); err != nil {
			return err
		}
		if renewed.Amount.Cmp(b.Refundable().Add(r.Amount)) > 0 || !b.Excess().IsZero() {
			return ErrOverRefund
		}
		if s.isTooLittle(b, renewed.Amount) {
			return ErrTooLittle
		}
		if s.checkPayable(inv, renewed, r.Address) != nil {
			return ErrRequestAmount
		}
		r.keepFormer(r.Amount)
		r.Amount, r.Rate, r.Source, r.HeldUntil = renewed.Amount, renewed.Rate, renewed.Source, renewed.HeldUntil
		r.Prepared = Mark{by, now}
		return nil
	})
}

// SendRefund records the transaction with which the merchant paid a refund, or corrects it. The transaction of a Lightning
// payment is its payment hash; for a payment request, its preimage counts too. The errors are ErrNotFound, ErrNoRefund,
// ErrStale, ErrState, ErrTransaction, ErrPaymentHash, ErrOwnTransaction and ErrUsedTransaction.
func (s *Service) SendRefund(ctx context.Context, id, ref, tx, by string, seen int64) (*Invoice, error) {
	return s.updateRefund(ctx, id, ref, seen, func(inv *Invoice, r *Refund, now time.Time) error {
		if r.State != RefundReady && r.State != RefundSent {
			return ErrState
		}
		a, _ := s.KnownAsset(r.Network, r.Asset)
		id, err := readTx(a, r.Address, tx)
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(inv.Transfers, func(t Transfer) bool { return t.Tx == id || "0x"+t.Tx == id }):
			return ErrOwnTransaction
		case r.State == RefundSent && r.Tx == id:
			return nil
		}
		if inv.Mode == Live && r.MarketRate.IsZero() {
			r.MarketRate = s.marketRate(r.Network, r.Asset)
		}
		r.State, r.Tx, r.Sent, r.Payment = RefundSent, id, Mark{by, now}, nil
		r.endTrouble()
		return nil
	})
}

// hex64 matches the identifier of a transaction without a prefix.
var hex64 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// readTx returns the identifier of a transaction of an asset to an address, as the network writes it. It returns
// ErrTransaction or ErrPaymentHash if the text has another form, or is not of the payment request that the address is.
func readTx(a chain.Asset, address, text string) (string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	digits, prefixed := strings.CutPrefix(text, "0x")
	fault := ErrTransaction
	if a.SentOverLightning(address) {
		fault = ErrPaymentHash
	}
	switch isEVM := a.Scheme == "ethereum"; {
	case !hex64.MatchString(digits), prefixed && !isEVM:
		return "", fault
	case isEVM:
		return "0x" + digits, nil
	}
	to, _, err := chain.ReadRequest(address)
	if err != nil || to.Script == digits {
		return digits, nil // no payment request names the payment hash
	}
	preimage, _ := hex.DecodeString(digits)
	if hash := sha256.Sum256(preimage); hex.EncodeToString(hash[:]) == to.Script {
		return to.Script, nil // the preimage is not stored
	}
	return "", ErrPaymentHash
}

// CancelRefund withdraws a refund that was not sent. The errors are ErrNotFound, ErrNoRefund, ErrStale and ErrState.
func (s *Service) CancelRefund(ctx context.Context, id, ref, by, reason string, seen int64) (*Invoice, error) {
	return s.updateRefund(ctx, id, ref, seen, func(_ *Invoice, r *Refund, now time.Time) error {
		if !r.Pending() {
			return ErrState
		}
		r.State, r.Closed, r.Reason = RefundCancelled, Mark{by, now}, reason
		return nil
	})
}

// CheckRefund records that the merchant has looked at the trouble of a refund, which then raises no exception any more. The errors are
// ErrNotFound, ErrNoRefund, ErrStale, and ErrState if there is no trouble to look at.
func (s *Service) CheckRefund(ctx context.Context, id, ref, by string, seen int64) (*Invoice, error) {
	return s.updateRefund(ctx, id, ref, seen, func(_ *Invoice, r *Refund, now time.Time) error {
		if !r.InTrouble() {
			return ErrState
		}
		r.CheckedTrouble, r.Checked = r.Trouble, Mark{by, now}
		return nil
	})
}

// updateRefund changes a refund of an invoice.
func (s *Service) updateRefund(ctx context.Context, id, ref string, seen int64, change func(*Invoice, *Refund, time.Time) error) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		r, err := inv.refund(ref)
		switch {
		case err != nil:
			return err
		case inv.changedSince(seen):
			return ErrStale
		}
		return change(inv, r, s.now().Add(inv.Clock))
	})
}

// DeclineRefund declines the refund that the shopper asked for by giving an address. It returns ErrState if the
// shopper asked for none, or if nothing waits for a decision. seen is as in Cancel.
func (s *Service) DeclineRefund(ctx context.Context, id, by, reason string, seen int64) (*Invoice, error) {
	ref, rates := s.newRefundID(), s.rates()
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		if inv.changedSince(seen) {
			return ErrStale
		}
		b, ok := inv.Evaluation().Declinable()
		if !ok {
			return ErrState
		}
		r := s.newRefund(inv, b, rates)
		now := s.now().Add(inv.Clock)
		r.ID, r.Asked, r.Address, r.AddressBy = ref, Mark{string(Shopper), now}, inv.RefundAddress.Address, inv.RefundAddress.By
		i := inv.requestIn(b)
		if i >= 0 {
			r = inv.Refunds[i]
		}
		r.setAmount(inv.undecided(b, inv.State))
		r.State, r.Closed, r.Reason = RefundDeclined, Mark{by, now}, reason
		if i < 0 {
			inv.Refunds = append(inv.Refunds, r)
			return nil
		}
		inv.Refunds[i] = r
		return nil
	})
}

// Declinable returns the balance whose refund the shopper asked for and the merchant may decline. It returns false
// if there is none: the shopper asked for no refund, the merchant has decided, or a refund is prepared.
func (e *Evaluation) Declinable() (Balance, bool) {
	inv := e.inv
	b, ok := e.Balance(inv.RefundAddress.Asset)
	prepared := slices.ContainsFunc(inv.Refunds, Refund.Pending)
	return b, ok && !prepared && !inv.undecided(b, e.state).IsZero()
}

// Undecided returns the part of a balance about which the merchant has not decided.
func (e *Evaluation) Undecided(b Balance) money.Amount { return e.inv.undecided(b, e.state) }

// KeepSurplus records that the merchant keeps the surplus. It returns ErrNoSurplus if none waits for a decision.
// seen is as in Cancel.
func (s *Service) KeepSurplus(ctx context.Context, id, by, reason string, seen int64) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		switch {
		case inv.changedSince(seen):
			return ErrStale
		case !inv.Evaluation().MayKeep():
			return ErrNoSurplus
		}
		inv.Kept = KeptSurplus{Mark: Mark{by, s.now().Add(inv.Clock)}, Amount: inv.State.Overpaid, Reason: reason}
		return nil
	})
}

// MayKeep reports whether a surplus waits for a decision and no refund of it is prepared.
func (e *Evaluation) MayKeep() bool {
	inv := e.inv
	if !e.state.Has(Overpaid) || isEnded(e.state.Status) || inv.keeps(e.state) {
		return false
	}
	return slices.ContainsFunc(e.Balances(), func(b Balance) bool { return !inv.openSurplus(b).IsZero() })
}

// ReleaseSurplus takes back the decision to keep a surplus. It returns ErrState if there is none, or after
// UndoPeriod. seen is as in Cancel.
func (s *Service) ReleaseSurplus(ctx context.Context, id string, seen int64) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		switch {
		case inv.changedSince(seen):
			return ErrStale
		case !inv.Kept.MayUndo(s.now().Add(inv.Clock)):
			return ErrState
		}
		inv.Kept = KeptSurplus{}
		return nil
	})
}

// newRefundID returns a new identifier of a refund.
func (s *Service) newRefundID() string { return "ref_" + s.newID() }

// RefundFilter selects the refunds of a list. An empty State selects every state, an empty ID every refund.
type RefundFilter struct {
	MerchantID string
	Mode       Mode
	State      RefundState
	ID         string
}

// ListedRefund is a refund with its invoice.
type ListedRefund struct {
	Refund
	InvoiceID string
	OrderID   string
}

// Position returns the position of the refund in the list, which is sorted from the newest to the oldest.
func (l ListedRefund) Position() Position { return Position{CreatedAt: l.Asked.At, ID: l.ID} }

// Refunds lists at most limit refunds after a position. The zero position is the start of the list.
func (s *Service) Refunds(ctx context.Context, f RefundFilter, after Position, limit int) ([]ListedRefund, error) {
	return s.storage.Refunds(ctx, f, after, limit)
}

// Refund returns the refund of a merchant with an ID, and its invoice, or ErrNoRefund.
func (s *Service) Refund(ctx context.Context, merchantID, ref string) (*Invoice, Refund, error) {
	for _, mode := range []Mode{Live, Test} {
		found, err := s.storage.Refunds(ctx, RefundFilter{MerchantID: merchantID, Mode: mode, ID: ref}, Position{}, 1)
		if err != nil {
			return nil, Refund{}, err
		}
		if len(found) == 0 {
			continue
		}
		inv, err := s.storage.Invoice(ctx, found[0].InvoiceID)
		if err != nil {
			return nil, Refund{}, err
		}
		r, err := inv.refund(ref)
		if err != nil {
			return nil, Refund{}, err
		}
		return inv, *r, nil
	}
	return nil, Refund{}, ErrNoRefund
}
