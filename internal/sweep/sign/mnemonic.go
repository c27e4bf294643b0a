// Package sign derives the keys of a recovery phrase and signs the rows of a sweep plan. No other package of
// the program makes keys from words. It imports nothing that reaches a network.
package sign

import (
	"bytes"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/text/unicode/norm"
)

// Refusal is a sentence for the operator about why nothing was signed.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// errChecksum means that a word is wrong or that words are in the wrong order.
const errChecksum = Refusal("The checksum of the words is wrong.")

// english is the word list bip-0039/english.txt of github.com/bitcoin/bips (MIT), in alphabetical order.
//
//go:embed english.txt
var english string

var wordList = strings.Fields(english)

// Numbers of BIP 39, "Generating the mnemonic".
const (
	bitsPerWord = 11
	minWords    = 12
	maxWords    = 24
	iterations  = 2048 // "From mnemonic to seed"
	seedSize    = 64   // bytes
)

// newSeed returns the seed of a recovery phrase and a passphrase, which may be empty. Words may be separated by any
// white space and written in capital letters. The error is a Refusal. See BIP 39, "From mnemonic to seed".
func newSeed(phrase, passphrase []byte) ([]byte, error) {
	normal := norm.NFKD.Bytes(phrase)
	lower := bytes.ToLower(normal)
	words := bytes.Fields(lower)
	sentence := bytes.Join(words, []byte(" "))
	secret := norm.NFKD.Bytes(passphrase)
	salt := append([]byte("mnemonic"), secret...)
	defer wipe(normal, lower, sentence, secret, salt)
	if err := checkWords(words); err != nil {
		return nil, err
	}
	// The key is a string for pbkdf2, and shares the bytes that are cleared.
	return pbkdf2.Key(sha512.New, unsafe.String(&sentence[0], len(sentence)), salt, iterations, seedSize)
}

// checkWords checks the number of words, each word and the checksum.
func checkWords(words [][]byte) error {
	var bits [(maxWords*bitsPerWord + 7) / 8]byte
	defer wipe(bits[:])
	for i, word := range words {
		number, known := slices.BinarySearchFunc(wordList, word, compareWord)
		if !known {
			return Refusal(fmt.Sprintf("Word %d is none of the 2,048.", i+1))
		}
		if i < maxWords {
			appendWord(bits[:], i, number)
		}
	}
	if n := len(words); n < minWords || n > maxWords || n%3 != 0 {
		return Refusal(fmt.Sprintf("There are %d words, not 12, 15, 18, 21 or 24.", n))
	}
	checksum := len(words) / 3 // bits
	size := (len(words)*bitsPerWord - checksum) / 8
	hash := sha256.Sum256(bits[:size])
	defer wipe(hash[:])
	if (hash[0]^bits[size])>>(8-checksum) != 0 {
		return errChecksum
	}
	return nil
}

// compareWord compares a word of the list with a typed word, without a copy of the typed word.
func compareWord(listed string, typed []byte) int {
	if listed == string(typed) {
		return 0
	}
	if listed < string(typed) {
		return -1
	}
	return 1
}

// appendWord sets the bits of the word at a position to the number of the word.
func appendWord(bits []byte, position, number int) {
	for i := range bitsPerWord {
		if number>>(bitsPerWord-1-i)&1 == 1 {
			at := position*bitsPerWord + i
			bits[at/8] |= 0x80 >> (at % 8)
		}
	}
}

// wipe overwrites secrets with zeros. Copies that libraries or the runtime made may remain in memory.
func wipe(secrets ...[]byte) {
	for _, secret := range secrets {
		clear(secret)
	}
}
