package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"chequer/internal/api"
)

// The service may belong to a third party. The functions of this file check its answers, so that the
// rest of the program can show them. In a checked answer every value has a known form and a bounded
// size, and contains no control characters. Texts for people are cleaned and truncated. Values for
// programs are not repaired: one invalid field makes the whole answer invalid.

// Bounds of an answer. Lengths are in characters.
const (
	maxID       = 64
	maxWord     = 64
	maxAmount   = 40
	maxTime     = 40
	maxMerchant = 200
	maxOrder    = 128
	maxSentence = 512
	maxAddress  = 200
	maxURI      = 2048
	maxProof    = 16 << 10
	maxMetadata = 8 << 10 // bytes of names and values together
	maxMessage  = 300
	maxETag     = 100
	maxCounter  = 1_000_000
	maxDecimals = 36
	maxMethods  = 32
	maxBridged  = 8
	maxPayments = 1000
	maxQuotes   = 100
	// maxCommas is twice the number of commas in the largest resource. Without this limit, a list of
	// a million empty objects would take a hundred times its size in memory.
	maxCommas = 50_000
	// maxOffset limits how far the end of a quote, or the service's clock, may be from now.
	maxOffset = 10 * 365 * 24 * time.Hour
)

var (
	idForm     = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	amountForm = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	tagForm    = regexp.MustCompile(`^[!-~]+$`)
	codeForm   = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
)

var (
	statuses   = []string{api.StatusCreated, api.StatusPending, api.StatusPaid, api.StatusExpired, api.StatusDeclined}
	exceptions = []string{
		api.ExceptionUnderpaid, api.ExceptionOverpaid, api.ExceptionLate, api.ExceptionReplaced,
		api.ExceptionReorged, api.ExceptionWrongAsset, api.ExceptionOld, api.ExceptionDelayed,
	}
	states = []string{"seen", "confirmed", "late", "replaced", "reorged", "dust", "old", "wrong_asset"}
	modes  = []string{"", "live", "test"}
)

// decode decodes the JSON of an answer.
func decode(body []byte, into any) error {
	if bytes.Count(body, []byte(",")) > maxCommas {
		return errors.New("answer has too many parts")
	}
	return json.Unmarshal(body, into)
}

// checkCreated checks the answer to a request that creates an invoice. Missing fields are accepted, because the invoice is
// read later.
func checkCreated(inv *api.Invoice) error {
	var c check
	c.id("foreign_id", inv.ForeignID)
	c.require("status", inv.Status == "" || slices.Contains(statuses, inv.Status))
	c.moment("expired_at", &inv.ExpiredAt)
	c.number("client_amount", inv.ClientAmount)
	c.word("client_currency", inv.ClientCurrency, maxWord)
	inv.Addresses = first(inv.Addresses, maxMethods)
	for _, a := range inv.Addresses {
		c.word("addresses.address", a.Address, maxAddress)
		c.number("addresses.expected_amount", a.ExpectedAmount)
		c.word("addresses.crypto_currency", a.CryptoCurrency, maxWord)
		c.number("addresses.rate_usd", a.RateUSD)
		c.number("addresses.rate_eur", a.RateEUR)
	}
	return c.err()
}

// checkResource checks a resource, which may be built from the specification's answer.
func checkResource(r *api.Resource, id string) error {
	var c check
	c.id("foreign_id", r.ForeignID)
	c.require("foreign_id", r.ForeignID == id)
	c.text(&r.OrderID, maxOrder)
	c.oneOf("mode", r.Mode, modes)
	c.counter("version", r.Version)
	c.oneOf("status", r.Status, statuses)
	c.require("exceptions", len(r.Exceptions) <= len(exceptions))
	for _, e := range first(r.Exceptions, len(exceptions)) {
		c.oneOf("exceptions", e, exceptions)
	}
	c.moment("created_at", &r.CreatedAt)
	c.moment("expired_at", &r.ExpiredAt)
	c.moment("paid_at", &r.PaidAt)
	c.moment("watched_until", &r.WatchedUntil)
	c.word("paid_currency", r.PaidCurrency, maxWord)
	c.word("paid_tx", r.PaidTx, maxAddress)
	c.amount("client_amount", r.ClientAmount)
	c.word("client_currency", r.ClientCurrency, maxWord)
	c.amount("paid_amount", r.PaidAmount)
	c.amount("due_amount", r.DueAmount)
	c.amount("overpaid_amount", r.OverpaidAmount)
	r.ToleranceAmount = cmp.Or(r.ToleranceAmount, "0") // older servers, and servers that are called with the key of a payment page, do not send it
	c.amount("tolerance_amount", r.ToleranceAmount)
	c.counter("paid_count", r.PaidCount)
	c.moment("first_paid_at", &r.FirstPaidAt)
	c.moment("accepted.at", &r.Accepted.At)
	c.word("accepted.actor", r.Accepted.Actor, maxWord)
	r.Accepted.Shortfall = cmp.Or(r.Accepted.Shortfall, "0")
	c.amount("accepted.shortfall", r.Accepted.Shortfall)
	const limit = int64(maxOffset / time.Second)
	r.SecondsLeft = max(-limit, min(r.SecondsLeft, limit))
	c.text(&r.RateSource, maxWord)
	c.text(&r.MerchantName, maxMerchant)
	c.text(&r.Description, maxSentence)
	c.word("language", r.Language, maxWord)
	c.url("url_success", r.URLSuccess)
	c.url("url_failure", r.URLFailure)
	c.word("refund_currency", r.RefundCurrency, maxWord)
	c.word("refund_address", r.RefundAddress, maxAddress)
	c.lines("proof", r.Proof, maxProof)
	r.Metadata = c.metadata(r.Metadata)

	r.PaymentMethods = first(r.PaymentMethods, maxMethods)
	for i := range r.PaymentMethods {
		c.method(&r.PaymentMethods[i])
	}
	r.Payments = last(r.Payments, maxPayments)
	for i := range r.Payments {
		c.payment(&r.Payments[i])
	}
	r.Quotes = last(r.Quotes, maxQuotes)
	for i := range r.Quotes {
		c.quote(&r.Quotes[i])
	}
	return c.err()
}

func (c *check) method(m *api.PaymentMethod) {
	c.require("payment_methods.crypto_currency", m.CryptoCurrency != "")
	c.word("payment_methods.crypto_currency", m.CryptoCurrency, maxWord)
	c.text(&m.Symbol, maxWord)
	c.text(&m.Name, maxWord)
	c.word("payment_methods.network", m.Network, maxWord)
	c.text(&m.NetworkName, maxWord)
	c.word("payment_methods.contract", m.Contract, maxAddress)
	c.word("payment_methods.chain_id", m.ChainID, maxWord)
	c.require("payment_methods.decimals", m.Decimals >= 0 && m.Decimals <= maxDecimals)
	c.require("payment_methods.address", m.Address != "")
	c.word("payment_methods.address", m.Address, maxAddress)
	c.amount("payment_methods.expected_amount", m.ExpectedAmount)
	c.amount("payment_methods.due_amount", m.DueAmount)
	c.amount("payment_methods.smallest_amount", m.SmallestAmount)
	c.rate("payment_methods.rate_eur", m.RateEUR)
	c.rate("payment_methods.rate_usd", m.RateUSD)
	c.rate("payment_methods.rate_client", m.RateClient)
	c.word("payment_methods.payment_uri", m.PaymentURI, maxURI)
	c.word("payment_methods.payment_code", m.PaymentCode, maxURI)
	c.word("payment_methods.address_code", m.AddressCode, maxURI)
	c.counter("payment_methods.confirmations", int64(m.Confirmations))
	m.Bridged = first(m.Bridged, maxBridged)
	for i := range m.Bridged {
		c.text(&m.Bridged[i], maxWord)
	}
}

func (c *check) payment(p *api.Payment) {
	c.word("payments.id", p.ID, maxAddress)
	c.word("payments.crypto_currency", p.CryptoCurrency, maxWord)
	c.word("payments.address", p.Address, maxAddress)
	c.amount("payments.amount", p.Amount)
	c.amount("payments.fiat_amount", p.FiatAmount)
	c.word("payments.tx", p.Tx, maxAddress)
	c.counter("payments.confirmations", int64(p.Confirmations))
	c.counter("payments.required", int64(p.Required))
	c.oneOf("payments.state", p.State, states)
	c.moment("payments.first_seen_at", &p.FirstSeenAt)
	c.text(&p.Symbol, maxWord)
	c.text(&p.NetworkName, maxWord)
}

func (c *check) quote(q *api.Quote) {
	c.counter("quotes.number", int64(q.Number))
	c.moment("quotes.from", &q.From)
	c.moment("quotes.until", &q.Until)
	c.amount("quotes.due_amount", q.DueAmount)
	q.Evidence = nil // for merchants only, and of any size
	q.Prices = first(q.Prices, maxMethods)
	for _, p := range q.Prices {
		c.word("quotes.prices.crypto_currency", p.CryptoCurrency, maxWord)
		c.amount("quotes.prices.expected_amount", p.ExpectedAmount)
		c.rate("quotes.prices.rate_eur", p.RateEUR)
		c.rate("quotes.prices.rate_usd", p.RateUSD)
		c.rate("quotes.prices.rate_client", p.RateClient)
	}
}

// check records the first invalid field of an answer.
type check struct{ field string }

func (c *check) err() error {
	if c.field == "" {
		return nil
	}
	return fmt.Errorf("%w: field %s", ErrNonsense, c.field)
}

// require records the field as invalid unless ok is true.
func (c *check) require(field string, ok bool) {
	if !ok && c.field == "" {
		c.field = field
	}
}

func (c *check) id(field, id string) {
	c.require(field, len(id) <= maxID && idForm.MatchString(id))
}

func (c *check) oneOf(field, word string, known []string) {
	c.require(field, slices.Contains(known, word))
}

func (c *check) counter(field string, n int64) {
	c.require(field, n >= 0 && n <= maxCounter)
}

func (c *check) amount(field, amount string) {
	c.require(field, len(amount) <= maxAmount && amountForm.MatchString(amount))
}

// rate checks an optional amount.
func (c *check) rate(field, rate string) {
	if rate != "" {
		c.amount(field, rate)
	}
}

// number checks an optional rate in the form of the specification.
func (c *check) number(field string, n json.Number) {
	c.rate(field, digits(n))
}

// word checks an optional text for programs of at most limit characters.
func (c *check) word(field, word string, limit int) {
	c.require(field, !isLonger(word, limit) && utf8.ValidString(word) && !strings.ContainsFunc(word, isControl))
}

// lines checks an optional ASCII text of several lines for programs.
func (c *check) lines(field, text string, limit int) {
	c.require(field, len(text) <= limit && !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }))
}

// url checks the optional address of a page. Backslashes are refused, because browsers read them as
// slashes.
func (c *check) url(field, address string) {
	c.word(field, address, maxURI)
	if address == "" || c.field != "" {
		return
	}
	u, err := url.Parse(address)
	c.require(field, err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil &&
		!strings.ContainsFunc(address, func(r rune) bool { return r == '\\' || unicode.IsSpace(r) }))
}

// moment checks an optional time and converts it to UTC with three fractional digits.
func (c *check) moment(field string, wire *string) {
	if *wire == "" {
		return
	}
	if len(*wire) > maxTime {
		c.require(field, false)
		return
	}
	at, err := time.Parse(time.RFC3339Nano, *wire)
	at = at.UTC()
	c.require(field, err == nil && at.Year() >= 0 && at.Year() <= 9999)
	*wire = at.Format(api.TimeLayout)
}

// text cleans a text for people and truncates it to limit characters.
func (c *check) text(text *string, limit int) { *text = cleaned(*text, limit) }

// metadata checks the size of metadata and cleans it.
func (c *check) metadata(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	clean, size := make(map[string]string), 0
	for name, value := range m {
		if size += len(name) + len(value); size > maxMetadata {
			c.require("metadata", false)
			return nil
		}
		clean[cleaned(name, maxMetadata)] = cleaned(value, maxMetadata)
	}
	return clean
}

// checkedTag returns a valid ETag as it is, and otherwise one computed from the resource.
func checkedTag(tag string, r api.Resource) string {
	if len(tag) > maxETag || !tagForm.MatchString(tag) {
		return hashed(r)
	}
	return tag
}

// checkedCode returns the code of an error, or "" if it is invalid.
func checkedCode(code string) string {
	if len(code) > maxWord || !codeForm.MatchString(code) {
		return ""
	}
	return code
}

// checkedMessage returns an error's message as one line of bounded length.
func checkedMessage(message string) string {
	return strings.TrimSpace(cleaned(message, maxMessage))
}

// checkedOffset returns the offset of the service's clock, limited to maxOffset and rounded to seconds.
func checkedOffset(d time.Duration) time.Duration {
	return max(-maxOffset, min(d, maxOffset)).Round(time.Second)
}

// cleaned returns a text truncated to limit characters, with a space for each control character.
func cleaned(text string, limit int) string {
	if isLonger(text, limit) {
		text = string([]rune(text[:min(len(text), limit*utf8.UTFMax)])[:limit])
	}
	if !strings.ContainsFunc(text, isControl) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, text)
}

// isLonger reports whether a text has more than limit characters. It does not count the characters
// of a text that has more bytes than limit characters can have.
func isLonger(text string, limit int) bool {
	return len(text) > limit && (len(text) > limit*utf8.UTFMax || utf8.RuneCountInString(text) > limit)
}

// isControl reports whether a character is a C0 or C1 control, or a separator of lines or
// paragraphs.
func isControl(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// first and last truncate a list to its first or last limit elements.
func first[T any](list []T, limit int) []T { return list[:min(len(list), limit)] }

func last[T any](list []T, limit int) []T { return list[max(0, len(list)-limit):] }
