package foreign

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"chequer/internal/api"
	"chequer/internal/client"
)

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
	maxRefunds  = 100
	maxKinds    = 20
	// maxOffset limits how far the end of a quote, or the service's clock, may be from now.
	maxOffset = 10 * 365 * 24 * time.Hour
)

var (
	idPattern     = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	amountPattern = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`)
)

// check records the first invalid field of an answer.
type check struct{ field string }

func (c *check) err() error {
	if c.field == "" {
		return nil
	}
	return fmt.Errorf("%w: field %s", client.ErrInvalidAnswer, c.field)
}

// require records the field as invalid unless ok is true.
func (c *check) require(field string, ok bool) {
	if !ok && c.field == "" {
		c.field = field
	}
}

func (c *check) id(field, id string) {
	c.require(field, len(id) <= maxID && idPattern.MatchString(id))
}

func (c *check) oneOf(field, word string, known []string) {
	c.require(field, slices.Contains(known, word))
}

func (c *check) counter(field string, n int64) {
	c.require(field, n >= 0 && n <= maxCounter)
}

func (c *check) amount(field, amount string) {
	c.require(field, len(amount) <= maxAmount && amountPattern.MatchString(amount))
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
