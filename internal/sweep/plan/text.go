package plan

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"chequer/internal/evm"
)

// reasonTexts are the reasons in a summary, after the number of skipped amounts.
var reasonTexts = map[Reason]string{
	Expensive: "cost more than %s %%",
	Blocked:   "blocked by the issuer",
	NotFinal:  "not final yet",
	Watched:   "watched for later payments",
	NoWay:     "of a token without authorizations",
	Unpriced:  "of unknown value",
	Later:     "left for a later plan",
}

// reasonOrder is the order of the reasons in a summary.
var reasonOrder = []Reason{Expensive, Blocked, NotFinal, Watched, NoWay, Unpriced, Later}

// Text returns the summary of the plan. It has no fingerprint, because it is a part of the file.
func (p Plan) Text() string {
	from := map[evm.Address]bool{}
	for _, r := range p.Rows {
		from[r.From] = true
	}
	addresses := "addresses"
	if len(from) == 1 {
		addresses = "address"
	}
	lines := []string{fmt.Sprintf("%s %s, %s on %s to %s. Fee at most %s EUR.",
		thousands(fmt.Sprint(len(from))), addresses, p.SumText(), p.Network.Name, p.To, thousands(cents(p.FeeMax.Cents)))}
	if funded := len(p.Funded()); funded > 0 {
		lines = append(lines, fmt.Sprintf("The payer first sends %s for fees to %s of them.", p.CoinText(p.FundingSum()), thousands(fmt.Sprint(funded))))
	}
	if len(p.Skipped) > 0 {
		lines = append(lines, "Skipped: "+SkippedText(p.Skipped, p.SkipAbove)+".")
	}
	return strings.Join(append(lines, fmt.Sprintf("Plan %s, until %s.", p.ID, p.Until())), "\n")
}

// Summary returns the text of the plan with its fingerprint.
func (p Plan) Summary() string { return p.Text() + " Fingerprint " + p.Fingerprint() + "." }

// Until returns the time until which the plan is valid, as it is shown to persons.
func (p Plan) Until() string { return p.ValidUntil.UTC().Format("2 January 2006 15:04 UTC") }

// SumText returns the sums of the plan, such as "12,318.40 EURC, 7.00 USDC and 0.5 ETH".
func (p Plan) SumText() string { return sumText(p.Sums) }

// SumTextOf returns the sums of the rows with some numbers, which count from 1; "" if there are none.
func (p Plan) SumTextOf(numbers []int) string {
	part := Plan{}
	for _, n := range numbers {
		part.Rows = append(part.Rows, p.Rows[n-1])
	}
	totals := part.totals()
	var sums []Sum
	for _, s := range p.Sums {
		if s.Amount = totals[s.Asset]; s.Amount != nil {
			sums = append(sums, s)
		}
	}
	return sumText(sums)
}

// AmountText returns an amount of an asset of the plan's rows, such as "12.50 EURC".
func (p Plan) AmountText(asset string, units *big.Int) string {
	for _, s := range p.Sums {
		if s.Asset == asset {
			return amountText(units, s.Decimals) + " " + s.Symbol
		}
	}
	return units.String()
}

// HasAuthorizations reports whether rows of the plan have authorizations.
func (p Plan) HasAuthorizations() bool { return len(p.authorized()) > 0 }

// HasTransactions reports whether addresses of the plan send transactions.
func (p Plan) HasTransactions() bool { return slices.ContainsFunc(p.Rows, Row.SendsTransaction) }

// Decimals returns the number of decimals of an asset of the plan's rows.
func (p Plan) Decimals(asset string) int {
	for _, s := range p.Sums {
		if s.Asset == asset {
			return s.Decimals
		}
	}
	return 0
}

// sumText returns sums as a list in a sentence.
func sumText(all []Sum) string {
	var sums []string
	for _, s := range all {
		sums = append(sums, amountText(s.Amount, s.Decimals)+" "+s.Symbol)
	}
	last := len(sums) - 1
	if last < 1 {
		return strings.Join(sums, "")
	}
	return strings.Join(sums[:last], ", ") + " and " + sums[last]
}

// CoinText returns an amount of the network's coin, such as "0.0001 ETH".
func (p Plan) CoinText(amount *big.Int) string {
	return amountText(amount, CoinDecimals) + " " + p.Network.Coin
}

// CoinPrice returns the highest price in euro of a coin at which the fee has its value, such as "3,100.00"; "" if the fee is zero.
func (f Fee) CoinPrice() string {
	if f.Amount.Sign() == 0 {
		return ""
	}
	price := new(big.Int).Exp(big.NewInt(10), big.NewInt(CoinDecimals), nil)
	return amountText(price.Mul(price, big.NewInt(f.Cents)).Quo(price, f.Amount), 2)
}

// SkippedText returns the numbers of skipped amounts by reason, such as "3 cost more than 2 %, 2 not final yet".
// skipAbove is that of the plan.
func SkippedText(skipped []Skipped, skipAbove string) string {
	counts := map[Reason]int{}
	for _, s := range skipped {
		counts[s.Why]++
	}
	var parts []string
	for _, why := range reasonOrder {
		if counts[why] == 0 {
			continue
		}
		text := reasonTexts[why]
		if why == Expensive {
			text = fmt.Sprintf(text, skipAbove)
		}
		parts = append(parts, thousands(fmt.Sprint(counts[why]))+" "+text)
	}
	return strings.Join(parts, ", ")
}

// amountText returns an amount with a decimal point, with two decimals or as many as it has, and with commas between
// thousands.
func amountText(amount *big.Int, decimals int) string {
	digits := amount.String()
	if missing := decimals + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	whole, fraction := digits[:len(digits)-decimals], strings.TrimRight(digits[len(digits)-decimals:], "0")
	for len(fraction) < min(2, decimals) {
		fraction += "0"
	}
	if fraction == "" {
		return thousands(whole)
	}
	return thousands(whole) + "." + fraction
}

// thousands returns a decimal number with commas between thousands.
func thousands(number string) string {
	whole, fraction, hasFraction := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if hasFraction {
		return whole + "." + fraction
	}
	return whole
}
