package keys

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/btcsuite/btcd/btcutil/base58"
	"github.com/tyler-smith/go-bip39/wordlists"
	"golang.org/x/text/unicode/norm"
)

// HoldsSecret reports whether a text contains a secret that can spend money, verified by its
// checksum: an extended private key, a private key in wallet import format, or the words of a
// wallet. It is false for texts that only resemble a secret, because it is used for free text and
// for names from other programs, such as order numbers of 64 hex digits. See LooksPrivate for texts
// that were given as a key.
func HoldsSecret(text string) bool {
	return slices.ContainsFunc(base58Runs.FindAllString(text, -1), isSecretKey) || isMnemonic(text)
}

// base58Runs matches texts that may be a private key, between other characters.
var base58Runs = regexp.MustCompile(`[1-9A-HJ-NP-Za-km-z]{50,}`)

// isSecretKey reports whether a text is a private key in base 58.
func isSecretKey(text string) bool {
	if len(text) > maxText {
		return false
	}
	payload, prefix, err := base58.CheckDecode(text)
	if err != nil {
		return looksExtended(text)
	}
	payload = append([]byte{prefix}, payload...)
	switch len(payload) {
	case payloadSize:
		return errors.Is(versions[binary.BigEndian.Uint32(payload)].refusal, ErrPrivateKey)
	case 33, 34: // 34 if the public key is compressed
		return slices.Contains([]byte{0x80, 0xef, 0xb0}, prefix) && (len(payload) == 33 || payload[33] == 1)
	case 39: // encrypted, see BIP 38
		return prefix == 0x01 && (payload[1] == 0x42 || payload[1] == 0x43)
	}
	return false
}

// looksExtended reports whether a text is an extended private key with a typing error, which still
// reveals nearly all of the key.
func looksExtended(text string) bool {
	const shortest = 100
	if len(text) < shortest {
		return false
	}
	for _, v := range versions {
		if errors.Is(v.refusal, ErrPrivateKey) && strings.HasPrefix(text, v.name) {
			return true
		}
	}
	return false
}

// wordList maps each word of a BIP 39 list to its number.
type wordList map[string]int

// wordLists are the BIP 39 lists, without the Portuguese one.
var wordLists = sync.OnceValue(func() (lists []wordList) {
	for _, words := range [][]string{
		wordlists.English, wordlists.Spanish, wordlists.French, wordlists.Italian, wordlists.Czech,
		wordlists.Japanese, wordlists.Korean, wordlists.ChineseSimplified, wordlists.ChineseTraditional,
	} {
		list := wordList{}
		for i, word := range words {
			list[norm.NFKD.String(word)] = i
		}
		lists = append(lists, list)
	}
	return lists
})

// isMnemonic reports whether a text is a recovery phrase, numbered or not, with
// a correct checksum.
func isMnemonic(text string) bool {
	const fewest, most = 12, 24
	words := wordsOf(norm.NFKD.String(strings.ToLower(text)))
	if len(words) < fewest || len(words) > most {
		return false
	}
	for _, list := range wordLists() {
		if places, ok := list.places(words); ok && (validChecksum(places) || isElectrum(words)) {
			return true
		}
	}
	return false
}

// places returns the number of each word; ok is false if a word is not in the list.
func (l wordList) places(words []string) (places []int, ok bool) {
	for _, word := range words {
		place, known := l[word]
		if !known {
			return nil, false
		}
		places = append(places, place)
	}
	return places, true
}

// validChecksum reports whether the checksum of a mnemonic is correct. See BIP 39,
// "Generating the mnemonic".
func validChecksum(places []int) bool {
	const bitsPerWord = 11
	bits := len(places) * bitsPerWord
	checksum := bits / 33
	if bits%33 != 0 {
		return false
	}
	number := new(big.Int)
	for _, place := range places {
		number.Or(number.Lsh(number, bitsPerWord), big.NewInt(int64(place)))
	}
	entropy := new(big.Int).Rsh(number, uint(checksum)).FillBytes(make([]byte, (bits-checksum)/8))
	hash := sha256.Sum256(entropy)
	want := int64(hash[0] >> (8 - checksum))
	got := new(big.Int).And(number, big.NewInt(1<<checksum-1))
	return got.Cmp(big.NewInt(want)) == 0
}

// isElectrum reports whether words have the version number of an Electrum seed.
func isElectrum(words []string) bool {
	mac := hmac.New(sha512.New, []byte("Seed version"))
	mac.Write([]byte(strings.Join(words, " ")))
	version := hex.EncodeToString(mac.Sum(nil))
	return slices.ContainsFunc([]string{"01", "100", "101", "102"}, func(v string) bool { return strings.HasPrefix(version, v) })
}
