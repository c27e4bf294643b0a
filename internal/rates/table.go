package rates

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/money"
)

// Config holds the sources and settings of a Table.
type Config struct {
	Exchanges []Source
	// Reference is the source of the price of a euro if the exchanges have none. It may be nil.
	Reference Source
	// Every and ReferenceEvery are the intervals of requests to the sources.
	Every, ReferenceEvery time.Duration
	// EuroFloor is the price in euro below which a euro token is not offered.
	EuroFloor decimal.Decimal
	Now       func() time.Time
	// Jitter returns a wait with a random change.
	Jitter func(time.Duration) time.Duration
	Log    *slog.Logger
}

// Live returns the usual Config: five exchanges, of which Bitfinex is only for XMR, each polled every 30 seconds, and the
// European Central Bank. The caller must set Now and Log.
func Live(client *http.Client) Config {
	return Config{
		Exchanges: []Source{
			NewKraken(client, KrakenURL), NewCoinbase(client, CoinbaseURL),
			NewBitstamp(client, BitstampURL), NewBinance(client, BinanceURL),
			NewBitfinex(client, BitfinexURL),
		},
		Reference: NewECB(client, ECBURL),
		Every:     30 * time.Second, ReferenceEvery: 4 * time.Hour,
		EuroFloor: decimal.New(98, -2),
		Jitter:    Jitter,
	}
}

// Table holds the last quotations of the sources in memory. It is safe for concurrent use, and its
// look-ups never wait for the network.
type Table struct {
	Config
	feeds []*feed // the exchanges in order, then the reference

	mu sync.RWMutex // guards the fields below and the state of the feeds
	// Updates replace the maps and do not change them, because views share them.
	quotations map[string][]Quotation // of the exchanges by pair, in the order of the exchanges
	reference  map[string]Quotation   // by pair
	agreed     map[string]Agreed      // by pair
}

// NewTable returns a new, empty Table, which Run or Step fills.
func NewTable(c Config) *Table {
	t := &Table{Config: c, quotations: map[string][]Quotation{}, agreed: map[string]Agreed{}}
	for _, s := range c.Exchanges {
		t.feeds = append(t.feeds, &feed{source: s, interval: c.Every})
	}
	if c.Reference != nil {
		t.feeds = append(t.feeds, &feed{source: c.Reference, interval: c.ReferenceEvery, reference: true})
	}
	return t
}

// Rate returns the current price of one coin in fiat, or ErrUnknown.
func (t *Table) Rate(code string, coin, fiat money.Currency) (money.Rate, error) {
	return t.View().Rate(code, coin, fiat)
}

// View returns the current state of the table.
func (t *Table) View() View {
	now := t.Now()
	t.mu.RLock()
	defer t.mu.RUnlock()
	return View{at: now, quotations: t.quotations, reference: t.reference, agreed: t.agreed, floor: t.EuroFloor}
}

// store stores the tickers of an exchange and updates the agreements. It returns the pairs for which
// the other exchanges contradict this exchange. The caller must hold the lock.
func (t *Table) store(source string, tickers []Ticker, now time.Time) (contradicted []string) {
	quotations, agreed := maps.Clone(t.quotations), maps.Clone(t.agreed)
	for _, ticker := range tickers {
		pair := ticker.Pair
		list := slices.DeleteFunc(slices.Clone(quotations[pair]), func(q Quotation) bool { return q.Source == source })
		list = append(list, Quotation{Source: source, Ticker: ticker, ReceivedAt: now})
		slices.SortFunc(list, func(a, b Quotation) int { return t.order(a.Source) - t.order(b.Source) })
		quotations[pair] = list
		evaluation := Evaluate(list, agreed[pair], now)
		if evaluation.Agreed {
			agreed[pair] = evaluation.agreement()
		}
		if slices.ContainsFunc(evaluation.Quotations, func(q EvaluatedQuotation) bool {
			return q.Source == source && (q.Dropped == droppedImplausible || q.Dropped == droppedOutlier)
		}) {
			contradicted = append(contradicted, pair)
		}
	}
	t.quotations, t.agreed = quotations, agreed
	return contradicted
}

// storeReference stores the tickers of the reference, except those older than the stored ones. The
// caller must hold the lock.
func (t *Table) storeReference(source string, tickers []Ticker, now time.Time) {
	reference := map[string]Quotation{}
	maps.Copy(reference, t.reference)
	for _, ticker := range tickers {
		if ticker.Time.Before(reference[ticker.Pair].Time) {
			continue
		}
		reference[ticker.Pair] = Quotation{Source: source, Ticker: ticker, ReceivedAt: now}
	}
	t.reference = reference
}

// dropFuture removes entries whose times are ahead of the clock, after the clock was set back.
// Otherwise they would become valid again later. The caller must hold the lock.
func (t *Table) dropFuture(now time.Time) {
	quotations, agreed, reference := maps.Clone(t.quotations), maps.Clone(t.agreed), maps.Clone(t.reference)
	for pair, list := range quotations {
		quotations[pair] = slices.DeleteFunc(slices.Clone(list), func(q Quotation) bool { return q.ReceivedAt.Sub(now) > maxAge })
	}
	maps.DeleteFunc(agreed, func(_ string, a Agreed) bool { return a.At.Sub(now) > maxAge })
	maps.DeleteFunc(reference, func(_ string, q Quotation) bool { return q.Time.Sub(now) > maxFuture })
	t.quotations, t.agreed, t.reference = quotations, agreed, reference
}

// order returns the position of an exchange in the settings.
func (t *Table) order(source string) int {
	return slices.IndexFunc(t.Exchanges, func(s Source) bool { return s.Name() == source })
}
