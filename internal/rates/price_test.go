package rates_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"chequer/internal/rates"
)

// quotation returns a quotation of a source. The prices are "bid/last", or one price for both.
func quotation(source, prices string, age time.Duration) rates.Quotation {
	bid, last, hasBid := strings.Cut(prices, "/")
	if !hasBid {
		last = bid
	}
	ticker := flat("BTC-EUR", bid)
	ticker.Last = decimal.RequireFromString(last)
	return rates.Quotation{Source: source, Ticker: ticker, ReceivedAt: recordedAt.Add(-age)}
}

func TestEvaluate_uses_the_median_of_agreeing_quotations(t *testing.T) {
	t.Parallel()
	type evaluation struct {
		Price   string
		Agreed  bool
		Dropped string // "source:reason"
	}
	none := rates.Agreed{}
	at := func(price string, age time.Duration) rates.Agreed {
		return rates.Agreed{Price: decimal.RequireFromString(price), At: recordedAt.Add(-age)}
	}
	for _, tt := range []struct {
		name       string
		quotations []string // quotations of the sources a, b, c and d; "@1m" sets the age
		last       rates.Agreed
		want       evaluation
	}{
		{"no source", nil, none, evaluation{"0", false, ""}},
		{"two agree: their mean", []string{"80000", "80100"}, none, evaluation{"80050", true, ""}},
		{"median of three", []string{"80000", "80700", "80100"}, none, evaluation{"80100", true, ""}},
		{"the median bid when it is lower", []string{"80000/80500", "80200/80600", "80100/80400"}, none, evaluation{"80100", true, ""}},
		{"the median last trade when it is lower", []string{"80500/80000", "80600/80200", "80400/80100"}, none, evaluation{"80100", true, ""}},
		{"bid and last trade of different sources", []string{"80000/80300", "80100/80200"}, none, evaluation{"80050", true, ""}},
		{"an outlier of three", []string{"80000", "80100", "85000"}, none, evaluation{"80050", true, "c:outlier"}},
		{"a low outlier", []string{"80000", "75000", "80100"}, none, evaluation{"80050", true, "b:outlier"}},
		{"5 % still agrees", []string{"80000", "84000"}, none, evaluation{"82000", true, ""}},
		{"over 5 % contradicts", []string{"80000", "84001"}, none, evaluation{"0", false, "b:outlier"}},
		{"contradiction near the agreement", []string{"80000", "90000"}, at("80000", time.Minute), evaluation{"0", false, "b:outlier"}},
		{"two against two", []string{"80000", "80000", "90000", "90000"}, none, evaluation{"0", false, "c:outlier d:outlier"}},
		{"two against two, one pair a thousand times higher", []string{"80000", "80000", "80000000", "80000000"}, none, evaluation{"0", false, "c:outlier d:outlier"}},
		{"two pairs after an agreement", []string{"80000", "80000", "80000000", "80000000"}, at("80000", time.Minute), evaluation{"0", false, "c:absurd d:absurd"}},
		{"one near the agreement against two", []string{"800000", "80000", "80100"}, at("800000", time.Minute), evaluation{"0", false, "b:absurd c:absurd"}},
		{"old quotations do not contradict", []string{"80000", "80000", "90000@6m", "90000@6m"}, none, evaluation{"80000", true, "c:too old d:too old"}},
		{"three far apart", []string{"80000", "85000", "90000"}, none, evaluation{"0", false, "a:outlier c:outlier"}},
		{"a thousand times higher than two others", []string{"80000000", "80000", "80100"}, none, evaluation{"80050", true, "a:absurd"}},
		{"inverted, beside two others", []string{"80000", "0.0000125", "80100"}, none, evaluation{"80050", true, "b:absurd"}},
		{"a thousand times higher than one other: the agreement decides", []string{"80000000", "80000"}, at("80200", time.Minute), evaluation{"80000", false, "a:absurd"}},
		{"a thousand times higher than one other, no agreement", []string{"80000000", "80000"}, none, evaluation{"0", false, "a:absurd b:absurd"}},
		{"a thousand times higher than one other, old agreement", []string{"80000000", "80000"}, at("80000", 16*time.Minute), evaluation{"0", false, "a:absurd b:absurd"}},
		{"all change suddenly", []string{"40000", "40100", "40200"}, at("80000", 15*time.Minute), evaluation{"0", false, "a:absurd b:absurd c:absurd"}},
		{"all changed longer ago than 15 minutes", []string{"40000", "40100", "40200"}, at("80000", 15*time.Minute+1), evaluation{"40100", true, ""}},
		{"all fall by less than 30 %", []string{"56000", "56100"}, at("80000", time.Minute), evaluation{"56050", true, ""}},
		{"alone without an agreement", []string{"80000"}, none, evaluation{"0", false, "a:alone"}},
		{"alone near the agreement", []string{"76000"}, at("80000", 15*time.Minute), evaluation{"76000", false, ""}},
		{"alone, the lower of bid and last trade", []string{"80100/80000"}, at("80000", time.Minute), evaluation{"80000", false, ""}},
		{"alone and over 5 % below", []string{"75999"}, at("80000", time.Minute), evaluation{"0", false, "a:alone"}},
		{"alone and over 5 % above", []string{"84001"}, at("80000", time.Minute), evaluation{"0", false, "a:alone"}},
		{"alone for too long", []string{"80000"}, at("80000", 15*time.Minute+1), evaluation{"0", false, "a:alone"}},
		{"five minutes still count", []string{"80000@5m", "80100"}, none, evaluation{"80050", true, ""}},
		{"older quotations do not count", []string{"70000@5m1s", "80000", "80100"}, none, evaluation{"80050", true, "a:too old"}},
		{"received ahead of the clock", []string{"80000@-5m", "80100"}, none, evaluation{"80050", true, ""}},
		{"received far ahead of the clock", []string{"70000@-5m1s", "80000", "80100"}, none, evaluation{"80050", true, "a:too old"}},
		{"an agreement far ahead of the clock", []string{"80000"}, at("80000", -15*time.Minute-1), evaluation{"0", false, "a:alone"}},
		{"only one quotation is recent enough", []string{"80000@6m", "80100"}, at("80000", 6*time.Minute), evaluation{"80100", false, "a:too old"}},
		{"all too old", []string{"80000@6m", "80100@7m"}, at("80000", time.Minute), evaluation{"0", false, "a:too old b:too old"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var quotations []rates.Quotation
			for i, text := range tt.quotations {
				prices, age, _ := strings.Cut(text, "@")
				old, _ := time.ParseDuration(age)
				quotations = append(quotations, quotation(string(rune('a'+i)), prices, old))
			}
			e := rates.Evaluate(quotations, tt.last, recordedAt)
			got := evaluation{Price: e.Price.String(), Agreed: e.Agreed, Dropped: dropped(e)}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("evaluation (-want +got):\n%s", diff)
			}
			if e.Price.IsZero() != (e.Fault != "") {
				t.Errorf("price %s with fault %q", e.Price, e.Fault)
			}
		})
	}
}

func TestEvaluate_quiet_market_does_not_count(t *testing.T) {
	t.Parallel()
	halted := quotation("a", "79000", 0)
	for _, quiet := range []time.Duration{time.Hour + 1, -time.Hour - 1} {
		halted.Time = recordedAt.Add(-quiet)
		e := rates.Evaluate([]rates.Quotation{halted, quotation("b", "80000", 0), quotation("c", "80100", 0)}, rates.Agreed{}, recordedAt)
		if e.Price.String() != "80050" || dropped(e) != "a:quiet market" {
			t.Errorf("market quiet for %s: %s, dropped %q", quiet, e.Price, dropped(e))
		}
	}
}

// One wrong source among three or four never moves the price out of the range of the other sources, and
// never prevents a price.
func TestEvaluate_one_wrong_source_of_three_has_no_effect(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5000) {
		random := rand.New(rand.NewPCG(seed, 7))
		jitter := func() string { return fmt.Sprint(79600 + random.IntN(800)) }
		var quotations []rates.Quotation
		low, high := decimal.New(1, 9), decimal.Zero
		for i := range 2 + random.IntN(2) {
			q := quotation(string(rune('a'+i)), jitter()+"/"+jitter(), 0)
			quotations = append(quotations, q)
			low, high = decimal.Min(low, q.Bid, q.Last), decimal.Max(high, q.Bid, q.Last)
		}
		wrongPrices := []string{"0.0000125", "79", "1", "60000", "76500", "79999", "81000", "83500", "99000", "80000000"}
		wrong := wrongPrices[random.IntN(len(wrongPrices))] + "/" + wrongPrices[random.IntN(len(wrongPrices))]
		quotations = append(quotations, quotation("wrong", wrong, 0))
		last := rates.Agreed{}
		if random.IntN(2) == 0 {
			last = rates.Agreed{Price: decimal.RequireFromString(jitter()), At: recordedAt}
		}
		e := rates.Evaluate(quotations, last, recordedAt)
		if e.Price.LessThan(low) || e.Price.GreaterThan(high) || !e.Agreed {
			t.Fatalf("seed %d: wrong quotation %s moved the price to %s, the others are %s to %s", seed, wrong, e.Price, low, high)
		}
		random.Shuffle(len(quotations), func(i, j int) { quotations[i], quotations[j] = quotations[j], quotations[i] })
		if second := rates.Evaluate(quotations, last, recordedAt); !second.Price.Equal(e.Price) || dropped(second) != dropped(e) {
			t.Fatalf("seed %d: price in another order = %s, want %s", seed, second.Price, e.Price)
		}
	}
}

// dropped returns the sources whose quotations an evaluation dropped, with the reasons.
func dropped(e rates.Evaluation) string {
	var all []string
	for _, q := range e.Quotations {
		if q.Dropped != "" {
			all = append(all, q.Source+":"+q.Dropped)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
