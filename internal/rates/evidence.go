package rates

import (
	"encoding/json"
	"slices"
	"time"

	"chequer/internal/money"
)

// Evidence is the source data of some rates. It is frozen with the quote.
type Evidence struct {
	Source string         `json:"source"`
	At     time.Time      `json:"at,omitzero"`
	Pairs  []PairEvidence `json:"pairs"`
}

// PairEvidence is the price of a pair and the data of its sources. High is the price for a buyer,
// if it differs. Agreed is set only if the price is that of a single source.
type PairEvidence struct {
	Pair       string              `json:"pair"`
	Price      string              `json:"price"`
	High       string              `json:"high,omitempty"`
	Quotations []QuotationEvidence `json:"words"`
	Agreed     *AgreedEvidence     `json:"agreed,omitempty"`
}

// QuotationEvidence is the data of one source, and the reason if it was not used.
type QuotationEvidence struct {
	Source     string    `json:"source"`
	Bid        string    `json:"bid"`
	Ask        string    `json:"ask"`
	Last       string    `json:"last"`
	ReceivedAt time.Time `json:"heard"`
	Time       time.Time `json:"time,omitzero"` // time according to the source
	Dropped    string    `json:"dropped,omitempty"`
}

// AgreedEvidence is the last price on which two sources agreed.
type AgreedEvidence struct {
	Price string    `json:"price"`
	At    time.Time `json:"at"`
}

// Evidence returns the source data of the rates of some coins in euro, in dollars and in fiat.
// Coins without a rate are omitted.
func (v View) Evidence(fiat money.Currency, codes ...string) Evidence {
	e := Evidence{Source: v.Source(), At: milliseconds(v.at), Pairs: []PairEvidence{}}
	var done []string
	for _, code := range codes {
		for _, currency := range []money.Currency{money.EUR, money.USD, fiat} {
			_, pairs, err := v.find(code, money.Currency{Code: code}, currency)
			if err != nil {
				continue
			}
			for _, pair := range pairs {
				if !slices.Contains(done, pair) {
					done = append(done, pair)
					e.Pairs = append(e.Pairs, v.evidence(pair))
				}
			}
		}
	}
	return e
}

func (v View) evidence(pair string) PairEvidence {
	evaluation := v.evaluate(pair)
	e := PairEvidence{Pair: pair, Price: evaluation.Price.String()}
	if !evaluation.High.Equal(evaluation.Price) {
		e.High = evaluation.High.String()
	}
	for _, q := range evaluation.Quotations {
		e.Quotations = append(e.Quotations, QuotationEvidence{
			Source: q.Source, Bid: q.Bid.String(), Ask: q.Ask.String(), Last: q.Last.String(),
			ReceivedAt: milliseconds(q.ReceivedAt), Time: milliseconds(q.Time), Dropped: q.Dropped,
		})
	}
	if agreement := evaluation.Agreement; !agreement.Price.IsZero() {
		e.Agreed = &AgreedEvidence{Price: agreement.Price.String(), At: milliseconds(agreement.At)}
	}
	return e
}

// milliseconds returns a time in UTC, in milliseconds.
func milliseconds(at time.Time) time.Time { return at.UTC().Truncate(time.Millisecond) }

// String returns e as compact JSON.
func (e Evidence) String() string {
	text, err := json.Marshal(e)
	if err != nil {
		panic("rates: evidence: " + err.Error()) // impossible: it contains only texts and times
	}
	return string(text)
}
