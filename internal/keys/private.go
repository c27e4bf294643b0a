package keys

import (
	"regexp"
	"strings"
	"unicode"
)

// secretPatterns match secrets that allow spending, anywhere in the text. A typing error in a secret must
// not turn it into an ordinary invalid key, which might be shown in an error.
var secretPatterns = []*regexp.Regexp{
	// Extended private keys of BIP 32 and SLIP-132, alone or in a descriptor.
	regexp.MustCompile(`(?i)\b(?:[xyztuv]prv|[lmt]tpv)`),
	// Wallet import format: Bitcoin, Litecoin and their test networks.
	regexp.MustCompile(`\b[5KLc9T6][1-9A-HJ-NP-Za-km-z]{50,51}\b`),
	// BIP 38, encrypted.
	regexp.MustCompile(`\b6P[1-9A-HJ-NP-Za-km-z]{56}\b`),
	// 32 bytes in hex, as wallets of Ethereum and Monero export one private key, with a digit too many or two too few.
	// A descriptor has public keys of this form in parentheses.
	regexp.MustCompile(`(?:^|[\s:=])(?:0[xX])?[0-9a-fA-F]{62,65}(?:$|[\s,;])`),
}

// minWords is less than the twelve words of the shortest BIP 39 mnemonic in use, because one or two
// words may be lost in copying.
const minWords = 10

// LooksPrivate reports whether a text that was given as a key or an address seems to be a secret
// that allows spending, even with a typing error. It checks only the form, so it is also true for
// some ordinary texts. For free text use HoldsSecret.
func LooksPrivate(text string) bool {
	for _, secret := range secretPatterns {
		if secret.MatchString(text) {
			return true
		}
	}
	return len(wordsOf(text)) >= minWords
}

// wordsOf returns the words of a text that is a list of words, in any language, numbered or not: a
// mnemonic of BIP 39, SLIP-39 or Electrum. It returns nil for other texts.
func wordsOf(text string) (words []string) {
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ';' }) {
		word := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
		if word == "" {
			continue // a number before a word
		}
		if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
			return nil
		}
		words = append(words, word)
	}
	return words
}
