// Package proof is the proof of address: a text, signed by the installation's key,
// that says which addresses and amounts an invoice has, and the checking of it.
//
// The text is canonical: there is one way only to write a statement, and whatever
// is written otherwise is none. So what a person reads is what was signed.
package proof

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// head is the first line. It is signed too, so no signature of anything else is one
// of a statement.
const head = "chequer-proof-v1"

// layout is how times are written: UTC with three fractional digits.
const layout = "2006-01-02T15:04:05.000Z"

func stamp(t time.Time) string { return t.UTC().Format(layout) }

// MaxSize is how long a statement may be, in bytes.
const MaxSize = 16 << 10

// Statement is what is said of an invoice: its newest price, and where to pay it.
type Statement struct {
	Server   string // the base address, in ASCII
	Invoice  string
	Mode     string // live or test
	Quote    int    // number of the price
	From     time.Time
	Until    time.Time
	Amount   string // of fiat that is to be paid
	Currency string
	Methods  []Method
}

// Method is one way of paying.
type Method struct {
	Currency string // "BTC", "EURC-BASE"
	Network  string // "bitcoin", "base"
	Address  string
	Amount   string
	// ChainID is that of EIP-155, and Contract a token's there; empty elsewhere.
	ChainID  string
	Contract string
	Decimals int32
}

// body is everything that is signed.
func (s Statement) body(key PublicKey) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nserver: %s\ninvoice: %s\nmode: %s\nquote: %d\nfrom: %s\nuntil: %s\namount: %s %s\n",
		head, s.Server, s.Invoice, s.Mode, s.Quote, stamp(s.From), stamp(s.Until), s.Amount, s.Currency)
	for _, m := range s.Methods {
		fmt.Fprintf(&b, "pay: %s\n", m)
	}
	fmt.Fprintf(&b, "key: %s\n", key)
	return b.String()
}

// String is a way of paying as a statement says it.
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
	bodyForm = regexp.MustCompile(`^` + head + `\n` +
		`server: (https?://[!-~]+)\n` +
		`invoice: ([A-Za-z0-9_-]{1,64})\n` +
		`mode: (live|test)\n` +
		`quote: ([1-9][0-9]{0,5})\n` +
		`from: (` + moment + `)\n` +
		`until: (` + moment + `)\n` +
		`amount: (` + number + `) ([A-Z]{3})\n` +
		`((?:pay: [ -~]+\n)+)` +
		`key: (ed25519:[A-Za-z0-9_-]{43})\n$`)
	methodForm = regexp.MustCompile(`^(` + number + `) ([A-Z0-9-]{1,64}) on ([a-z0-9-]{1,64})` +
		`(?: \(chain ([1-9][0-9]{0,18})(?:, token (0x[0-9A-Fa-f]{40}))?, (0|[1-9][0-9]?) decimals\))?` +
		` to ([!-~]{1,200})$`)
)

// parseBody reads what was signed; ErrForm. What it accepts is written back as the
// very same text.
func parseBody(text string) (s Statement, key PublicKey, err error) {
	found := bodyForm.FindStringSubmatch(text)
	if found == nil {
		return s, "", fmt.Errorf("%w: %s", ErrForm, firstFault(text))
	}
	s = Statement{Server: found[1], Invoice: found[2], Mode: found[3], Amount: found[7], Currency: found[10]}
	s.Quote, _ = strconv.Atoi(found[4]) // six digits
	if s.From, err = time.Parse(layout, found[5]); err != nil {
		return s, "", fmt.Errorf("%w: %s is no time", ErrForm, found[5])
	}
	if s.Until, err = time.Parse(layout, found[6]); err != nil {
		return s, "", fmt.Errorf("%w: %s is no time", ErrForm, found[6])
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
		return s, "", ErrForm
	}
	return s, key, nil
}

func parseMethod(text string) (Method, error) {
	found := methodForm.FindStringSubmatch(text)
	if found == nil {
		return Method{}, fmt.Errorf("%w: %q is no way of paying", ErrForm, text)
	}
	m := Method{Amount: found[1], Currency: found[4], Network: found[5], ChainID: found[6], Contract: found[7], Address: found[9]}
	if found[8] != "" {
		decimals, _ := strconv.Atoi(found[8]) // two digits
		m.Decimals = int32(decimals)
	}
	return m, nil
}

// lines are how those of a statement begin, in order; the sixth of pay may repeat.
var lines = []string{head, "server: ", "invoice: ", "mode: ", "quote: ", "from: ", "until: ", "amount: ", "pay: ", "key: "}

// firstFault says where a text stops being a statement.
func firstFault(text string) string {
	if strings.Contains(text, "\r") {
		return "its lines end in CR LF, as something on the way changed them"
	}
	expected, n := 0, 0
	for line := range strings.Lines(text) {
		n++
		if expected == len(lines) {
			return fmt.Sprintf("line %d is too much", n)
		}
		if expected > 8 && strings.HasPrefix(line, "pay: ") {
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
	return "a line has letters or a form that it cannot have"
}
