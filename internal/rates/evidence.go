package rates

import (
	"encoding/json"
	"slices"
	"time"

	"chequer/internal/money"
)

// Evidence tells what some rates rest on. It is frozen with the quote.
type Evidence struct {
	Source string         `json:"source"`
	At     time.Time      `json:"at,omitzero"`
	Pairs  []PairEvidence `json:"pairs"`
}

// PairEvidence is a price and who said what of it. High is the price the other
// way round, where it differs. Agreed stands there only when a single source was
// believed.
type PairEvidence struct {
	Pair   string          `json:"pair"`
	Price  string          `json:"price"`
	High   string          `json:"high,omitempty"`
	Words  []WordEvidence  `json:"words"`
	Agreed *AgreedEvidence `json:"agreed,omitempty"`
}

// WordEvidence is what one source said, and why it did not count if it did not.
type WordEvidence struct {
	Source  string    `json:"source"`
	Bid     string    `json:"bid"`
	Ask     string    `json:"ask"`
	Last    string    `json:"last"`
	Heard   time.Time `json:"heard"`
	Time    time.Time `json:"time,omitzero"` // the source's own
	Dropped string    `json:"dropped,omitempty"`
}

// AgreedEvidence is the last price that two sources agreed on.
type AgreedEvidence struct {
	Price string    `json:"price"`
	At    time.Time `json:"at"`
}

// Evidence tells what the rates of some coins in euro, dollars and perhaps another
// currency rest on. Coins without a rate are left out.
func (v View) Evidence(fiat money.Currency, codes ...string) Evidence {
	e := Evidence{Source: v.Source(), At: stamp(v.at), Pairs: []PairEvidence{}}
	var told []string
	for _, code := range codes {
		for _, fiat := range []money.Currency{money.EUR, money.USD, fiat} {
			_, pairs, err := v.find(code, money.Currency{Code: code}, fiat)
			if err != nil {
				continue
			}
			for _, pair := range pairs {
				if !slices.Contains(told, pair) {
					told = append(told, pair)
					e.Pairs = append(e.Pairs, v.evidence(pair))
				}
			}
		}
	}
	return e
}

func (v View) evidence(pair string) PairEvidence {
	verdict := v.judge(pair)
	e := PairEvidence{Pair: pair, Price: verdict.Price.String()}
	if !verdict.High.Equal(verdict.Price) {
		e.High = verdict.High.String()
	}
	for _, w := range verdict.Words {
		e.Words = append(e.Words, WordEvidence{
			Source: w.Source, Bid: w.Bid.String(), Ask: w.Ask.String(), Last: w.Last.String(),
			Heard: stamp(w.Heard), Time: stamp(w.Time), Dropped: w.Dropped,
		})
	}
	if w := verdict.Witness; !w.Price.IsZero() {
		e.Agreed = &AgreedEvidence{Price: w.Price.String(), At: stamp(w.At)}
	}
	return e
}

func stamp(at time.Time) time.Time { return at.UTC().Truncate(time.Millisecond) }

// String is e as compact JSON.
func (e Evidence) String() string {
	text, err := json.Marshal(e)
	if err != nil {
		panic("rates: evidence: " + err.Error()) // it holds nothing but texts and times
	}
	return string(text)
}
