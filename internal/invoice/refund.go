package invoice

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Refund is an amount that the merchant pays back from its own wallet. Chequer prepares it and records what the
// merchant states about it. Times are on the invoice's own clock.
type Refund struct {
	ID      string
	Kind    RefundKind
	State   RefundState
	Network chain.ID
	Asset   string // code
	Amount  money.Amount
	// Rate is the price of one coin when Amount was determined, and Source its source; the zero Rate if there was
	// none. Value is the value of Amount in the currency of the invoice; zero without a rate.
	Rate   money.Rate
	Source string
	Value  money.Amount
	// HeldUntil is the end of the time for which Amount is valid, if it was determined from Value; otherwise zero.
	HeldUntil time.Time
	Address   string // empty while it is not known
	Script    string
	AddressBy string // the actor that gave the address; see RefundAddress.By
	// AnsweredAt is when the shopper gave the address, if the prepared refund waited for it; otherwise zero.
	AnsweredAt time.Time
	// EndedQuote is the number of the newest quote if the invoice had ended when the merchant prepared the refund;
	// otherwise 0. No later payment completes the price of that quote.
	EndedQuote int
	Tx         string // the transaction that the merchant stated, or that the network shows
	// Payment is the transfer that pays the refund; nil if the network shows none.
	Payment *RefundPayment
	Trouble RefundTrouble // empty if there is none
	// CheckedTrouble is the trouble that the merchant has looked at, and Checked states the actor and the time. It raises no exception any
	// more; another trouble does.
	CheckedTrouble RefundTrouble
	Checked        Mark
	// MarketRate is the market rate when the refund was paid, for the books; only live refunds have one.
	MarketRate MarketRate
	// FormerAmounts are the amounts before the refund was renewed, which a wallet may still pay.
	FormerAmounts []money.Amount
	// WatchUntil is the time, on the real clock, until which the network is watched for the payment; zero if it is not.
	WatchUntil time.Time
	Reason     string // of the merchant, for the last state

	// Asked, Prepared, Sent and Closed state the actor that moved the refund to a state, and the time. Closed
	// belongs to the states RefundCancelled and RefundDeclined.
	Asked, Prepared, Sent, Closed Mark
}

// Mark records the actor and the time of an action. The zero value means that there was no such action.
type Mark struct {
	By string // the name of an account, the identifier of an API key, "shopper", "command" or "network"
	At time.Time
}

// RefundKind is a kind of amount.
type RefundKind string

const (
	// RefundReceived: the whole received amount of an asset that is not refunded yet.
	RefundReceived RefundKind = "received"
	// RefundSurplus: the amount above the price that is not refunded yet.
	RefundSurplus RefundKind = "surplus"
	// RefundPart: an amount that the merchant chose.
	RefundPart RefundKind = "part"
)

// RefundKinds are all kinds.
var RefundKinds = []RefundKind{RefundReceived, RefundSurplus, RefundPart}

// RefundState is the state of a refund.
type RefundState string

const (
	// RefundAsked means that the shopper asked for the refund, or that the merchant waits for the shopper's address.
	RefundAsked RefundState = "asked"
	// RefundReady means that the merchant can pay.
	RefundReady RefundState = "ready"
	// RefundSent means that the merchant stated a transaction, or that the network shows the payment.
	RefundSent RefundState = "sent"
	// RefundConfirmed means that the network shows the payment with the confirmations that it needs.
	RefundConfirmed RefundState = "confirmed"
	// RefundCancelled means that the merchant withdrew the refund before it was sent.
	RefundCancelled RefundState = "cancelled"
	// RefundDeclined means that the merchant declined the refund that the shopper asked for.
	RefundDeclined RefundState = "declined"
)

// RefundStates are all states.
var RefundStates = []RefundState{RefundAsked, RefundReady, RefundSent, RefundConfirmed, RefundCancelled, RefundDeclined}

// RefundHold is the time for which the amount of a refund in fiat is valid.
const RefundHold = 24 * time.Hour

// RefundOverdueDays is the number of days after which a prepared refund should be sent.
const RefundOverdueDays = 7

// Overdue reports whether the refund was prepared more than RefundOverdueDays before a time and is not sent.
func (r Refund) Overdue(at time.Time) bool {
	return r.State == RefundReady && at.Sub(r.Prepared.At) > RefundOverdueDays*24*time.Hour
}

// Requested reports whether the shopper asked for the refund and the merchant has not answered.
func (r Refund) Requested() bool { return r.State == RefundAsked && r.Asked.By == string(Shopper) }

// Open reports whether the refund was neither sent nor closed.
func (r Refund) Open() bool { return r.State == RefundAsked || r.State == RefundReady }

// Stale reports whether the time for which the amount is valid has ended before the refund was sent.
func (r Refund) Stale(at time.Time) bool {
	return r.Open() && !r.HeldUntil.IsZero() && at.After(r.HeldUntil)
}

// Last returns the mark of the last change of the state.
func (r Refund) Last() Mark {
	switch r.State {
	case RefundReady:
		return r.Prepared
	case RefundSent, RefundConfirmed:
		return r.Sent
	case RefundCancelled, RefundDeclined:
		return r.Closed
	}
	return r.Asked
}

// Pending reports whether the merchant prepared the refund and has not sent it.
func (r Refund) Pending() bool { return r.Open() && !r.Requested() }

// Answered reports whether the merchant has to pay the refund because the shopper gave the address that it waited for.
func (r Refund) Answered() bool {
	return r.State == RefundReady && !r.AnsweredAt.IsZero()
}

// Takes reports whether the refund reduces the amount that can still be refunded. A request of the shopper does not.
func (r Refund) Takes() bool { return r.Paid() || r.Pending() }

// Paid reports whether the refund was sent.
func (r Refund) Paid() bool { return r.State == RefundSent || r.State == RefundConfirmed }

// endTrouble removes the trouble, and what the merchant looked at, because another transaction pays the refund or none does.
func (r *Refund) endTrouble() { r.Trouble, r.CheckedTrouble, r.Checked = "", "", Mark{} }

// InTrouble reports whether the refund has a trouble that the merchant has not looked at.
func (r Refund) InTrouble() bool { return r.Trouble != "" && r.Trouble != r.CheckedTrouble }

// matches reports whether the refund is in the asset of a balance.
func (r Refund) matches(b Balance) bool { return r.Asset == b.Asset && r.Network == b.Network }

// settles reports whether the refund is a final decision about its amount.
func (r Refund) settles() bool { return r.Paid() || r.State == RefundDeclined }

// equal reports whether two states of one refund are the same.
func (r Refund) equal(o Refund) bool {
	return r.State == o.State && r.Tx == o.Tx && r.Address == o.Address && r.HeldUntil.Equal(o.HeldUntil) && r.Amount.Equal(o.Amount) &&
		r.Trouble == o.Trouble && r.Payment.equal(o.Payment)
}

// KeptSurplus is the decision of the merchant to keep a surplus. The zero value means that there is none. It holds
// while the surplus is not larger than Amount.
type KeptSurplus struct {
	Mark
	Amount money.Amount
	Reason string
}

// UndoPeriod is the time for which the merchant can take back the decision to keep a surplus.
const UndoPeriod = 30 * 24 * time.Hour

// MayUndo reports whether the decision can be taken back, at a time on the invoice's own clock.
func (k KeptSurplus) MayUndo(at time.Time) bool { return !k.At.IsZero() && at.Sub(k.At) <= UndoPeriod }

// refund returns the refund with an ID.
func (inv *Invoice) refund(id string) (*Refund, error) {
	i := slices.IndexFunc(inv.Refunds, func(r Refund) bool { return r.ID == id })
	if i < 0 {
		return nil, ErrNoRefund
	}
	return &inv.Refunds[i], nil
}

// Balance holds the amounts of one asset that an invoice received and refunded.
type Balance struct {
	Network  chain.ID
	Asset    string       // code
	Received money.Amount // confirmed
	Taken    money.Amount // by refunds that are sent or open
	Surplus  money.Amount // the confirmed part above the price, whether or not it was refunded
	// Waiting is the part that waits for a decision of the merchant, confirmed or not, whether or not it was
	// refunded. Surplus is not in it.
	Waiting money.Amount
}

// Refundable returns the amount that can still be refunded.
func (b Balance) Refundable() money.Amount { return atLeastZero(b.Received, b.Taken) }

// Excess returns the amount by which refunds exceed the received amount. It is not zero only after a payment left
// its network.
func (b Balance) Excess() money.Amount { return atLeastZero(b.Taken, b.Received) }

// atLeastZero returns a minus b, or zero if that is negative.
func atLeastZero(a, b money.Amount) money.Amount {
	if a.Cmp(b) <= 0 {
		return money.Zero(a.Currency())
	}
	return a.Sub(b)
}

// smaller returns the smaller one of two amounts.
func smaller(a, b money.Amount) money.Amount {
	if b.Cmp(a) < 0 {
		return b
	}
	return a
}

// Balances returns the balances of the assets that the invoice received, in the order in which they were first
// seen, and of those that it refunds although their payments left the network.
func (e *Evaluation) Balances() []Balance { return e.inv.balances(e.ledger, e.state) }

// Balance returns the balance of an asset. It returns false if nothing was received or refunded in it.
func (e *Evaluation) Balance(asset string) (Balance, bool) { return findBalance(e.Balances(), asset) }

func findBalance(all []Balance, asset string) (Balance, bool) {
	i := slices.IndexFunc(all, func(b Balance) bool { return b.Asset == asset })
	if i < 0 {
		return Balance{}, false
	}
	return all[i], true
}

func (inv *Invoice) balances(l ledger, s State) []Balance {
	entries := slices.DeleteFunc(slices.Clone(l.entries), func(e entry) bool { return !inv.isReceived(e) })
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(a.transfer.FirstSeen.Compare(b.transfer.FirstSeen), cmp.Compare(a.transfer.ID, b.transfer.ID))
	})
	var list []Balance
	balance := func(network chain.ID, asset string, c money.Currency) *Balance {
		i := slices.IndexFunc(list, func(b Balance) bool { return b.Asset == asset && b.Network == network })
		if i < 0 {
			zero := money.Zero(c)
			list = append(list, Balance{Network: network, Asset: asset, Received: zero, Taken: zero, Surplus: zero, Waiting: zero})
			i = len(list) - 1
		}
		return &list[i]
	}
	for _, e := range entries {
		t := e.transfer
		b := balance(t.Network, t.Asset, t.Amount.Currency())
		if t.Final() {
			b.Received = b.Received.Add(t.Amount)
		}
		b.Waiting = b.Waiting.Add(inv.waitingPart(e, l, s))
	}
	for _, r := range inv.Refunds {
		if r.Takes() {
			b := balance(r.Network, r.Asset, r.Amount.Currency()) // a new balance if the payments left the network
			b.Taken = b.Taken.Add(r.Amount)
		}
	}
	if s.Has(Overpaid) && !isEnded(s.Status) {
		inv.addSurplus(list, entries, l)
	}
	return list
}

// isReceived reports whether the merchant has the money of an entry: it is present, and neither dust nor gas.
func (inv *Invoice) isReceived(e entry) bool {
	switch inv.paymentState(e, false) {
	case PaymentDust, PaymentReplaced, PaymentReorged:
		return false
	}
	return !e.gas && e.transfer.Presence == Present && !e.transfer.Amount.IsZero()
}

// countsRefunded reports whether refunds of a sum take confirmed money of an asset that counts towards the price.
func countsRefunded(l ledger, b Balance, taken money.Amount) bool {
	rest := b.Received
	for _, e := range l.entries {
		if t := e.transfer; e.counted != nil && t.Final() && t.Asset == b.Asset && t.Network == b.Network {
			rest = atLeastZero(rest, money.FromMinor(e.counted, t.Amount.Currency()))
		}
	}
	return taken.Cmp(rest) > 0
}

// MayRefund reports whether a part of a balance can be refunded now. Money that counts for an invoice that is not paid
// yet cannot.
func (e *Evaluation) MayRefund(b Balance) bool {
	unit := money.FromMinor(big.NewInt(1), b.Received.Currency())
	return !b.Refundable().IsZero() && !(isOpen(e.state.Status) && countsRefunded(e.ledger, b, b.Taken.Add(unit)))
}

// refundsPrice reports whether refunds take money that counts towards the price.
func (inv *Invoice) refundsPrice(l ledger, s State) bool {
	return len(inv.Refunds) > 0 && slices.ContainsFunc(inv.balances(l, s), func(b Balance) bool { return countsRefunded(l, b, b.Taken) })
}

// refundsEverything reports whether refunds take all money that the invoice has received.
func (inv *Invoice) refundsEverything(l ledger) bool {
	return slices.ContainsFunc(inv.Refunds, Refund.Takes) &&
		!slices.ContainsFunc(inv.balances(l, inv.State), func(b Balance) bool { return !b.Refundable().IsZero() })
}

// closedByRefund reports whether the merchant prepared a refund after the end of the newest quote. All money that is
// found on the network after that waits for a decision of the merchant. See SETTLEMENT, section 4.
func (inv *Invoice) closedByRefund() bool {
	newest := inv.Quote().Number
	return slices.ContainsFunc(inv.Refunds, func(r Refund) bool { return r.Takes() && r.EndedQuote == newest })
}

// refundedBefore reports whether the merchant prepared a refund after the end of the newest quote and before a time.
func (inv *Invoice) refundedBefore(at time.Time) bool {
	newest := inv.Quote().Number
	return slices.ContainsFunc(inv.Refunds, func(r Refund) bool { return r.Takes() && r.EndedQuote == newest && r.Asked.At.Before(at) })
}

// asksRefund reports whether the shopper waits for the merchant: for the answer to a request, or for the payment of a
// refund whose address the shopper gave.
func (inv *Invoice) asksRefund(l ledger, s State) bool {
	if len(inv.Refunds) == 0 {
		return false
	}
	balances := inv.balances(l, s)
	return slices.ContainsFunc(inv.Refunds, func(r Refund) bool {
		b, known := findBalance(balances, r.Asset)
		return r.Answered() || r.Requested() && known && !inv.undecided(b, s).IsZero()
	})
}

// isOpen reports whether further payments may complete the price of an invoice with a status.
func isOpen(s Status) bool { return s == Created || s == Pending }

// isEnded reports whether an invoice with a status takes no payment without a decision.
func isEnded(s Status) bool { return s == Expired || s == Declined }

// waitingPart returns the part of an entry that waits for a decision: the part that does not count while the invoice
// can be paid, and the whole transfer afterwards.
func (inv *Invoice) waitingPart(e entry, l ledger, s State) money.Amount {
	t := e.transfer
	switch {
	case l.accepted && e.accepted:
		return money.Zero(t.Amount.Currency())
	case isEnded(s.Status) || e.counted == nil:
		return t.Amount
	}
	return atLeastZero(t.Amount, money.FromMinor(e.counted, t.Amount.Currency()))
}

// addSurplus adds the confirmed value above the price to the balances of the assets that were paid last.
func (inv *Invoice) addSurplus(list []Balance, entries []entry, l ledger) {
	excess := new(big.Rat).Sub(l.received(true), minor(inv.Terms.Price))
	for _, e := range slices.Backward(entries) {
		value, units := e.receivedValue(), e.counted
		if l.accepted && e.accepted {
			units = e.transfer.Amount.Minor()
		}
		if excess.Sign() <= 0 || !e.transfer.Final() || units == nil || value.Sign() <= 0 {
			continue
		}
		share := new(big.Rat).Quo(excess, value)
		if share.Cmp(big.NewRat(1, 1)) > 0 {
			share.SetInt64(1)
		}
		excess.Sub(excess, value)
		share.Mul(share, new(big.Rat).SetInt(units))
		whole := new(big.Int).Quo(share.Num(), share.Denom())
		i := slices.IndexFunc(list, func(b Balance) bool { return b.Asset == e.transfer.Asset && b.Network == e.transfer.Network })
		list[i].Surplus = list[i].Surplus.Add(money.FromMinor(whole, e.transfer.Amount.Currency()))
	}
}

// settled returns the sums of the refunds of an asset that were sent or declined: of all, and of those that may
// concern a surplus.
func (inv *Invoice) settled(b Balance) (all, surplus money.Amount) {
	all, surplus = money.Zero(b.Received.Currency()), money.Zero(b.Received.Currency())
	for _, r := range inv.Refunds {
		if !r.settles() || !r.matches(b) {
			continue
		}
		all = all.Add(r.Amount)
		if r.Kind != RefundPart {
			surplus = surplus.Add(r.Amount)
		}
	}
	return all, surplus
}

// keeps reports whether the merchant keeps the surplus of a state.
func (inv *Invoice) keeps(s State) bool {
	return !inv.Kept.At.IsZero() && inv.Kept.Amount.Cmp(s.Overpaid) >= 0
}

// undecided returns the part of a balance about which the merchant has not decided.
func (inv *Invoice) undecided(b Balance, s State) money.Amount {
	all, surplus := inv.settled(b)
	if inv.keeps(s) {
		return atLeastZero(b.Waiting, all)
	}
	rest := atLeastZero(b.Waiting.Add(b.Surplus), all)
	open := atLeastZero(b.Surplus, surplus) // a RefundPart may return money that counts, so it does not reduce the surplus
	if inv.refundedAll(b) {
		open = smaller(b.Surplus, atLeastZero(b.Received, all))
	}
	if open.Cmp(rest) > 0 {
		return open
	}
	return rest
}

// refundedAll reports whether the whole amount that had been received of an asset at some time was refunded. Money
// that the invoice received later is surplus.
func (inv *Invoice) refundedAll(b Balance) bool {
	return slices.ContainsFunc(inv.Refunds, func(r Refund) bool {
		return r.Paid() && r.Kind == RefundReceived && r.matches(b)
	})
}

// decided reports whether the merchant has decided about all money that waits; see State.
func (inv *Invoice) decided(l ledger, s State) bool {
	if len(inv.Refunds) == 0 && inv.Kept.At.IsZero() {
		return false
	}
	return !slices.ContainsFunc(inv.balances(l, s), func(b Balance) bool { return !inv.undecided(b, s).IsZero() })
}
