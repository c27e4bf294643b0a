package rates

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

const (
	// maxAge is how long a quotation is used after it was received.
	maxAge = 5 * time.Minute
	// maxTradeAge bounds the age of a quotation by the source's own time: a market without a trade for
	// longer is halted or delisted.
	maxTradeAge = time.Hour
	// aloneTTL is how long a single source is used after the last agreement of two.
	aloneTTL = 15 * time.Minute
	// guardBand is how far, in percent, a price may be from others before it is treated as a fault,
	// such as a misplaced decimal point.
	guardBand = 30
	// agreeBand is how far, in percent, prices may be from the middle one and still agree.
	agreeBand = 5
)

// Reasons why a quotation is not used.
const (
	droppedOld     = "too old"
	droppedQuiet   = "quiet market"
	droppedAbsurd  = "absurd"
	droppedOutlier = "outlier"
	droppedAlone   = "alone"
)

// Word is the quotation of one source for a pair, and when it was received.
type Word struct {
	Source string
	Ticker
	Heard time.Time
}

// value returns the price by which quotations are compared: the lower of bid and last trade, the
// least that a sale would have yielded.
func (w Word) value() decimal.Decimal { return decimal.Min(w.Bid, w.Last) }

// Agreed is the last price on which two sources agreed, and when the second newest of their
// quotations was received. The zero value means none.
type Agreed struct {
	Price decimal.Decimal
	At    time.Time
}

// Judged is a quotation and the reason why it is not used; empty if it is used.
type Judged struct {
	Word
	Dropped string
}

// Verdict is the price derived from the quotations for a pair.
type Verdict struct {
	Price decimal.Decimal // zero if there is none; Fault has the reason
	// High is the price for a buyer: the higher of the median ask and the median last trade.
	High   decimal.Decimal
	Agreed bool // by at least two sources
	Fault  string
	Words  []Judged
	// Witness is the agreement that confirms the price of a single source.
	Witness Agreed
}

// Judge derives the price of a pair from its quotations, one per source.
//
//  1. Quotations that are too old are not used.
//  2. A quotation must be within guardBand of the last agreed price, for aloneTTL
//     after it, and otherwise of another quotation. If it is not, it is a fault of
//     its source.
//  3. Of several quotations, those further than agreeBand from the middle one (the
//     lower of two) are outliers. The others must be at least two, and more than
//     half of all quotations that are not too old, including faults: sources that
//     agreed first do not silence the others. The price is the lower of the median
//     bid and the median last trade.
//  4. A single quotation, against at most one fault, is used if it is within
//     agreeBand of the last agreed price, for aloneTTL after it.
//
// When sources contradict each other there is no price, because it is unknown which
// of them is right. Ages are absolute, because a clock may be set back.
// See SETTLEMENT 7, "Rates".
func Judge(words []Word, last Agreed, now time.Time) Verdict {
	if now.Sub(last.At).Abs() > aloneTTL {
		last = Agreed{}
	}
	v := Verdict{Words: make([]Judged, len(words))}
	for i, w := range words {
		v.Words[i] = Judged{Word: w, Dropped: stale(w, now)}
	}
	fresh := len(v.counted())
	v.dropAbsurd(last)
	switch counted := v.counted(); {
	case len(counted) == 0:
		v.Fault = "no usable quotation"
	case len(counted) == 1 && fresh <= 2:
		v.alone(counted[0], last)
	default:
		v.together(counted, fresh)
	}
	return v
}

// stale returns the reason why a quotation is too old, or "".
func stale(w Word, now time.Time) string {
	if age := now.Sub(w.Heard).Abs(); age > maxAge {
		return droppedOld
	}
	if !w.Time.IsZero() && now.Sub(w.Time).Abs() > maxTradeAge {
		return droppedQuiet
	}
	return ""
}

// counted returns the quotations that have not been dropped.
func (v *Verdict) counted() []*Judged {
	var counted []*Judged
	for i := range v.Words {
		if v.Words[i].Dropped == "" {
			counted = append(counted, &v.Words[i])
		}
	}
	return counted
}

// dropAbsurd drops the quotations that are far from all others and from the last agreement.
func (v *Verdict) dropAbsurd(last Agreed) {
	counted := v.counted()
	if len(counted) == 1 { // left to the stricter rule for a single source
		return
	}
	var absurd []*Judged
	for _, w := range counted {
		witnessed := within(w.value(), last.Price, guardBand)
		if last.Price.IsZero() {
			witnessed = slices.ContainsFunc(counted, func(o *Judged) bool {
				return o != w && (within(w.value(), o.value(), guardBand) || within(o.value(), w.value(), guardBand))
			})
		}
		if !witnessed {
			absurd = append(absurd, w)
		}
	}
	for _, w := range absurd {
		w.Dropped = droppedAbsurd
	}
}

// alone applies the rule for a single source.
func (v *Verdict) alone(w *Judged, last Agreed) {
	if !within(w.value(), last.Price, agreeBand) {
		w.Dropped = droppedAlone
		v.Fault = fmt.Sprintf("only source %s, and no agreement of two sources near its price within %s", w.Source, aloneTTL)
		return
	}
	v.Price, v.High, v.Witness = w.value(), decimal.Max(w.Ask, w.Last), last
}

// together applies the rule for several sources. fresh is the number of quotations that are not too
// old.
func (v *Verdict) together(counted []*Judged, fresh int) {
	values := make([]decimal.Decimal, len(counted))
	for i, w := range counted {
		values[i] = w.value()
	}
	slices.SortFunc(values, decimal.Decimal.Cmp)
	middle := values[(len(values)-1)/2]
	var bids, asks, lasts []decimal.Decimal
	for _, w := range counted {
		if !within(w.value(), middle, agreeBand) {
			w.Dropped = droppedOutlier
			continue
		}
		bids, asks, lasts = append(bids, w.Bid), append(asks, w.Ask), append(lasts, w.Last)
	}
	if len(bids) < 2 || 2*len(bids) <= fresh {
		v.Fault = "sources contradict each other"
		return
	}
	v.Price, v.Agreed = decimal.Min(median(bids), median(lasts)), true
	v.High = decimal.Max(median(asks), median(lasts))
}

// agreement returns the agreement of the sources. Its time does not advance while one of two
// sources is silent.
func (v *Verdict) agreement() Agreed {
	var heard []time.Time
	for _, w := range v.counted() {
		heard = append(heard, w.Heard)
	}
	slices.SortFunc(heard, time.Time.Compare)
	return Agreed{Price: v.Price, At: heard[len(heard)-2]}
}

// median returns the middle of some prices, or the mean of the middle two.
func median(prices []decimal.Decimal) decimal.Decimal {
	prices = slices.SortedFunc(slices.Values(prices), decimal.Decimal.Cmp)
	lower, upper := prices[(len(prices)-1)/2], prices[len(prices)/2]
	return lower.Add(upper).Mul(decimal.New(5, -1))
}

// within reports whether a price differs from another by at most a percentage of the latter.
func within(price, of decimal.Decimal, percent int64) bool {
	return price.Sub(of).Abs().Mul(decimal.NewFromInt(100)).LessThanOrEqual(of.Mul(decimal.NewFromInt(percent)))
}
