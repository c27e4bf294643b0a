package daemon

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"
)

// challenge is a request of a server for a login. See RFC 7616, section 3.3.
type challenge struct {
	realm, nonce, opaque string
	algorithm            string // MD5 or SHA-256, as the server writes it
	isStale              bool
	hash                 func() hash.Hash
	count                uint32 // of answers with this nonce
}

// algorithms are the supported algorithms, the better ones first. monerod offers also their variants for sessions, which
// a client does not need to support.
var algorithms = []struct {
	name string
	hash func() hash.Hash
}{
	{"SHA-256", sha256.New},
	{"MD5", md5.New},
}

// newChallenge returns the challenge with the best algorithm of the values of WWW-Authenticate, or nil if there is none
// that the client supports.
func newChallenge(values []string) *challenge {
	var best *challenge
	rank := len(algorithms)
	for _, value := range values {
		scheme, rest, _ := strings.Cut(strings.TrimSpace(value), " ")
		fields := parseFields(rest)
		if !strings.EqualFold(scheme, "Digest") || fields["nonce"] == "" || !offersAuth(fields["qop"]) {
			continue
		}
		name := fields["algorithm"]
		if name == "" {
			name = "MD5"
		}
		for i, a := range algorithms[:rank] {
			if strings.EqualFold(name, a.name) {
				rank = i
				best = &challenge{
					realm: fields["realm"], nonce: fields["nonce"], opaque: fields["opaque"], algorithm: name,
					isStale: strings.EqualFold(fields["stale"], "true"), hash: a.hash,
				}
				break
			}
		}
	}
	return best
}

// offersAuth reports whether a list of qualities of protection contains auth.
func offersAuth(list string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(q string) bool { return strings.EqualFold(strings.TrimSpace(q), "auth") })
}

// parseFields reads fields of the form name=token or name="text", separated by commas. The texts keep their
// backslashes, because the login uses them as they are. It stops at a field of another form.
func parseFields(text string) map[string]string {
	fields := map[string]string{}
	for {
		name, rest, found := strings.Cut(strings.TrimLeft(text, " \t,"), "=")
		if !found {
			return fields
		}
		rest = strings.TrimLeft(rest, " \t")
		var value string
		if quoted, isQuoted := strings.CutPrefix(rest, `"`); isQuoted {
			end := quoteEnd(quoted)
			if end < 0 {
				return fields
			}
			value, text = quoted[:end], quoted[end+1:]
		} else {
			value, text, _ = strings.Cut(rest, ",")
			value = strings.TrimSpace(value)
		}
		fields[strings.ToLower(strings.TrimSpace(name))] = value
	}
}

// quoteEnd returns the index of the quotation mark that ends a quoted string, or -1.
func quoteEnd(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// answer returns the value of Authorization for the next request with the challenge. See RFC 7616, section 3.4. monerod
// counts the requests of each connection, and refuses another count as stale.
func (c *challenge) answer(user, password, method, path string) string {
	c.count++
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return c.answerWith(user, password, method, path, hex.EncodeToString(random[:]))
}

func (c *challenge) answerWith(user, password, method, path, clientNonce string) string {
	sum := func(parts ...string) string {
		h := c.hash()
		h.Write([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(h.Sum(nil))
	}
	count := fmt.Sprintf("%08x", c.count)
	response := sum(sum(user, c.realm, password), c.nonce, count, clientNonce, "auth", sum(method, path))
	value := fmt.Sprintf(`Digest username="%s", realm="%s", nonce="%s", uri="%s", algorithm=%s, qop=auth, nc=%s, cnonce="%s", response="%s"`,
		user, c.realm, c.nonce, path, c.algorithm, count, clientNonce, response)
	if c.opaque != "" {
		value += `, opaque="` + c.opaque + `"`
	}
	return value
}
