// Package plantest has a plan for tests, and the recovery phrase of its addresses.
package plantest

import (
	"math/big"
	"testing"
	"time"

	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
)

// Words and Passphrase are those of the addresses of Example, at m/44'/60'/1'/0/i. The payer is at Payer.
const (
	Words      = "test test test test test test test test test test test junk"
	Passphrase = "Zürich"
	Payer      = "m/44'/60'/0'/0/0"
)

// To is the destination of Example. LastFour are its last 4 characters.
const (
	To       = "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D"
	LastFour = "488D"
)

// MadeAt is the time at which testdata/plan.json was made.
var MadeAt = time.Date(2026, 11, 28, 14, 0, 0, 0, time.UTC)

// addresses are those of Words and Passphrase at m/44'/60'/1'/0/i.
var addresses = []string{
	"0x7db994b532805C53c29A7878a28C8d32d5AEFb89", "0x86b187E09FE20A554A13FbcDc61482Ed2e703d01", "0xcEAdC11C2F0280D47bceCE13114EDD4C2fcBD2c2",
	"0x12629f107e5a98bD836Ee3AB4739277c2588C3E4", "0x6496437b7dD68220b3Fe48533478201030cB1d92", "0x26EAaA710fDd239EA8346bF0A53B057fd460574A",
}

// The tokens of Example on Base.
var (
	eurc = token{"EURC-BASE", "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42", "EURC"}
	usdc = token{"USDC-BASE", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin"}
)

// bridged is a token on Base without authorizations.
var bridged = token{code: "USDBC", contract: "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"}

// token is a token of Example, of version 2.
type token struct{ code, contract, name string }

// Example returns a plan made at a time, valid for 7 days, with rows of both ways and a payer.
func Example(madeAt time.Time) plan.Plan {
	p := Tokens(madeAt)
	p.ID = "swp_9fK2example"
	p.Rows = append(p.Rows[:2:2], p.Rows[2], coin(2, "17000000000000000"), p.Rows[3])
	p.Payer = &plan.Payer{
		Address: Address("0x8b7f313935A5F5Ca4d2df1E95E2990Aefc909Bb1"), Cost: plan.Cost{Nonce: 127, Tip: gwei(1, 1000), FeeCap: gwei(12, 1000)},
		Carriers: []plan.Carrier{{Rows: 3, Gas: 300_000}, {Rows: 1, Gas: 128_000}},
	}
	p.Skipped = nil
	for _, why := range []plan.Reason{plan.Expensive, plan.Blocked, plan.NotFinal, plan.Expensive, plan.NotFinal, plan.Expensive} {
		p.Skipped = append(p.Skipped, plan.Skipped{From: Address(addresses[5]), Asset: "EURC-BASE", Amount: Number("400000"), Why: why})
	}
	p.Sums = []plan.Sum{{Asset: "EURC-BASE", Symbol: "EURC", Decimals: 6}, {Asset: "USDC-BASE", Symbol: "USDC", Decimals: 6}, {Asset: "ETH-BASE", Symbol: "ETH", Decimals: 18}}
	return p
}

// Tokens returns a plan made at a time, valid for 7 days, with authorizations alone and without a payer.
func Tokens(madeAt time.Time) plan.Plan {
	network, _ := plan.NetworkByID("base")
	account, err := plan.ParsePath("m/44'/60'/1'")
	if err != nil {
		panic(err)
	}
	return plan.Plan{
		ID: "swp_9fK2tokens", MadeAt: madeAt, ValidUntil: madeAt.Add(7 * 24 * time.Hour), Network: network, Block: 35_812_345,
		To: Address(To), Account: account, SkipAbove: "2",
		Rows:   []plan.Row{eurc.row(0, "12318400000"), usdc.row(0, "1"), eurc.row(1, "2500000"), eurc.row(3, "99999999")},
		Sums:   []plan.Sum{{Asset: "EURC-BASE", Symbol: "EURC", Decimals: 6}, {Asset: "USDC-BASE", Symbol: "USDC", Decimals: 6}},
		FeeMax: plan.Fee{Amount: Number("100000000000000"), Cents: 31},
	}
}

// Funded returns a plan made at a time, valid for 7 days, with two rows of a token without authorizations. The payer funds the first one.
func Funded(madeAt time.Time) plan.Plan {
	p, payer := Tokens(madeAt), Example(madeAt).Payer
	p.ID, p.Rows = "swp_9fK2funded", nil
	for i, funding := range []string{"720000000000", "0"} {
		r := bridged.row(uint32(i), "25000000")
		r.Way, r.Version = plan.ByFunding, ""
		r.Cost, r.Funding = plan.Cost{Gas: 60_000, Tip: payer.Cost.Tip, FeeCap: payer.Cost.FeeCap}, Number(funding)
		p.Rows = append(p.Rows, r)
	}
	payer.FundGas, payer.Carriers = 21_000, nil
	p.Payer, p.Sums = payer, []plan.Sum{{Asset: "USDBC", Symbol: "USDbC", Decimals: 6}}
	return p
}

// Encoded returns a plan with the bytes of its file.
func Encoded(t testing.TB, p plan.Plan) plan.Plan {
	t.Helper()
	encoded, err := plan.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// row returns the row of an amount of the token at an address.
func (t token) row(i uint32, amount string) plan.Row {
	return plan.Row{
		Steps: [2]uint32{0, i}, From: Address(addresses[i]), Way: plan.ByAuthorization, Asset: t.code, Contract: Address(t.contract),
		Name: t.name, Version: "2", Amount: Number(amount),
	}
}

// coin returns the row of an amount of the coin at an address.
func coin(i uint32, amount string) plan.Row {
	return plan.Row{
		Steps: [2]uint32{0, i}, From: Address(addresses[i]), Way: plan.ByOwn, Asset: "ETH-BASE", Amount: Number(amount),
		Cost: plan.Cost{Gas: 21_000, Tip: gwei(1, 1000), FeeCap: gwei(12, 1000)},
	}
}

// gwei returns a fee per gas in the coin's smallest units, from a fraction of 10^9 of them.
func gwei(numerator, denominator int64) *big.Int {
	return big.NewInt(numerator * 1_000_000_000 / denominator)
}

// Address returns the address of a text. It panics if the text is none.
func Address(text string) evm.Address {
	a, err := evm.ParseChecksummed(text)
	if err != nil {
		panic(err)
	}
	return a
}

// Number returns the number of a text. It panics if the text is none.
func Number(text string) *big.Int {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic("plantest: not a number: " + text)
	}
	return n
}
