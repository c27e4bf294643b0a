package invoice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// RefundNetwork is the actor in the mark Sent of a refund whose payment the network showed before the merchant stated it.
const RefundNetwork = "network"

// RefundPayment is the transfer that pays a refund, as its network shows it. Times are on the invoice's own clock.
type RefundPayment struct {
	ID        string // of the transfer
	FirstSeen time.Time
	Block     *chain.Block // nil while unconfirmed
	// Confirmations count up to Required.
	Confirmations int
	Required      int
}

// Final reports whether the payment has the confirmations that it needs.
func (p *RefundPayment) Final() bool {
	return p != nil && p.Block != nil && p.Confirmations >= p.Required
}

// equal reports whether two payments are in the same state.
func (p *RefundPayment) equal(o *RefundPayment) bool {
	if p == nil || o == nil {
		return p == o
	}
	return p.ID == o.ID && p.Confirmations == o.Confirmations && (p.Block == nil) == (o.Block == nil) && (p.Block == nil || p.Block.Hash == o.Block.Hash)
}

// RefundTrouble is something about the payment of a refund that the merchant has to look at.
type RefundTrouble string

const (
	// RefundWrongAmount means that the transaction that the merchant stated pays another amount to the address.
	RefundWrongAmount RefundTrouble = "wrong_amount"
	// RefundDouble means that two transfers pay the refund.
	RefundDouble RefundTrouble = "double"
	// RefundReplaced means that the transaction that the merchant stated is no longer on the network.
	RefundReplaced RefundTrouble = "replaced"
	// RefundUnproved means that the transaction that the merchant stated failed, pays another refund, or does not itself pay the address:
	// a contract may have paid it.
	RefundUnproved RefundTrouble = "unproved"
)

// RefundTroubles are all troubles.
var RefundTroubles = []RefundTrouble{RefundWrongAmount, RefundDouble, RefundReplaced, RefundUnproved}

// Times for which the address of a refund is watched.
const (
	readyRefundWatch = 365 * 24 * time.Hour // after it was prepared
	sentRefundWatch  = 30 * 24 * time.Hour  // after it was sent
)

// watch sets the time until which the address of the refund is watched, on the real clock.
func (r *Refund) watch(now time.Time) {
	switch {
	case r.Script == "" || r.Network.IsLightning() || r.Network.HidesRecipients():
		r.WatchUntil = time.Time{}
	case !r.Takes():
		if r.WatchUntil.After(now) {
			r.WatchUntil = now
		}
	case r.State == RefundReady:
		r.WatchUntil = now.Add(readyRefundWatch)
	default:
		r.WatchUntil = now.Add(sentRefundWatch)
	}
}

// RecordedRefund is the part of the recorded payment of a refund that a scan needs.
type RecordedRefund struct {
	InvoiceID string
	Script    string
	RefundPayment
}

// RefundSnapshot is a snapshot with the transfers of the network's native coin by the transactions that merchants stated for refunds;
// see chain.CoinReader.
type RefundSnapshot struct {
	chain.Snapshot
	Coins []chain.Transfer
}

// RefundOwners returns the invoices with refunds to a script, or none.
type RefundOwners func(script string) []Owner

// refundObservation is the part of a snapshot that concerns the refunds of an invoice.
type refundObservation struct {
	network   chain.ID
	snapshot  RefundSnapshot
	transfers map[string][]chain.Transfer // by script
	payees    map[string]string           // invoice of each transfer that pays a refund
	// required returns the depth that a payment needs.
	required func(inv *Invoice, r Refund, t chain.Transfer) int
	txID     func(r Refund, tx string) string // as the merchant states it
	rate     func(network chain.ID, asset string) MarketRate
}

// refundRound is a round over the refunds to one script. Every refund has a round before the next one begins, so that a transfer pays the
// refund for which its transaction is stated, and a second payment is found only if it pays no other refund.
type refundRound int

const (
	findStated refundRound = iota // only transactions that merchants stated
	findAll
	findDouble
)

var allRounds = []refundRound{findStated, findAll, findDouble}

// ObserveRefunds records the payments of refunds that a scan of a network shows. Like Observe, it can be repeated. A
// transfer pays one refund.
func (s *Service) ObserveRefunds(ctx context.Context, lease Lease, snapshot RefundSnapshot, owners RefundOwners) error {
	touched, byScript, err := s.touchedRefunds(ctx, lease.Network, snapshot, owners)
	if err != nil || len(touched) == 0 {
		return refundError(lease.Network, err)
	}
	var ids []string
	for _, transfers := range byScript {
		for _, t := range transfers {
			ids = append(ids, t.ID)
		}
	}
	payees, err := s.storage.RefundsPaidBy(ctx, lease.Network, ids)
	if err != nil {
		return refundError(lease.Network, err)
	}
	// The invoices of one script are updated one after the other, so that each of its transfers pays one refund.
	var group errgroup.Group
	group.SetLimit(maxConcurrentUpdates)
	for _, invoices := range touched {
		observation := refundObservation{
			network: lease.Network, snapshot: snapshot, transfers: byScript, required: s.refundDepth, txID: s.refundTxID, rate: s.marketRate,
			payees: maps.Clone(payees), // the groups share no transfer
		}
		rounds := slices.Chunk(allRounds, 1)
		if len(invoices) == 1 {
			rounds = slices.Chunk(allRounds, len(allRounds)) // the invoice is written once
		}
		group.Go(func() error {
			for some := range rounds {
				for _, id := range invoices {
					if err := s.leaveOutUnreadable(ctx, s.observeRefundsOf(ctx, lease, id, observation, some)); err != nil {
						return refundError(lease.Network, fmt.Errorf("invoice %s: %w", id, err))
					}
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// leaveOutUnreadable returns the error of an update, or nil if the invoice cannot be read, which must not stop the scans. The log has
// each such invoice once. An invoice may be removed while its refunds are still watched.
func (s *Service) leaveOutUnreadable(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrNotFound) {
		return nil
	}
	skip, remaining := SkipUnreadable(ctx, s.storage, err, s.now())
	if !skip {
		return remaining
	}
	if remaining != nil {
		s.log.Error("payments of refunds left out", "error", remaining)
	}
	return nil
}

// refundError adds the network to an error of ObserveRefunds.
func refundError(network chain.ID, err error) error {
	if err != nil {
		err = fmt.Errorf("observe refunds on %s: %w", network, err)
	}
	return err
}

// touchedRefunds returns the invoices whose refunds a snapshot may change, in groups that share no transfer, and the
// transfers to addresses of refunds.
func (s *Service) touchedRefunds(ctx context.Context, network chain.ID, snapshot RefundSnapshot, owners RefundOwners) (groups [][]string, byScript map[string][]chain.Transfer, err error) {
	byScript = map[string][]chain.Transfer{}
	for _, t := range slices.Concat(snapshot.Transfers, snapshot.Coins) {
		if len(owners(t.Script)) > 0 && (t.IsCoin() || !t.Amount.IsZero() && !t.IsRise()) {
			byScript[t.Script] = append(byScript[t.Script], t)
		}
	}
	list, err := s.storage.RecordedRefunds(ctx, network, snapshot.From.Height)
	if err != nil {
		return nil, nil, err
	}
	recorded := map[string]RecordedRefund{}
	scripts := map[string]bool{}
	for _, r := range list {
		recorded[r.ID] = r
		isShown := slices.ContainsFunc(byScript[r.Script], func(t chain.Transfer) bool { return t.ID == r.ID })
		if !isShown && len(owners(r.Script)) > 0 && mayBeGone(r.recorded(), snapshot.Snapshot) {
			scripts[r.Script] = true
		}
	}
	for script, transfers := range byScript {
		for _, t := range transfers {
			if r, known := recorded[t.ID]; !known || r.Script != script || changed(r.recorded(), t, snapshot.Snapshot) {
				scripts[script] = true
			}
		}
	}
	return groupOwners(scripts, owners), byScript, nil
}

// recorded returns the payment as a recorded transfer.
func (r RecordedRefund) recorded() Recorded {
	t := Recorded{ID: r.ID, Script: r.Script, FirstSeen: r.FirstSeen, Confirmations: r.Confirmations, Required: r.Required}
	if r.Block != nil {
		t.BlockHash, t.BlockHeight = r.Block.Hash, r.Block.Height
	}
	return t
}

// groupOwners returns the invoices with refunds to some scripts in groups: invoices of one script are in one group, and an
// invoice is in one group.
func groupOwners(scripts map[string]bool, owners RefundOwners) (groups [][]string) {
	for script := range scripts {
		var group []string
		for _, o := range owners(script) {
			group = append(group, o.InvoiceID)
		}
		rest := groups[:0:0]
		for _, other := range groups {
			if slices.ContainsFunc(other, func(id string) bool { return slices.Contains(group, id) }) {
				group = append(group, other...)
				continue
			}
			rest = append(rest, other)
		}
		groups = append(rest, group)
	}
	for i := range groups {
		slices.Sort(groups[i])
		groups[i] = slices.Compact(groups[i])
	}
	return groups
}

// observeRefundsOf records the payments of the refunds of one invoice, and adds them to the payees of the observation.
func (s *Service) observeRefundsOf(ctx context.Context, lease Lease, id string, o refundObservation, rounds []refundRound) error {
	inv, err := s.storage.Invoice(ctx, id)
	if err != nil {
		return err
	}
	if !inv.clone().observeRefunds(o, rounds, s.now()) {
		return nil
	}
	inv, err = s.update(ctx, id, lease, func(inv *Invoice) error {
		inv.observeRefunds(o, rounds, s.now())
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range inv.Refunds {
		if r.Payment != nil && r.Network == lease.Network {
			o.payees[r.Payment.ID] = id
		}
	}
	return nil
}

// refundDepth returns the number of confirmations that the payment of a refund needs: that of a payment of the same value.
func (s *Service) refundDepth(inv *Invoice, r Refund, t chain.Transfer) int {
	a, known := s.KnownAsset(r.Network, r.Asset)
	if !known || len(a.Policy.Depth) == 0 {
		return 1
	}
	cents := int64(1) << 62
	if price, priced := inv.firstPrice(r.Asset); priced {
		cents = wholeCents(euroCents(price, r.Amount))
	}
	return max(confirmations(a.Policy, cents, t.Coinbase), 1)
}

// refundTxID returns the identifier of a transaction as SendRefund stores it.
func (s *Service) refundTxID(r Refund, tx string) string {
	a, _ := s.KnownAsset(r.Network, r.Asset)
	if id, err := readTx(a, r.Address, tx); err == nil {
		return id
	}
	return tx
}

// observeRefunds records the facts of a scan about the payments of refunds, and reports whether it changed one. now is on the
// real clock.
func (inv *Invoice) observeRefunds(o refundObservation, rounds []refundRound, now time.Time) (isChanged bool) {
	for _, round := range rounds {
		for i := range inv.Refunds {
			r := &inv.Refunds[i]
			if r.Network != o.network || r.Script == "" || !r.Takes() || r.State == RefundAsked {
				continue
			}
			before := *r
			if before.Payment != nil {
				payment := *r.Payment
				r.Payment = &payment
			}
			inv.observeRefund(r, o, round, now)
			isChanged = isChanged || !r.equal(before)
		}
	}
	return isChanged
}

// observeRefund records the facts of a scan about the payment of one refund.
func (inv *Invoice) observeRefund(r *Refund, o refundObservation, round refundRound, now time.Time) {
	shown := inv.paymentsOf(r, o)
	if r.Payment != nil && !inv.keepsPayment(r, o, shown) {
		r.losePayment()
	}
	if r.Payment == nil && len(shown) > 0 && (round > findStated || r.Tx != "" && o.txID(*r, shown[0].Tx) == r.Tx) {
		inv.adoptPayment(r, o, shown[0], now)
	}
	if r.Payment == nil {
		if r.Trouble == "" && round == findDouble {
			r.Trouble = r.statedTrouble(o)
		}
		return
	}
	payment := shownAs(shown, r.Payment.ID)
	if payment != nil {
		inv.updatePayment(r.Payment, *payment, o)
	}
	isSecond := func(t chain.Transfer) bool {
		isConflict := payment != nil && slices.ContainsFunc(payment.Spends, func(spent string) bool { return slices.Contains(t.Spends, spent) })
		return t.ID != r.Payment.ID && !isConflict
	}
	if round == findDouble && slices.ContainsFunc(shown, isSecond) {
		r.Trouble = RefundDouble
	}
	if r.State = RefundSent; r.Payment.Final() {
		r.State = RefundConfirmed
	}
}

// losePayment records that the payment of a refund left the network. A refund whose transaction the merchant stated stays sent.
func (r *Refund) losePayment() {
	wasInBlock := r.Payment.Block != nil
	r.Payment = nil
	if r.Sent.By != RefundNetwork {
		r.State, r.Trouble = RefundSent, RefundReplaced
		return
	}
	r.State, r.Tx, r.Sent, r.MarketRate = RefundReady, "", Mark{}, MarketRate{}
	r.endTrouble()
	if wasInBlock {
		r.Trouble = RefundReplaced
	}
}

// paymentsOf returns the transfers that may pay a refund: of its amount, not older than it, and paying no other refund. The first
// one is the payment that is recorded, or the best candidate: the transaction that the merchant stated, then those in blocks.
func (inv *Invoice) paymentsOf(r *Refund, o refundObservation) []chain.Transfer {
	isOther := func(t chain.Transfer) bool {
		paysOther := slices.ContainsFunc(inv.Refunds, func(other Refund) bool {
			return other.ID != r.ID && other.Network == r.Network && other.Payment != nil && other.Payment.ID == t.ID
		})
		isAmount := t.Amount.Equal(r.Amount) || slices.ContainsFunc(r.FormerAmounts, t.Amount.Equal)
		payee, isPaid := o.payees[t.ID]
		isTaken := isPaid && payee != inv.ID
		isUnstated := t.IsCoin() && o.txID(*r, t.Tx) != r.Tx
		return t.Asset != r.Asset || !isAmount || paysOther || isUnstated || isTaken || inv.olderThanRefund(r, t)
	}
	list := slices.DeleteFunc(slices.Clone(o.transfers[r.Script]), isOther)
	rank := func(t chain.Transfer) int {
		switch {
		case r.Payment != nil && t.ID == r.Payment.ID:
			return 0
		case r.Tx != "" && o.txID(*r, t.Tx) == r.Tx:
			return 1
		case t.Block != nil:
			return 2
		}
		return 3
	}
	slices.SortFunc(list, func(a, b chain.Transfer) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.ID, b.ID))
	})
	return list
}

// olderThanRefund reports whether a transfer is older than the refund. The times of blocks are not exact.
func (inv *Invoice) olderThanRefund(r *Refund, t chain.Transfer) bool {
	at, asked := t.FirstSeen, r.Asked.At.Add(-inv.Clock)
	if at.IsZero() && t.Block != nil {
		at = t.Block.Time.Add(clockSkew)
	}
	return !at.IsZero() && at.Before(asked)
}

// keepsPayment reports whether the recorded payment of a refund is still on the network, or whether a snapshot allows no conclusion. A
// payment in a block is gone only if the block left the chain: a source may be behind, or not show a transfer.
func (inv *Invoice) keepsPayment(r *Refund, o refundObservation, shown []chain.Transfer) bool {
	if shownAs(shown, r.Payment.ID) != nil {
		return true
	}
	if b := r.Payment.Block; b != nil {
		hash, known := o.snapshot.Blocks[b.Height]
		return !known || hash == b.Hash
	}
	isReplaced := len(shown) > 0 && shown[0].Block != nil // by another transaction that pays the refund
	timedOut := o.snapshot.Started.Add(inv.Clock).Sub(r.Payment.FirstSeen) > unconfirmedTTL
	return o.snapshot.Unconfirmed != chain.Complete && !timedOut && !isReplaced
}

// shownAs returns the transfer with an ID, or nil.
func shownAs(transfers []chain.Transfer, id string) *chain.Transfer {
	if i := slices.IndexFunc(transfers, func(t chain.Transfer) bool { return t.ID == id }); i >= 0 {
		return &transfers[i]
	}
	return nil
}

// adoptPayment records a transfer as the payment of a refund.
func (inv *Invoice) adoptPayment(r *Refund, o refundObservation, t chain.Transfer, now time.Time) {
	r.Payment = &RefundPayment{ID: t.ID, FirstSeen: cmp.Or(t.FirstSeen, o.snapshot.Started).Add(inv.Clock), Required: o.required(inv, *r, t)}
	if t.FirstSeen.IsZero() && t.Block != nil {
		r.Payment.FirstSeen = t.Block.Time.Add(inv.Clock)
	}
	if r.State == RefundReady {
		r.Sent = Mark{By: RefundNetwork, At: now.Add(inv.Clock)}
	}
	if !t.Amount.Equal(r.Amount) {
		r.setAmount(t.Amount)
	}
	if inv.Mode == Live && r.MarketRate.IsZero() {
		r.MarketRate = o.rate(r.Network, r.Asset)
	}
	r.State, r.Tx = RefundSent, o.txID(*r, t.Tx)
	r.endTrouble()
	r.watch(now)
}

// updatePayment updates the payment of a refund with its present state on the network.
func (inv *Invoice) updatePayment(p *RefundPayment, t chain.Transfer, o refundObservation) {
	if t.Block == nil {
		p.Block, p.Confirmations = nil, 0
		return
	}
	known := 0
	block := inv.onInvoiceClock(*t.Block)
	if p.Block == nil || p.Block.Hash != block.Hash {
		p.Block = &block
	} else {
		known = p.Confirmations
	}
	p.Confirmations = confirmationsAt(o.snapshot.Snapshot, block, known, p.Required)
}

// statedTrouble returns the trouble with the transaction that the merchant stated, if it is shown and pays another amount or nothing
// to the address of the refund.
func (r *Refund) statedTrouble(o refundObservation) (trouble RefundTrouble) {
	for _, t := range o.transfers[r.Script] {
		switch isStated := r.Tx != "" && t.Asset == r.Asset && o.txID(*r, t.Tx) == r.Tx; {
		case !isStated:
		case t.Amount.IsZero(), t.Amount.Equal(r.Amount): // the latter pays another refund
			trouble = RefundUnproved
		default:
			trouble = RefundWrongAmount
		}
	}
	return trouble
}

// keepFormer adds an amount to the former amounts of a refund, which a wallet may still pay.
func (r *Refund) keepFormer(a money.Amount) {
	if !slices.ContainsFunc(r.FormerAmounts, a.Equal) {
		r.FormerAmounts = append(slices.Clip(r.FormerAmounts), a)
	}
}
