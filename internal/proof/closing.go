package proof

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// closingHead is the first line of the statement of a closed month.
const closingHead = "chequer-books-v1"

// Closing states what the books of a shop contain for a month.
type Closing struct {
	Server   string // the base address, in ASCII
	Shop     string // identifier
	Month    string // 2026-11
	Zone     string // time zone of the days and months
	ClosedAt time.Time
	Lines    int    // number of lines
	SHA256   string // of the file, in hexadecimal digits
	Previous string // SHA-256 of the signed statement of the month closed before; empty for the first
}

// none is written in place of Previous in the statement of the first month. NoPrevious is the line.
const (
	none       = "none"
	NoPrevious = "previous: " + none
)

// body returns the signed part of the text.
func (c Closing) body(key PublicKey) string {
	previous := c.Previous
	if previous == "" {
		previous = none
	}
	return fmt.Sprintf("%s\nserver: %s\nshop: %s\nmonth: %s\nzone: %s\nclosed: %s\nlines: %d\nsha256: %s\nprevious: %s\n"+keyLine+"%s\n",
		closingHead, c.Server, c.Shop, c.Month, c.Zone, stamp(c.ClosedAt), c.Lines, c.SHA256, previous, key)
}

var closingPattern = regexp.MustCompile(`^` + closingHead + `\n` +
	`server: (https?://[!-~]+)\n` +
	`shop: ([A-Za-z0-9_-]{1,64})\n` +
	`month: ([0-9]{4}-(?:0[1-9]|1[0-2]))\n` +
	`zone: ([A-Za-z0-9_+/-]{1,64})\n` +
	`closed: (` + moment + `)\n` +
	`lines: (0|[1-9][0-9]{0,8})\n` +
	`sha256: ([0-9a-f]{64})\n` +
	`previous: (` + none + `|[0-9a-f]{64})\n` +
	keyLine + `(ed25519:[A-Za-z0-9_-]{43})\n$`)

// SignClosing returns the text of a statement, signed with an active key. It returns ErrFormat if a value has no form in a statement.
func SignClosing(c Closing, k Key) (string, error) {
	body := c.body(k.Public)
	if _, _, err := parseClosing(body); err != nil {
		return "", fmt.Errorf("sign the statement of %s: %w", c.Month, err)
	}
	return appendSignature(body, k), nil
}

// parseClosing parses the signed part. It returns ErrFormat for a text that body would not write exactly so.
func parseClosing(text string) (c Closing, key PublicKey, err error) {
	found := closingPattern.FindStringSubmatch(text)
	if found == nil {
		return c, "", fmt.Errorf("%w: it is not the statement of a closed month", ErrFormat)
	}
	c = Closing{Server: found[1], Shop: found[2], Month: found[3], Zone: found[4], SHA256: found[7], Previous: found[8]}
	if c.ClosedAt, err = time.Parse(layout, found[5]); err != nil {
		return c, "", fmt.Errorf("%w: %s is not a time", ErrFormat, found[5])
	}
	c.Lines, _ = strconv.Atoi(found[6]) // nine digits
	if c.Previous == none {
		c.Previous = ""
	}
	key = PublicKey(found[9])
	if c.body(key) != text {
		return c, "", ErrFormat
	}
	return c, key, nil
}

// VerifyClosing parses the signed statement of a closed month, and checks that one of the trusted keys signed it. The errors are
// ErrFormat, ErrUntrusted, ErrKey for a malformed trusted key, ErrSignature and ErrRetired.
func VerifyClosing(text string, trusted []Trusted) (Closing, error) {
	body, last, found := strings.Cut(text, "\n"+signatureLine)
	if !found || len(text) > MaxSize {
		return Closing{}, fmt.Errorf("%w: it is not the signed statement of a closed month", ErrFormat)
	}
	body += "\n"
	c, key, err := parseClosing(body)
	if err != nil {
		return Closing{}, err
	}
	signature, err := parseSignature(last)
	if err != nil {
		return Closing{}, err
	}
	return c, verify(body, signature, key, c.ClosedAt, trusted)
}
