package invoice

import (
	"context"
	"errors"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Owner identifies the invoice and the merchant that a destination belongs to.
type Owner struct {
	InvoiceID  string
	MerchantID string
}

// Owners returns the owner of a destination. It returns false if the destination has none.
type Owners func(script string) (Owner, bool)

// observations groups the transfers of a snapshot by invoice. It leaves out invoices for which
// nothing changed.
func (s *Service) observations(ctx context.Context, network chain.ID, snapshot chain.Snapshot, owners Owners) (map[string]Observation, error) {
	list, err := s.storage.RecordedTransfers(ctx, network, snapshot.From.Height)
	if err != nil {
		return nil, err
	}
	recorded := map[string]Recorded{}
	for _, r := range list {
		recorded[r.ID] = r
	}
	folds := snapshotFolds{recorded: recorded, groups: map[string]*foldGroup{}}
	byInvoice := map[string][]chain.Transfer{}
	touched := map[string]bool{}
	shown := map[string]bool{}
	for _, t := range snapshot.Transfers {
		owner, owned := owners(t.Script)
		if !owned || t.Amount.IsZero() { // an empty transfer is never recorded, so it would be new in every scan
			continue
		}
		shown[t.ID] = true
		byInvoice[owner.InvoiceID] = append(byInvoice[owner.InvoiceID], t)
		r, known := recorded[t.ID]
		if !known && folds.add(network, t) {
			continue
		}
		if !known || changed(r, t, snapshot) {
			touched[owner.InvoiceID] = true
		}
	}
	for id, g := range folds.groups {
		shown[id] = true
		if r := recorded[id]; r.Folded != g.count || r.Amount.Cmp(g.sum) != 0 || changed(r, g.transfer, snapshot) {
			touched[r.InvoiceID] = true
		}
	}
	for _, r := range list {
		// A snapshot does not show transfers to a destination that is no longer watched, so nothing
		// follows from their absence.
		if _, owned := owners(r.Script); owned && !shown[r.ID] && mayBeGone(r, snapshot) {
			touched[r.InvoiceID] = true
		}
	}
	if len(touched) == 0 {
		return nil, nil
	}
	required, instant, err := s.requiredDepths(ctx, network, snapshot, owners, recorded)
	if err != nil {
		return nil, err
	}
	byID := map[string]Observation{}
	for id := range touched {
		byID[id] = Observation{Network: network, Snapshot: snapshot, Transfers: byInvoice[id], Required: required, Instant: instant}
	}
	return byID, nil
}

// snapshotFolds adds up the transfers of a snapshot that belong to recorded aggregates.
type snapshotFolds struct {
	recorded map[string]Recorded
	groups   map[string]*foldGroup // by the ID of the aggregate
}

// add reports whether a transfer that is not recorded itself may be part of a
// recorded aggregate, and adds it there.
func (f *snapshotFolds) add(network chain.ID, t chain.Transfer) bool {
	if t.Block == nil {
		return false
	}
	id := foldID(network, t)
	if f.recorded[id].Folded == 0 {
		return false
	}
	g := f.groups[id]
	if g == nil {
		g = &foldGroup{transfer: t, sum: money.Zero(t.Amount.Currency())}
		f.groups[id] = g
	}
	g.sum, g.count = g.sum.Add(t.Amount), g.count+1
	return true
}

// recordOf returns the record of a transfer, or of the aggregate that it may be folded into.
func recordOf(recorded map[string]Recorded, network chain.ID, t chain.Transfer) Recorded {
	r, known := recorded[t.ID]
	if !known && t.Block != nil {
		r = recorded[foldID(network, t)]
	}
	return r
}

// changed reports whether a transfer is in another block or deeper than recorded, firm for the first time, or newly contested or not.
func changed(r Recorded, t chain.Transfer, s chain.Snapshot) bool {
	if t.Block == nil {
		return r.BlockHash != "" || t.Firm && !r.Firm && s.Unconfirmed == chain.Complete || t.Contested != r.Contested
	}
	if r.BlockHash != t.Block.Hash {
		return true
	}
	depth := min(int(s.Tip.Height-t.Block.Height)+1, max(r.Required, 1))
	return depth > r.Confirmations || depth < r.Confirmations && !s.Behind
}

// mayBeGone reports whether the absence of a transfer may change the invoice. Invoice.markMissing decides.
func mayBeGone(r Recorded, s chain.Snapshot) bool {
	if r.BlockHash != "" {
		return s.Covers(r.BlockHeight)
	}
	return s.Unconfirmed == chain.Complete || s.Started.Sub(r.FirstSeen) > unconfirmedTTL ||
		slices.ContainsFunc(s.Conflicts, func(c chain.Conflict) bool { return slices.Contains(r.Spends, c.Outpoint) })
}

// requiredDepths returns the depth that transfers in blocks need, and the unconfirmed transfers that may count without a
// confirmation. If a transaction or a block that pays a
// hundred small invoices is reversed, all these payments are lost together. The depth therefore depends on
// the value in the whole transaction and block that is not final yet, per merchant.
func (s *Service) requiredDepths(ctx context.Context, network chain.ID, snapshot chain.Snapshot, owners Owners, recorded map[string]Recorded) (required map[string]int, instant map[string]bool, err error) {
	var transfers []unfinalTransfer
	invoices := map[string]*Invoice{} // read once each, since an invoice may be paid in many transactions
	unfinal := map[string]*big.Rat{}  // by merchant and transaction or block
	add := func(key string, value *big.Rat) {
		if unfinal[key] == nil {
			unfinal[key] = new(big.Rat)
		}
		unfinal[key].Add(unfinal[key], value)
	}
	for _, t := range snapshot.Transfers {
		owner, owned := owners(t.Script)
		if r := recordOf(recorded, network, t); !owned || t.Amount.IsZero() || t.Block == nil && !t.Firm || r.Required > 0 && r.Confirmations >= r.Required {
			continue
		}
		inv := invoices[owner.InvoiceID]
		if inv == nil {
			inv, err = s.storage.Invoice(ctx, owner.InvoiceID)
			if _, broken := errors.AsType[*UnreadableError](err); broken && t.Block == nil {
				add(owner.MerchantID+" "+t.Tx, unknownValue) // holds back only the transfers of its transaction
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			invoices[owner.InvoiceID] = inv
		}
		m, known := inv.Method(network, t.Asset)
		price, priced := inv.firstPrice(t.Asset)
		if !known || !priced {
			continue
		}
		u := unfinalTransfer{transfer: t, merchant: owner.MerchantID, method: m, invoice: euroCents(price, price.Expected), value: euroCents(price, t.Amount)}
		transfers = append(transfers, u)
		for _, key := range u.keys() {
			add(key, u.value)
		}
	}
	required, instant = map[string]int{}, map[string]bool{}
	for _, u := range transfers {
		maximum := u.invoice
		for _, key := range u.keys() {
			if unfinal[key].Cmp(maximum) > 0 {
				maximum = unfinal[key]
			}
		}
		policy := u.method.Asset.Policy
		if u.transfer.Block == nil {
			instant[u.transfer.ID] = isWithin(maximum, policy.ZeroConfirmationCents)
			continue
		}
		required[u.transfer.ID] = confirmations(policy, wholeCents(maximum), u.transfer.Coinbase)
	}
	return required, instant, nil
}

// unknownValue stands for the value, in euro cents, of a transfer to an invoice that cannot be read. It exceeds every cap.
var unknownValue = big.NewRat(1<<62, 1)

// isWithin reports whether a value in euro cents is at most a cap in whole cents, which is 0 if there is none.
func isWithin(value *big.Rat, maximum int64) bool {
	return maximum > 0 && value.Cmp(big.NewRat(maximum, 1)) <= 0
}

// unfinalTransfer is a transfer whose required depth is computed.
type unfinalTransfer struct {
	transfer chain.Transfer
	merchant string
	method   Method
	invoice  *big.Rat // value of the invoice and of the transfer, in euro cents
	value    *big.Rat
}

// keys returns the keys of the transfer's transaction and of its block, if they are known. Each of them leaves the
// chain as a whole.
func (u unfinalTransfer) keys() (keys []string) {
	if u.transfer.Block != nil {
		keys = append(keys, u.merchant+" "+u.transfer.Block.Hash)
	}
	if u.transfer.Tx != "" {
		keys = append(keys, u.merchant+" "+u.transfer.Tx)
	}
	return keys
}

// euroCents returns the value of an amount at a price, in euro cents.
func euroCents(p Price, amount money.Amount) *big.Rat {
	value := p.EUR.Value(amount)
	return value.Mul(value, big.NewRat(100, 1))
}

// Confirmations returns the depth that a payment of the whole invoice needs by a method.
func (inv *Invoice) Confirmations(m Method) int {
	price, ok := inv.firstPrice(m.Asset.Code)
	if !ok {
		return 0
	}
	cents := euroCents(price, price.Expected)
	return m.Asset.Policy.Confirmations(wholeCents(cents))
}

// wholeCents rounds euro cents down. A value beyond the range of int64 becomes a very large one.
func wholeCents(cents *big.Rat) int64 {
	quotient := new(big.Int).Quo(cents.Num(), cents.Denom())
	if !quotient.IsInt64() {
		return 1 << 62
	}
	return quotient.Int64()
}

// firstPrice returns the price of an asset in the first quote that has it: the value of the whole
// invoice, or of the amount that was due then.
func (inv *Invoice) firstPrice(asset string) (Price, bool) {
	for _, q := range inv.Quotes {
		if p, ok := q.Price(asset); ok {
			return p, true
		}
	}
	return Price{}, false
}

// market returns a function that values amounts of an invoice's methods at current rates.
func (s *Service) market(inv *Invoice) func(asset string, amount money.Amount) *money.Amount {
	fiat, rates := inv.Terms.Price.Currency(), s.rates()
	return func(asset string, amount money.Amount) *money.Amount {
		for _, m := range inv.Methods {
			if m.Asset.Code != asset {
				continue
			}
			rate, err := rates.Rate(m.Asset.Rate, m.Asset.Currency, fiat)
			if err != nil {
				return nil
			}
			value := money.RoundDown(rate.Value(amount), fiat)
			return &value
		}
		return nil
	}
}

// MarketRate is the market price of one coin in euro. The zero value means that none was known.
type MarketRate struct {
	Price  money.Rate
	Source string
	At     time.Time // on the real clock
}

// IsZero reports whether no rate was known.
func (r MarketRate) IsZero() bool { return r.Price.IsZero() }

// marketRate returns the current market rate of an asset of a network.
func (s *Service) marketRate(network chain.ID, asset string) MarketRate {
	a, known := s.KnownAsset(network, asset)
	if !known || a.Rate == "" {
		return MarketRate{}
	}
	rates := s.rates()
	price, err := rates.Rate(a.Rate, a.Currency, money.EUR)
	if err != nil {
		return MarketRate{}
	}
	return MarketRate{price, rates.Source(), s.now()}
}
