package rates

import (
	"chequer/internal/format"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxFault bounds the length of a displayed error, in characters.
const maxFault = 300

// Report is the state of the sources and the resulting prices.
type Report struct {
	Sources []SourceReport
	Pairs   []PairReport
}

// SourceReport is the state of a source. AttemptedAt is zero before the first request, ReceivedAt and Age are zero
// before the first answer.
type SourceReport struct {
	Name        string
	Coin        string // the only coin that the source quotes; "" if it quotes several
	AttemptedAt time.Time
	ReceivedAt  time.Time
	Age         time.Duration // since the last answer
	Fault       string        // fault of the last request
	Quotations  []QuotationReport
}

// QuotationReport is a source's last quotation for a pair, and the reason if it is not used.
type QuotationReport struct {
	Pair      string
	Bid, Last string
	Age       time.Duration // since it was received
	Time      time.Time     // time according to the source; zero if it sends none
	Dropped   string
}

// PairReport is the price of a pair, or why it has none.
type PairReport struct{ Pair, Price, Fault string }

// Report returns the last quotations of each source, and the price of every pair.
func (t *Table) Report() Report {
	v := t.View()
	var r Report
	quotations := map[string][]QuotationReport{}
	add := func(q EvaluatedQuotation) {
		quotations[q.Source] = append(quotations[q.Source], QuotationReport{
			Pair: q.Pair, Bid: q.Bid.String(), Last: q.Last.String(),
			Age: v.at.Sub(q.ReceivedAt), Time: q.Time, Dropped: q.Dropped,
		})
	}
	for _, pair := range v.pairs() {
		evaluation := v.evaluate(pair)
		line := PairReport{Pair: pair, Fault: evaluation.Fault}
		if !evaluation.Price.IsZero() {
			line.Price = evaluation.Price.String()
		}
		r.Pairs = append(r.Pairs, line)
		// v.evaluate appends the reference only where it is needed; the report always has it.
		for _, q := range Evaluate(v.quotations[pair], v.agreed[pair], v.at).Quotations {
			add(q)
		}
		if _, ok := v.reference[pair]; ok {
			add(v.evaluateReference(pair))
		}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, f := range t.feeds {
		s := SourceReport{Name: f.source.Name(), Coin: coinOf(f.source), AttemptedAt: f.attemptedAt, ReceivedAt: f.receivedAt, Fault: faultText(f.err), Quotations: quotations[f.source.Name()]}
		if !s.ReceivedAt.IsZero() {
			s.Age = max(0, v.at.Sub(s.ReceivedAt)) // an answer may have arrived after the view was made
		}
		r.Sources = append(r.Sources, s)
	}
	return r
}

// pairs returns all pairs that any source has quoted.
func (v View) pairs() []string {
	pairs := slices.Collect(maps.Keys(v.quotations))
	for pair := range v.reference {
		if v.quotations[pair] == nil {
			pairs = append(pairs, pair)
		}
	}
	return slices.Sorted(slices.Values(pairs))
}

// faultText returns an error as one line. The texts of joined errors are separated by semicolons.
func faultText(err error) string {
	if err == nil {
		return ""
	}
	return format.OneLine(strings.ReplaceAll(err.Error(), "\n", "; "), maxFault)
}
