package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// Password is a sign-in method: a password, the codes of an authenticator app, and recovery codes in
// place of the app.
type Password struct {
	Hash          string   `json:"hash"`           // argon2id in the PHC string format
	Seed          string   `json:"seed"`           // of the authenticator app, in base32
	LastStep      int64    `json:"last_step"`      // time step of the last accepted code; see RFC 6238
	RecoveryCodes []string `json:"recovery_codes"` // hashes of the codes that are not used
}

const (
	minPassword = 12  // characters
	maxPassword = 512 // bytes
)

// CheckPassword returns a *FieldError if a new password of an account is too short, too long, repetitive, a sequence,
// common or the account's name.
func CheckPassword(password, name string) error {
	password = normal(password)
	switch {
	case utf8.RuneCountInString(password) < minPassword:
		return &FieldError{"password", "must have at least 12 characters"}
	case len(password) > maxPassword:
		return &FieldError{"password", "must have at most 512 bytes"}
	case repeats(password):
		return &FieldError{"password", "repeats a few characters, or is a sequence such as 123456"}
	case isCommon(password, name):
		return &FieldError{"password", "is a common password or your name with a few digits: use several words"}
	}
	return nil
}

// normal returns the form of a password that is hashed, so that it does not depend on the keyboard.
// See RFC 8265, 4.2.1.
func normal(password string) string { return norm.NFC.String(password) }

// repeats reports whether a text has fewer than 5 different characters, or is a sequence such as 123456789012: more than
// three quarters of its characters equal, follow or precede the character before them.
func repeats(text string) bool {
	different, steps := map[rune]bool{}, map[rune]int{} // steps counts the differences between adjoining characters
	var last rune
	for i, r := range []rune(text) {
		different[r] = true
		if i > 0 {
			steps[r-last]++
		}
		last = r
	}
	n := utf8.RuneCountInString(text) - 1
	return len(different) < 5 || (steps[1]+steps[-1]+steps[0])*4 > n*3
}

// commonText is a list of the most frequent passwords, reduced to their letters: from zxcvbn, under the
// MIT licence, Copyright (c) 2012-2016 Dan Wheeler and Dropbox, Inc.
//
//go:embed common.txt
var commonText string

// commonWords returns the set of the texts in commonText.
var commonWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.Lines(commonText) {
		words[strings.TrimSuffix(word, "\n")] = true
	}
	return words
})

// minAdded is the number of other characters with which a password that contains a common word is accepted.
const minAdded = 8

// isCommon reports whether a password is a common word, or the account's name, once or several times,
// with fewer than minAdded other characters before and after it.
func isCommon(password, name string) bool {
	folded := NameKey(password)
	letters := strings.TrimFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) })
	if utf8.RuneCountInString(folded)-utf8.RuneCountInString(letters) >= minAdded {
		return false
	}
	letters = repeatedUnit(letters)
	return letters == "" || letters == NameKey(name) || commonWords()[letters]
}

// repeatedUnit returns the shortest text of which a text is a repetition: "abc" for "abcabc", and "abcd" for "abcd". A text
// occurs in its double for the second time after the length of the unit.
func repeatedUnit(text string) string {
	if i := strings.Index((text + text)[min(1, len(text)):], text); text != "" && i >= 0 {
		return text[:i+1]
	}
	return text
}

// cost has the parameters of argon2id.
type cost struct {
	time, memory uint32 // passes; KiB
	threads      uint8
}

// defaultCost is the second recommended option of RFC 9106, section 4.
var defaultCost = cost{time: 3, memory: 64 << 10, threads: 4}

const (
	saltSize = 16
	hashSize = 32
)

// hashing admits one calculation at a time, so that many sign-ins use neither the memory nor the
// processors that payments need.
var hashing = make(chan struct{}, 1)

// sum returns the hash of a password. It waits for other calculations until the context ends.
func (c cost) sum(ctx context.Context, password string, salt []byte) ([]byte, error) {
	select {
	case hashing <- struct{}{}:
		defer func() { <-hashing }()
		return argon2.IDKey([]byte(normal(password)), salt, c.time, c.memory, c.threads, hashSize), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hashPassword returns the hash of a password with a new salt.
func (c cost) hashPassword(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails; see crypto/rand
	sum, err := c.sum(ctx, password, salt)
	return c.text(salt, sum), err
}

// text returns a salt and a hash in the PHC string format.
func (c cost) text(salt, sum []byte) string {
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.time, c.threads, encode(salt), encode(sum))
}

// matchesHash reports whether a hash is that of a password.
func matchesHash(ctx context.Context, hash, password string) (bool, error) {
	if len(password) > maxPassword {
		password = "" // no hash is that of an empty password, and the comparison takes as long as others
	}
	var version int
	var c cost
	fields := strings.Split(hash, "$")
	if len(fields) != 6 || fields[1] != "argon2id" {
		return false, nil
	}
	if _, err := fmt.Sscanf(fields[2]+" "+fields[3], "v=%d m=%d,t=%d,p=%d", &version, &c.memory, &c.time, &c.threads); err != nil || version != argon2.Version {
		return false, nil
	}
	salt, err := base64.RawStdEncoding.DecodeString(fields[4])
	if err != nil {
		return false, nil
	}
	sum, err := c.sum(ctx, password, salt)
	return err == nil && subtle.ConstantTimeCompare([]byte(c.text(salt, sum)), []byte(hash)) == 1, err
}

// use verifies a code and uses it up: a code of the authenticator app, or, if recovery is set, a recovery code. It
// returns ErrSignIn if the code is not valid.
func (p *Password) use(code string, now time.Time, recovery bool) (Method, error) {
	step, err := useCode(p.Seed, code, p.LastStep, now)
	if err == nil {
		p.LastStep = step
		return ByPassword, nil
	}
	if remaining, ok := useRecoveryCode(p.RecoveryCodes, code); ok && recovery {
		p.RecoveryCodes = remaining
		return ByRecovery, nil
	}
	return "", ErrSignIn
}
