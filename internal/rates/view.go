package rates

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/money"
)

const (
	// sourceLive is the name of rates that come from markets.
	sourceLive = "live"
	// euroToken is the rate code of a token that represents a euro.
	euroToken = "EURC"
	// maxMissedTables is the number of later reference tables that may have been published before a
	// table is too old. Days on which banks are closed have no tables.
	maxMissedTables = 4
)

// dollarToken is the token against which euro tokens are traded besides fiat.
var dollarToken = money.Currency{Code: "USDC", Decimals: 6}

// View is the state of the table at one moment. It never changes, so that the rates of one quote
// match their evidence.
type View struct {
	at         time.Time
	quotations map[string][]Quotation
	reference  map[string]Quotation
	agreed     map[string]Agreed
	floor      decimal.Decimal // see Config.EuroFloor
}

// Source returns "live".
func (v View) Source() string { return sourceLive }

// Rate returns the price of one coin in fiat, from markets between the two, or else through another
// currency, or ErrUnknown. A euro token that trades at or above the floor costs exactly one euro.
// Currencies other than euro and dollar are always priced from the euro: BTC-CHF is BTC-EUR ×
// EUR-CHF.
func (v View) Rate(code string, coin, fiat money.Currency) (money.Rate, error) {
	rate, _, err := v.find(code, coin, fiat)
	return rate, err
}

// find is Rate with the pairs from which the rate is derived. If the price of a euro in fiat is
// unknown, there are no rates in fiat at all.
func (v View) find(code string, coin, fiat money.Currency) (money.Rate, []string, error) {
	between := money.USD
	if fiat != money.EUR {
		between = money.EUR
		exchange, err := v.direct(money.EUR.Code, money.EUR, fiat)
		if err != nil {
			return money.Rate{}, nil, err
		}
		if fiat != money.USD {
			return v.throughEuro(code, coin, exchange)
		}
	}
	if code == euroToken {
		return v.euro(coin, fiat)
	}
	return v.market(code, coin, fiat, between)
}

// throughEuro returns the price of a coin in the fiat currency of a rate of the euro.
func (v View) throughEuro(code string, coin money.Currency, exchange money.Rate) (money.Rate, []string, error) {
	euro, pairs, err := v.find(code, coin, money.EUR)
	if err != nil {
		return money.Rate{}, nil, err
	}
	rate, err := euro.Via(exchange)
	return rate, append(pairs, pairOf(money.EUR.Code, exchange.Fiat())), err
}

// euro returns the price of a euro token: one euro, unless it trades below the floor.
func (v View) euro(coin, fiat money.Currency) (money.Rate, []string, error) {
	market, pairs, err := v.market(euroToken, coin, money.EUR, money.USD, dollarToken)
	if err != nil {
		return money.Rate{}, nil, err
	}
	if price := decimal.RequireFromString(market.Price()); price.LessThan(v.floor) {
		return money.Rate{}, nil, fmt.Errorf("%w for %s: it trades at %s EUR, below %s", ErrUnknown, euroToken, price, v.floor)
	}
	price := "1"
	if fiat != money.EUR {
		exchange, err := v.direct(money.EUR.Code, money.EUR, fiat)
		if err != nil {
			return money.Rate{}, nil, err
		}
		price, pairs = exchange.Price(), append(pairs, pairOf(money.EUR.Code, fiat))
	}
	rate, err := money.ParseRate(price, coin, fiat)
	return rate, pairs, err
}

// market returns the price of a coin in fiat, from the direct market or, if that has no price,
// through the first of the given currencies that has prices.
func (v View) market(code string, coin, fiat money.Currency, between ...money.Currency) (money.Rate, []string, error) {
	rate, err := v.direct(code, coin, fiat)
	if err == nil {
		return rate, []string{pairOf(code, fiat)}, nil
	}
	for _, b := range between {
		first, firstErr := v.direct(code, coin, b)
		second, pair, secondErr := v.exchange(b, fiat)
		if firstErr != nil || secondErr != nil {
			continue
		}
		rate, err := first.Via(second)
		return rate, []string{pairOf(code, b), pair}, err
	}
	return money.Rate{}, nil, err
}

// exchange returns the price of one unit of a currency in fiat. Markets price fiat currencies from
// the euro; the inverse uses the high price, so that the merchant bears no spread.
func (v View) exchange(from, fiat money.Currency) (money.Rate, string, error) {
	if _, isFiat := money.Fiat(from.Code); isFiat && from != money.EUR {
		rate, err := v.priced(fiat.Code, fiat, from, func(e Evaluation) decimal.Decimal { return e.High })
		if err != nil {
			return money.Rate{}, "", err
		}
		inverse, err := rate.Inverse()
		return inverse, pairOf(fiat.Code, from), err
	}
	rate, err := v.direct(from.Code, from, fiat)
	return rate, pairOf(from.Code, fiat), err
}

// direct returns the price of one pair from its own quotations.
func (v View) direct(code string, coin, fiat money.Currency) (money.Rate, error) {
	return v.priced(code, coin, fiat, func(e Evaluation) decimal.Decimal { return e.Price })
}

// priced returns a price from the evaluation of one pair.
func (v View) priced(code string, coin, fiat money.Currency, price func(Evaluation) decimal.Decimal) (money.Rate, error) {
	pair := pairOf(code, fiat)
	evaluation := v.evaluate(pair)
	if evaluation.Price.IsZero() {
		return money.Rate{}, fmt.Errorf("%w for %s: %s", ErrUnknown, pair, evaluation.Fault)
	}
	return money.ParseRate(price(evaluation).String(), coin, fiat)
}

// evaluate returns the evaluation of the exchanges' quotations for a pair or, if they give no price,
// of the reference.
func (v View) evaluate(pair string) Evaluation {
	evaluation := Evaluate(v.quotations[pair], v.agreed[pair], v.at)
	if _, ok := v.reference[pair]; !ok || !evaluation.Price.IsZero() {
		return evaluation
	}
	reference := v.evaluateReference(pair)
	if reference.Dropped == "" {
		evaluation.Price, evaluation.High, evaluation.Fault = reference.Last, reference.Last, ""
	}
	evaluation.Quotations = append(evaluation.Quotations, reference)
	return evaluation
}

// evaluateReference checks the age of the reference's rate, and that it is near the last price on
// which exchanges agreed, however old that is.
func (v View) evaluateReference(pair string) EvaluatedQuotation {
	reference := EvaluatedQuotation{Quotation: v.reference[pair]}
	last := v.agreed[pair].Price
	switch {
	case reference.Time.Sub(v.at) > maxFuture, missedTables(reference.Time, v.at) > maxMissedTables:
		reference.Dropped = droppedOld
	case !last.IsZero() && !within(reference.Last, last, guardBand):
		reference.Dropped = droppedImplausible
	}
	return reference
}

func pairOf(code string, fiat money.Currency) string { return code + "-" + fiat.Code }
