// Package refundfile writes files with which a merchant's own wallet pays many refunds at once.
package refundfile

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/format"
	"chequer/internal/money"
)

// Refund is a refund that the merchant can pay.
type Refund struct {
	ID      string
	Name    string // the order, or the reference of an invoice without one
	Asset   chain.Asset
	Address string
	Amount  money.Amount
	URI     string // payment link
}

// Format names the program that reads a file.
type Format string

const (
	// Electrum reads the file in "Pay to many": "address, amount" lines without a header, in the unit of its settings; see
	// electrum/payment_identifier.py. Forks of it for Litecoin read it too.
	Electrum Format = "electrum"
	// Sparrow reads a CSV file in "Send to many": address, amount and label, in the unit of its settings; see SendToManyDialog. It
	// leaves out rows that it cannot read.
	Sparrow Format = "sparrow"
	// Core is the JSON object of addresses and amounts that the calls sendmany and walletcreatefundedpsbt of Bitcoin Core and
	// Litecoin Core take.
	Core Format = "core"
	// CSV is for other programs and for people (RFC 4180). It takes refunds in every asset.
	CSV Format = "csv"
)

// Formats are all formats.
var Formats = []Format{Electrum, Sparrow, Core, CSV}

// Satoshi is the unit of amounts in the smallest units, 1/100,000,000 of a coin.
const Satoshi = "sat"

// MaxRefunds is the largest number of refunds in a file.
const MaxRefunds = 500

// File is a file and the refunds in it.
type File struct {
	Name    string
	Content []byte
	Refunds []Refund
	// Sum is the sum of the amounts; the zero Amount if they are in several assets.
	Sum money.Amount
}

var (
	errNone      = errors.New("there is no refund to export")
	errAssets    = errors.New("a wallet pays one currency; the refunds are in")
	errUnit      = errors.New("the file has amounts in coins only")
	errLightning = errors.New("is paid over Lightning, one at a time")
)

// Write returns the files for refunds, in order. Amounts are in coins or, for Electrum and Sparrow, in the given unit: the code of the
// coin, Satoshi, or "" for the coin. It begins a new file after MaxRefunds refunds and, for Core, before an
// address that the file has already: an address stands in such an object once. Its errors name a refund or an asset that
// the format cannot hold.
func Write(to Format, unit string, refunds []Refund) ([]File, error) {
	if len(refunds) == 0 {
		return nil, errNone
	}
	if err := check(to, unit, refunds); err != nil {
		return nil, err
	}
	parts := split(to, refunds)
	files := make([]File, len(parts))
	for i, part := range parts {
		content, err := encode(to, unit, part)
		if err != nil {
			return nil, err
		}
		files[i] = File{Name: name(to, unit, refunds[0].Amount.Currency(), i, len(parts)), Content: content, Refunds: part, Sum: sum(part)}
	}
	return files, nil
}

// check returns an error if a format cannot hold the refunds.
func check(to Format, unit string, refunds []Refund) error {
	if unit == Satoshi && (to == CSV || to == Core) {
		return fmt.Errorf("%s: %w", to, errUnit)
	}
	if to == CSV {
		return nil
	}
	for _, r := range refunds {
		if r.Asset.SentOverLightning(r.Address) {
			return fmt.Errorf("refund %s %w", r.ID, errLightning)
		}
		if !isReadBy(to, r) {
			return fmt.Errorf("%s cannot pay refund %s in %s", to, r.ID, r.Asset.Code)
		}
	}
	if coins := schemes(refunds); len(coins) > 1 {
		return fmt.Errorf("%w %s", errAssets, strings.Join(coins, ", "))
	}
	if code := refunds[0].Amount.Currency().Code; unit != "" && unit != Satoshi && unit != code {
		return fmt.Errorf("the unit of these refunds is %s or %s, not %q", code, Satoshi, unit)
	}
	return nil
}

// isReadBy reports whether the program of a format has wallets for the network of a refund.
func isReadBy(to Format, r Refund) bool {
	switch scheme := scheme(r); to {
	case Sparrow:
		return scheme == "bitcoin"
	case Electrum, Core:
		return scheme == "bitcoin" || scheme == "litecoin"
	}
	return true
}

// scheme returns the scheme of the network on which a refund is paid: a refund of a Lightning payment to an address of Bitcoin is
// paid on Bitcoin.
func scheme(r Refund) string {
	if r.Asset.Requested() && !r.Asset.SentOverLightning(r.Address) {
		return "bitcoin"
	}
	return r.Asset.Scheme
}

// schemes returns the networks on which refunds are paid, sorted.
func schemes(refunds []Refund) (list []string) {
	for _, r := range refunds {
		if s := scheme(r); !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	slices.Sort(list)
	return list
}

// split divides refunds among files.
func split(to Format, refunds []Refund) (parts [][]Refund) {
	var part []Refund
	for _, r := range refunds {
		isRepeated := to == Core && slices.ContainsFunc(part, func(o Refund) bool { return o.Address == r.Address })
		if isRepeated || len(part) == MaxRefunds {
			parts, part = append(parts, part), nil
		}
		part = append(part, r)
	}
	return append(parts, part)
}

// name returns the name of a file. It states the unit if the wallet's settings have to match it.
func name(to Format, unit string, coin money.Currency, index, count int) string {
	parts := []string{"refunds", string(to)}
	if to == Electrum || to == Sparrow {
		parts = append(parts, cmp.Or(unit, coin.Code))
	}
	if count > 1 {
		parts = append(parts, strconv.Itoa(index+1))
	}
	return strings.Join(parts, "-") + map[Format]string{Electrum: ".txt", Sparrow: ".csv", Core: ".json", CSV: ".csv"}[to]
}

// inUnit returns an amount in a unit.
func inUnit(a money.Amount, unit string) string {
	if unit == Satoshi {
		return a.Minor().String()
	}
	return a.String()
}

// sum returns the sum of the refunds if they are in one asset.
func sum(refunds []Refund) money.Amount {
	total := money.Zero(refunds[0].Amount.Currency())
	for _, r := range refunds {
		if r.Amount.Currency() != total.Currency() {
			return money.Amount{}
		}
		total = total.Add(r.Amount)
	}
	return total
}

// encode returns the content of a file.
func encode(to Format, unit string, refunds []Refund) ([]byte, error) {
	switch to {
	case Electrum:
		var b bytes.Buffer
		for _, r := range refunds {
			fmt.Fprintf(&b, "%s, %s\n", r.Address, inUnit(r.Amount, unit))
		}
		return b.Bytes(), nil
	case Core:
		return encodeCore(refunds)
	case Sparrow:
		return encodeCSV([]string{"Address", "Amount", "Label"}, refunds, func(r Refund) []string {
			return []string{r.Address, inUnit(r.Amount, unit), "Refund " + r.Name}
		})
	}
	return encodeCSV([]string{"refund", "order", "currency", "network", "address", "amount", "payment_uri"}, refunds, func(r Refund) []string {
		return []string{r.ID, r.Name, r.Asset.Code, r.Asset.AddressNetwork(r.Address), r.Address, r.Amount.String(), r.URI}
	})
}

// encodeCore returns a JSON object in the order of the refunds. The amounts are strings, which Bitcoin Core reads as decimals.
func encodeCore(refunds []Refund) ([]byte, error) {
	b := []byte{'{'}
	for i, r := range refunds {
		if i > 0 {
			b = append(b, ',', '\n')
		}
		address, err := json.Marshal(r.Address)
		if err != nil {
			return nil, err
		}
		b = append(append(b, address...), ':', '"')
		b = append(append(b, r.Amount.String()...), '"')
	}
	return append(b, '}', '\n'), nil
}

// encodeCSV returns the rows of refunds with a heading, as RFC 4180 defines.
func encodeCSV(heading []string, refunds []Refund, cells func(Refund) []string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	rows := [][]string{heading}
	for _, r := range refunds {
		row := cells(r)
		for i, cell := range row {
			row[i] = format.InertCell(cell)
		}
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
