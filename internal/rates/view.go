package rates

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/money"
)

const (
	// sourceLive is the word for rates that come from markets.
	sourceLive = "live"
	// euroToken is the rate code of a token that stands for a euro.
	euroToken = "EURC"
	// maxMissedTables is how many later reference tables may have been published before
	// a table is too old. Days on which banks are closed do not count.
	maxMissedTables = 4
)

// dollarToken is what euro tokens are traded against, next to fiat.
var dollarToken = money.Currency{Code: "USDC", Decimals: 6}

// View is the table at one moment. It never changes, so that the rates of one
// quote and their evidence belong together.
type View struct {
	at        time.Time
	words     map[string][]Word
	reference map[string]Word
	agreed    map[string]Agreed
	floor     decimal.Decimal
}

// Source says where the rates come from: "live".
func (v View) Source() string { return sourceLive }

// Rate is the price of one coin in fiat, from markets between the two, or else
// through another currency; ErrUnknown. A euro token that is worth its euro
// costs exactly one. What is neither euro nor dollar is always priced from the
// euro: BTC-CHF is BTC-EUR × EUR-CHF.
func (v View) Rate(code string, coin, fiat money.Currency) (money.Rate, error) {
	rate, _, err := v.find(code, coin, fiat)
	return rate, err
}

// find is Rate with the pairs that the rate rests on. Where nobody knows what a
// euro is worth in fiat there are no rates in it at all.
func (v View) find(code string, coin, fiat money.Currency) (money.Rate, []string, error) {
	between := money.USD
	if fiat != money.EUR {
		between = money.EUR
		exchange, err := v.direct(money.EUR.Code, money.EUR, fiat)
		if err != nil {
			return money.Rate{}, nil, err
		}
		if fiat != money.USD {
			return v.through(code, coin, exchange)
		}
	}
	if code == euroToken {
		return v.euro(coin, fiat)
	}
	return v.market(code, coin, fiat, between)
}

// through is the price of a coin in what a euro exchanges for.
func (v View) through(code string, coin money.Currency, exchange money.Rate) (money.Rate, []string, error) {
	euro, pairs, err := v.find(code, coin, money.EUR)
	if err != nil {
		return money.Rate{}, nil, err
	}
	rate, err := euro.Via(exchange)
	return rate, append(pairs, pairOf(money.EUR.Code, exchange.Fiat())), err
}

// euro is the price of a euro token: a euro, as long as markets take it for one.
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

// market is the price of a coin in fiat, directly or else through the first of
// some currencies that leads there.
func (v View) market(code string, coin, fiat money.Currency, between ...money.Currency) (money.Rate, []string, error) {
	rate, err := v.direct(code, coin, fiat)
	if err == nil {
		return rate, []string{pairOf(code, fiat)}, nil
	}
	for _, b := range between {
		first, faultOne := v.direct(code, coin, b)
		second, pair, faultTwo := v.exchange(b, fiat)
		if faultOne != nil || faultTwo != nil {
			continue
		}
		rate, err := first.Via(second)
		return rate, []string{pairOf(code, b), pair}, err
	}
	return money.Rate{}, nil, err
}

// exchange is what one unit of a currency costs in fiat. Fiat is priced from the
// euro, as markets do it, and the other way round from the high price, so that
// the merchant bears no spread.
func (v View) exchange(from, fiat money.Currency) (money.Rate, string, error) {
	if _, isFiat := money.Fiat(from.Code); isFiat && from != money.EUR {
		rate, err := v.priced(fiat.Code, fiat, from, func(v Verdict) decimal.Decimal { return v.High })
		if err != nil {
			return money.Rate{}, "", err
		}
		inverse, err := rate.Inverse()
		return inverse, pairOf(fiat.Code, from), err
	}
	rate, err := v.direct(from.Code, from, fiat)
	return rate, pairOf(from.Code, fiat), err
}

// direct is the price that the words on one pair come to.
func (v View) direct(code string, coin, fiat money.Currency) (money.Rate, error) {
	return v.priced(code, coin, fiat, func(v Verdict) decimal.Decimal { return v.Price })
}

// priced is one of the prices of a verdict on one pair.
func (v View) priced(code string, coin, fiat money.Currency, price func(Verdict) decimal.Decimal) (money.Rate, error) {
	pair := pairOf(code, fiat)
	verdict := v.judge(pair)
	if verdict.Price.IsZero() {
		return money.Rate{}, fmt.Errorf("%w for %s: %s", ErrUnknown, pair, verdict.Fault)
	}
	return money.ParseRate(price(verdict).String(), coin, fiat)
}

// judge is what the exchanges' words on a pair come to or, where they come to
// nothing, the reference's.
func (v View) judge(pair string) Verdict {
	verdict := Judge(v.words[pair], v.agreed[pair], v.at)
	if _, ok := v.reference[pair]; !ok || !verdict.Price.IsZero() {
		return verdict
	}
	word := v.judgeReference(pair)
	if word.Dropped == "" {
		verdict.Price, verdict.High, verdict.Fault = word.Last, word.Last, ""
	}
	verdict.Words = append(verdict.Words, word)
	return verdict
}

// judgeReference holds the reference's word against its age and the last price
// that exchanges agreed on, however old.
func (v View) judgeReference(pair string) Judged {
	judged := Judged{Word: v.reference[pair]}
	last := v.agreed[pair].Price
	switch {
	case judged.Time.Sub(v.at) > maxAhead, missedTables(judged.Time, v.at) > maxMissedTables:
		judged.Dropped = droppedOld
	case !last.IsZero() && !within(judged.Last, last, guardBand):
		judged.Dropped = droppedAbsurd
	}
	return judged
}

func pairOf(code string, fiat money.Currency) string { return code + "-" + fiat.Code }
