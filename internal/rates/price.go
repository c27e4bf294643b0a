package rates

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

const (
	// maxAge is how long a word counts after we heard it.
	maxAge = 5 * time.Minute
	// maxQuiet is how old a source's own time may be: a market that has stood
	// still for longer is halted or gone.
	maxQuiet = time.Hour
	// aloneFor is how long one source is believed after two last agreed.
	aloneFor = 15 * time.Minute
	// guardBand is how far, in percent, a price may be from its neighbours
	// before it is taken for a fault, such as a slipped decimal point.
	guardBand = 30
	// agreeBand is how far from the middle, in percent, sources still agree.
	agreeBand = 5
)

// Why a word does not count.
const (
	droppedOld     = "too old"
	droppedQuiet   = "quiet market"
	droppedAbsurd  = "absurd"
	droppedOutlier = "outlier"
	droppedAlone   = "alone"
)

// Word is what one source said of a pair, and when we heard it.
type Word struct {
	Source string
	Ticker
	Heard time.Time
}

// value is what a word is compared by: what selling would have brought at the
// least.
func (w Word) value() decimal.Decimal { return decimal.Min(w.Bid, w.Last) }

// Agreed is the last price that two sources agreed on, and when the second newest
// of their words was heard. The zero value is none.
type Agreed struct {
	Price decimal.Decimal
	At    time.Time
}

// Judged is a word and why it does not count; empty when it does.
type Judged struct {
	Word
	Dropped string
}

// Verdict is what the words on a pair come to.
type Verdict struct {
	Price decimal.Decimal // zero when there is none, for the reason in Fault
	// High is the price for who has to buy: the higher of the median ask and the
	// median last trade.
	High   decimal.Decimal
	Agreed bool // by two sources or more
	Fault  string
	Words  []Judged
	// Witness is the agreement that a single source was believed by.
	Witness Agreed
}

// Judge finds the price of a pair from the words on it, one for each source.
//
//  1. Words that are too old do not count.
//  2. A word must lie within guardBand of the last agreed price, for aloneFor
//     after it, and else of another word; if not, it is a fault of its source.
//  3. Of several words those further than agreeBand from the middle one (the
//     lower of two) are outliers. The rest must be two at least and more than
//     half of all that are not too old, faults too: who agreed first does not
//     silence the others. Their price is the lower of the median bid and the
//     median last trade.
//  4. A single word, against one fault at most, counts within agreeBand of the
//     last agreed price, for aloneFor after it.
//
// When sources contradict each other there is no price: none of them is known
// to be right. Ages count both ways, since a clock may be set back.
// See SETTLEMENT 7, "Rates".
func Judge(words []Word, last Agreed, now time.Time) Verdict {
	if now.Sub(last.At).Abs() > aloneFor {
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
		v.Fault = "no word that counts"
	case len(counted) == 1 && fresh <= 2:
		v.alone(counted[0], last)
	default:
		v.together(counted, fresh)
	}
	return v
}

// stale says why a word is too old to count.
func stale(w Word, now time.Time) string {
	if age := now.Sub(w.Heard).Abs(); age > maxAge {
		return droppedOld
	}
	if !w.Time.IsZero() && now.Sub(w.Time).Abs() > maxQuiet {
		return droppedQuiet
	}
	return ""
}

// counted are the words that count so far.
func (v *Verdict) counted() []*Judged {
	var counted []*Judged
	for i := range v.Words {
		if v.Words[i].Dropped == "" {
			counted = append(counted, &v.Words[i])
		}
	}
	return counted
}

// dropAbsurd drops the words that are near nothing known.
func (v *Verdict) dropAbsurd(last Agreed) {
	counted := v.counted()
	if len(counted) == 1 { // left to the stricter rule for one source
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

// alone is the rule for one source.
func (v *Verdict) alone(w *Judged, last Agreed) {
	if !within(w.value(), last.Price, agreeBand) {
		w.Dropped = droppedAlone
		v.Fault = fmt.Sprintf("only %s, and no agreement of two sources near it in the last %s", w.Source, aloneFor)
		return
	}
	v.Price, v.High, v.Witness = w.value(), decimal.Max(w.Ask, w.Last), last
}

// together is the rule for several sources, of so many fresh words.
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

// agreement is what agreeing sources bear out. A source that has gone silent
// since does not make it newer.
func (v *Verdict) agreement() Agreed {
	var heard []time.Time
	for _, w := range v.counted() {
		heard = append(heard, w.Heard)
	}
	slices.SortFunc(heard, time.Time.Compare)
	return Agreed{Price: v.Price, At: heard[len(heard)-2]}
}

// median is the middle of some prices, or half way between the middle two.
func median(prices []decimal.Decimal) decimal.Decimal {
	prices = slices.SortedFunc(slices.Values(prices), decimal.Decimal.Cmp)
	lower, upper := prices[(len(prices)-1)/2], prices[len(prices)/2]
	return lower.Add(upper).Mul(decimal.New(5, -1))
}

// within tells whether a price is at most percent of another away from it.
func within(price, of decimal.Decimal, percent int64) bool {
	return price.Sub(of).Abs().Mul(decimal.NewFromInt(100)).LessThanOrEqual(of.Mul(decimal.NewFromInt(percent)))
}
