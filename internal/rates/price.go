package rates

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

const (
	// maxAge is the time that a quotation is used after it was received.
	maxAge = 5 * time.Minute
	// maxTradeAge is the maximum age of a quotation by the source's own time. A market without trades
	// for longer is halted or delisted.
	maxTradeAge = time.Hour
	// singleSourceTTL is the time that a single source is used after the last agreement of two.
	singleSourceTTL = 15 * time.Minute
	// guardBand is the difference to other prices, in percent, above which a price is treated as a
	// fault, such as a misplaced decimal point.
	guardBand = 30
	// agreeBand is the largest difference to the middle price, in percent, at which prices agree.
	agreeBand = 5
)

// Reasons why a quotation is not used, as they are stored in the evidence of a rate.
const (
	droppedOld         = "too old"
	droppedQuiet       = "quiet market"
	droppedImplausible = "absurd"
	droppedOutlier     = "outlier"
	droppedAlone       = "alone"
)

// Quotation is the quotation of one source for a pair, and when it was received.
type Quotation struct {
	Source string
	Ticker
	ReceivedAt time.Time
}

// value returns the price by which quotations are compared: the lower of bid and last trade,
// which is the least that a sale would have yielded.
func (q Quotation) value() decimal.Decimal { return decimal.Min(q.Bid, q.Last) }

// Agreed is the last price on which at least two sources agreed, and the time when the second newest
// of their quotations was received. The zero value means none.
type Agreed struct {
	Price decimal.Decimal
	At    time.Time
}

// EvaluatedQuotation is a quotation and the reason why it is not used; empty if it is used.
type EvaluatedQuotation struct {
	Quotation
	Dropped string
}

// Evaluation is the price derived from the quotations for a pair.
type Evaluation struct {
	Price decimal.Decimal // zero if there is none; Fault has the reason
	// High is the price for a buyer: the higher of the median ask and the median last trade.
	High       decimal.Decimal
	Agreed     bool // by at least two sources
	Fault      string
	Quotations []EvaluatedQuotation
	// Agreement is the last agreement of two sources, which confirms the price of a single source.
	Agreement Agreed
}

// Evaluate derives the price of a pair from its quotations, one per source.
//
//  1. Quotations that are too old are not used.
//  2. A quotation must be within guardBand of the last agreed price if that is at most
//     singleSourceTTL old, and otherwise within guardBand of another quotation. Any other quotation
//     counts as a fault of its source.
//  3. Of several quotations, those further than agreeBand from the middle quotation (the lower of
//     two) are outliers. The remaining quotations must be at least two, and more than half of the
//     quotations that are not too old, including faults. Otherwise the sources that agreed first
//     could exclude the others. The price is the lower of the median bid and the median last trade.
//  4. A single quotation, with at most one fault beside it, is used if it is within agreeBand of the
//     last agreed price, and that is at most singleSourceTTL old.
//
// If sources contradict each other, there is no price. Ages are absolute, because a clock may be set
// back. See SETTLEMENT 7, "Rates".
func Evaluate(quotations []Quotation, last Agreed, now time.Time) Evaluation {
	if now.Sub(last.At).Abs() > singleSourceTTL {
		last = Agreed{}
	}
	e := Evaluation{Quotations: make([]EvaluatedQuotation, len(quotations))}
	for i, q := range quotations {
		e.Quotations[i] = EvaluatedQuotation{Quotation: q, Dropped: staleReason(q, now)}
	}
	recent := len(e.counted())
	e.dropImplausible(last)
	switch counted := e.counted(); {
	case len(counted) == 0:
		e.Fault = "no usable quotation"
	case len(counted) == 1 && recent <= 2:
		e.evaluateSingle(counted[0], last)
	default:
		e.evaluateSeveral(counted, recent)
	}
	return e
}

// staleReason returns the reason why a quotation is too old, or "".
func staleReason(q Quotation, now time.Time) string {
	if age := now.Sub(q.ReceivedAt).Abs(); age > maxAge {
		return droppedOld
	}
	if !q.Time.IsZero() && now.Sub(q.Time).Abs() > maxTradeAge {
		return droppedQuiet
	}
	return ""
}

// counted returns the quotations that have not been dropped.
func (e *Evaluation) counted() []*EvaluatedQuotation {
	var counted []*EvaluatedQuotation
	for i := range e.Quotations {
		if e.Quotations[i].Dropped == "" {
			counted = append(counted, &e.Quotations[i])
		}
	}
	return counted
}

// dropImplausible drops the quotations that are far from all others and from the last agreement.
func (e *Evaluation) dropImplausible(last Agreed) {
	counted := e.counted()
	if len(counted) == 1 { // evaluateSingle has a stricter rule
		return
	}
	var implausible []*EvaluatedQuotation
	for _, q := range counted {
		confirmed := within(q.value(), last.Price, guardBand)
		if last.Price.IsZero() {
			// The band is a percentage of the second price, so both orders are tried.
			confirmed = slices.ContainsFunc(counted, func(o *EvaluatedQuotation) bool {
				return o != q && (within(q.value(), o.value(), guardBand) || within(o.value(), q.value(), guardBand))
			})
		}
		if !confirmed {
			implausible = append(implausible, q)
		}
	}
	for _, q := range implausible {
		q.Dropped = droppedImplausible
	}
}

// evaluateSingle applies the rule for a single source.
func (e *Evaluation) evaluateSingle(q *EvaluatedQuotation, last Agreed) {
	if !within(q.value(), last.Price, agreeBand) {
		q.Dropped = droppedAlone
		e.Fault = fmt.Sprintf("only source %s, and no agreement of two sources near its price within %s", q.Source, singleSourceTTL)
		return
	}
	e.Price, e.High, e.Agreement = q.value(), decimal.Max(q.Ask, q.Last), last
}

// evaluateSeveral applies the rule for several sources. recent is the number of quotations that are not
// too old, including dropped ones.
func (e *Evaluation) evaluateSeveral(counted []*EvaluatedQuotation, recent int) {
	values := make([]decimal.Decimal, len(counted))
	for i, q := range counted {
		values[i] = q.value()
	}
	slices.SortFunc(values, decimal.Decimal.Cmp)
	middle := values[(len(values)-1)/2]
	var bids, asks, lasts []decimal.Decimal
	for _, q := range counted {
		if !within(q.value(), middle, agreeBand) {
			q.Dropped = droppedOutlier
			continue
		}
		bids, asks, lasts = append(bids, q.Bid), append(asks, q.Ask), append(lasts, q.Last)
	}
	if len(bids) < 2 || 2*len(bids) <= recent {
		e.Fault = "sources contradict each other"
		return
	}
	e.Price, e.Agreed = decimal.Min(median(bids), median(lasts)), true
	e.High = decimal.Max(median(asks), median(lasts))
}

// agreement returns the agreement of the sources. With two sources, its time advances only while both
// send quotations.
func (e *Evaluation) agreement() Agreed {
	var received []time.Time
	for _, q := range e.counted() {
		received = append(received, q.ReceivedAt)
	}
	slices.SortFunc(received, time.Time.Compare)
	return Agreed{Price: e.Price, At: received[len(received)-2]}
}

// median returns the middle of some prices, or the mean of the middle two.
func median(prices []decimal.Decimal) decimal.Decimal {
	prices = slices.SortedFunc(slices.Values(prices), decimal.Decimal.Cmp)
	lower, upper := prices[(len(prices)-1)/2], prices[len(prices)/2]
	return lower.Add(upper).Mul(decimal.New(5, -1))
}

// within reports whether a price differs from another by at most a percentage of the latter.
func within(price, reference decimal.Decimal, percent int64) bool {
	return price.Sub(reference).Abs().Mul(decimal.NewFromInt(100)).LessThanOrEqual(reference.Mul(decimal.NewFromInt(percent)))
}
