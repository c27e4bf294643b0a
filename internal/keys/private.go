package keys

import (
	"regexp"
	"strings"
	"unicode"
)

// secrets are the shapes of texts that spend money, wherever they stand: a
// typing error in one must not make it an ordinary bad key that is shown again.
var secrets = []*regexp.Regexp{
	// Extended private keys of BIP 32 and SLIP-132, alone or in a descriptor.
	regexp.MustCompile(`(?i)\b(?:[xyztuv]prv|[lmt]tpv)`),
	// Wallet import format: Bitcoin, Litecoin and their test networks.
	regexp.MustCompile(`\b[5KLc9T6][1-9A-HJ-NP-Za-km-z]{50,51}\b`),
	// BIP 38, encrypted.
	regexp.MustCompile(`\b6P[1-9A-HJ-NP-Za-km-z]{56}\b`),
	// 32 bytes in hex, as Ethereum wallets export one private key.
	regexp.MustCompile(`^(?:0[xX])?[0-9a-fA-F]{64}$`),
}

// fewestWords is less than the twelve words of the shortest BIP 39 mnemonic in
// use, as one may be lost in copying.
const fewestWords = 10

// LooksPrivate reports whether a text in the place of a key or an address seems to
// be something that spends money, even with a typing error. It judges by shape, so
// that it also refuses ordinary text: for that see HoldsSecret.
func LooksPrivate(text string) bool {
	for _, secret := range secrets {
		if secret.MatchString(text) {
			return true
		}
	}
	return len(wordsOf(text)) >= fewestWords
}

// wordsOf returns the words of a text that is a list of words, in any language,
// numbered or not: a mnemonic of BIP 39, SLIP-39 or Electrum. It is nil for other
// texts.
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
