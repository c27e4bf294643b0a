// Package proof implements the proof of address: a text, signed by the installation's key, with the
// addresses and amounts of an invoice, and its verification.
//
// The text is canonical: a statement can be written in only one way, and every other text is
// refused. Therefore the text that a shopper reads is the text that was signed.
package proof

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// head is the first line. It is signed too, so a signature made for another purpose is never valid
// for a statement.
const head = "chequer-proof-v1"

// layout is the format of times: UTC with three fractional digits.
const layout = "2006-01-02T15:04:05.000Z"

func stamp(t time.Time) string { return t.UTC().Format(layout) }

// MaxSize is the size of the longest statement, in bytes.
const MaxSize = 16 << 10

// Statement contains the newest quote of an invoice and its payment methods.
type Statement struct {
	Server   string // the base address, in ASCII
	Invoice  string
	Mode     string // live or test
	Quote    int    // number of the quote
	From     time.Time
	Until    time.Time
	Amount   string // fiat amount due
	Currency string
	Methods  []Method
}

// Method is one payment method.
type Method struct {
	Currency string // "BTC", "EURC-BASE"
	Network  string // "bitcoin", "base"
	Address  string
	Amount   string
	// ChainID is the EIP-155 chain ID, and Contract is the token's contract; both are empty on
	// other networks.
	ChainID  string
	Contract string
	Decimals int32
}

// body returns the signed part of the text.
func (s Statement) body(key PublicKey) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nserver: %s\ninvoice: %s\nmode: %s\nquote: %d\nfrom: %s\nuntil: %s\namount: %s %s\n",
		head, s.Server, s.Invoice, s.Mode, s.Quote, stamp(s.From), stamp(s.Until), s.Amount, s.Currency)
	for _, m := range s.Methods {
		fmt.Fprintf(&b, "pay: %s\n", m)
	}
	fmt.Fprintf(&b, keyLine+"%s\n", key)
	return b.String()
}

// String returns the payment method as it is written in a statement.
func (m Method) String() string {
	text := m.Amount + " " + m.Currency + " on " + m.Network
	if m.ChainID != "" {
		text += " (chain " + m.ChainID
		if m.Contract != "" {
			text += ", token " + m.Contract
		}
		text += ", " + strconv.Itoa(int(m.Decimals)) + " decimals)"
	}
	return text + " to " + m.Address
}

const (
	number = `(0|[1-9][0-9]{0,29})(\.[0-9]{1,18})?`
	moment = `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z`
)

var (
	bodyPattern = regexp.MustCompile(`^` + head + `\n` +
		`server: (https?://[!-~]+)\n` +
		`invoice: ([A-Za-z0-9_-]{1,64})\n` +
		`mode: (live|test)\n` +
		`quote: ([1-9][0-9]{0,5})\n` +
		`from: (` + moment + `)\n` +
		`until: (` + moment + `)\n` +
		`amount: (` + number + `) ([A-Z]{3})\n` +
		`((?:pay: [ -~]+\n)+)` +
		keyLine + `(ed25519:[A-Za-z0-9_-]{43})\n$`)
	methodPattern = regexp.MustCompile(`^(` + number + `) ([A-Z0-9-]{1,64}) on ([a-z0-9-]{1,64})` +
		`(?: \(chain ([1-9][0-9]{0,18})(?:, token (0x[0-9A-Fa-f]{40}))?, (0|[1-9][0-9]?) decimals\))?` +
		` to ([!-~]+)$`)
)

// parseBody parses the signed part. It returns ErrFormat for a text that body would not write exactly so.
func parseBody(text string) (s Statement, key PublicKey, err error) {
	found := bodyPattern.FindStringSubmatch(text)
	if found == nil {
		return s, "", fmt.Errorf("%w: %s", ErrFormat, firstFault(text))
	}
	s = Statement{Server: found[1], Invoice: found[2], Mode: found[3], Amount: found[7], Currency: found[10]}
	s.Quote, _ = strconv.Atoi(found[4]) // six digits
	if s.From, err = time.Parse(layout, found[5]); err != nil {
		return s, "", fmt.Errorf("%w: %s is not a time", ErrFormat, found[5])
	}
	if s.Until, err = time.Parse(layout, found[6]); err != nil {
		return s, "", fmt.Errorf("%w: %s is not a time", ErrFormat, found[6])
	}
	for line := range strings.Lines(found[11]) {
		m, err := parseMethod(strings.TrimSuffix(strings.TrimPrefix(line, "pay: "), "\n"))
		if err != nil {
			return s, "", err
		}
		s.Methods = append(s.Methods, m)
	}
	key = PublicKey(found[12])
	if s.body(key) != text {
		return s, "", ErrFormat
	}
	return s, key, nil
}

func parseMethod(text string) (Method, error) {
	found := methodPattern.FindStringSubmatch(text)
	if found == nil {
		return Method{}, fmt.Errorf("%w: %q is not a payment method", ErrFormat, text)
	}
	m := Method{Amount: found[1], Currency: found[4], Network: found[5], ChainID: found[6], Contract: found[7], Address: found[9]}
	if found[8] != "" {
		decimals, _ := strconv.Atoi(found[8]) // two digits
		m.Decimals = int32(decimals)
	}
	return m, nil
}

// lines are the beginnings of a statement's lines, in order; only the pay line may be repeated.
var lines = []string{head, "server: ", "invoice: ", "mode: ", "quote: ", "from: ", "until: ", "amount: ", "pay: ", keyLine}

// firstFault describes the first place where a text is not a statement.
func firstFault(text string) string {
	if strings.Contains(text, "\r") {
		return "its lines end in CR LF, so the text was changed after it was written"
	}
	expected, n := 0, 0
	payLine := slices.Index(lines, "pay: ")
	for line := range strings.Lines(text) {
		n++
		if expected == len(lines) {
			return fmt.Sprintf("line %d is not part of a statement", n)
		}
		if expected > payLine && strings.HasPrefix(line, "pay: ") {
			continue
		}
		if !strings.HasPrefix(line, lines[expected]) {
			return fmt.Sprintf("line %d does not begin with %q", n, lines[expected])
		}
		expected++
	}
	if expected < len(lines) {
		return fmt.Sprintf("the line %q is missing", strings.TrimSpace(lines[expected]))
	}
	return "a line has invalid characters or an invalid format"
}
