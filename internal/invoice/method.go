package invoice

import (
	"math/big"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Method is one way to pay: an asset and its destination.
type Method struct {
	Asset chain.Asset
	// Destination is zero if the asset is Requested; see Quote.Requests.
	Destination chain.Destination
	Index       uint32 // of the destination under its wallet's key
	// Birth is the network's tip when the invoice was made: money at or below it is older than the
	// invoice and never counts. Zero if no tip was known.
	Birth chain.Cursor
	// Forked is true if the birth block left the chain and Birth is a block below the fork, so that
	// the times of the blocks above must be checked, too.
	Forked bool
	// Watched is false if the network was not watched at creation.
	Watched bool
}

// OtherNetwork is a network that the invoice does not offer, but where the merchant owns the same
// destination, as on all EVM networks. Money that is sent there by mistake is detected. The expiry
// of the invoice does not depend on such a network.
type OtherNetwork struct {
	Network chain.ID
	Script  string
	Index   uint32
}

// Quote is one frozen set of prices for the amount that was due when it was made.
type Quote struct {
	Number int
	From   time.Time
	Until  time.Time
	Due    money.Amount // fiat
	Prices []Price
	// Requests are the payment requests that were made under the quote, oldest first.
	Requests []PaymentRequest
	Source   string // source of the rates
	// Evidence is the name of the evidence of the rates, see Service.Evidence; "" for fixed rates.
	Evidence string
}

// Price is the price of one method under a quote.
type Price struct {
	Asset    string
	Expected money.Amount
	EUR      money.Rate
	USD      money.Rate
	Other    money.Rate // in the invoice's currency; zero if that is euro or dollar
}

// Rate returns the rate in fiat, which is euro, dollar or the invoice's currency.
func (p Price) Rate(fiat money.Currency) money.Rate {
	switch fiat {
	case money.EUR:
		return p.EUR
	case money.USD:
		return p.USD
	}
	return p.Other
}

// Price returns the price of an asset.
func (q Quote) Price(asset string) (Price, bool) {
	for _, p := range q.Prices {
		if p.Asset == asset {
			return p, true
		}
	}
	return Price{}, false
}

// Remaining returns the amount still to be sent by a method: the share of its expected amount that is not
// counted yet, rounded up like the amount itself, and at least the network's dust limit. It is zero
// if nothing is due.
func (inv *Invoice) Remaining(m Method) money.Amount {
	return inv.remaining(m, inv.ledger())
}

// shownDecimals is the largest number of decimals of an offered amount.
const shownDecimals = 8

// remaining is Remaining with a ledger that is computed already.
func (inv *Invoice) remaining(m Method, l ledger) money.Amount {
	price, offered := inv.Quote().Price(m.Asset.Code)
	if !offered || inv.State.Due.IsZero() {
		return money.Zero(m.Asset.Currency)
	}
	due := new(big.Rat).Sub(minor(inv.Terms.Price), l.sum(false))
	rest := price.Expected.Scale(due.Quo(due, minor(inv.Quote().Due)), shownDecimals)
	if rest.Cmp(m.Asset.Dust) < 0 {
		return m.Asset.Dust
	}
	return rest
}

// maxPredicted is the largest number of outstanding predictions for a counter.
const maxPredicted = 64

// indexPredictor predicts, for each counter, the index that the next creation will get. The zero value is
// ready to use.
type indexPredictor struct {
	mu   sync.Mutex
	next map[string]uint32
}

// predict returns the predicted index of the next creation.
func (p *indexPredictor) predict(counter string) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = map[string]uint32{}
	}
	index := p.next[counter]
	p.next[counter] = index + 1
	return index
}

// correct corrects the prediction with an index that was allocated.
func (p *indexPredictor) correct(counter string, index uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if next := p.next[counter]; next <= index || next > index+maxPredicted {
		p.next[counter] = index + 1
	}
}

// prederive derives the destinations that a creation will probably need, before the transaction that
// allocates their indexes. Networks cache destinations, so the transaction, which blocks other
// writers, does not derive them. A wrong prediction costs only the time of the derivation.
func (s *Service) prederive(methods []pricedMethod) {
	predicted := map[string]uint32{}
	done := map[string]bool{}
	for _, m := range methods {
		if m.asset.Requested() {
			continue
		}
		index, known := predicted[m.wallet.Counter]
		if !known {
			index = s.predictor.predict(m.wallet.Counter)
			predicted[m.wallet.Counter] = index
		}
		if key := string(m.network.ID()) + m.wallet.Counter; !done[key] {
			done[key] = true
			_, _ = m.network.NewDestination(chain.Request{Asset: m.asset, Key: m.wallet.Key, Index: index})
		}
	}
}
