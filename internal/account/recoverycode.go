package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"slices"
	"strings"
)

// recoveryCodes is the number of recovery codes that are made together.
const recoveryCodes = 10

// codeEncoding is the encoding of recovery codes: Crockford's base 32 in lower case, which has no letters that look like
// digits.
var codeEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newRecoveryCodes returns random codes of 80 bits, and their hashes.
func newRecoveryCodes() (codes, hashes []string) {
	for range recoveryCodes {
		var b [10]byte
		rand.Read(b[:]) // never fails; see crypto/rand
		text := codeEncoding.EncodeToString(b[:])
		code := text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
		codes, hashes = append(codes, code), append(hashes, hashRecoveryCode(code))
	}
	return codes, hashes
}

// hashRecoveryCode returns the hash of a code. It ignores case, spaces and hyphens, and reads letters
// that look like digits as digits.
func hashRecoveryCode(code string) string {
	code = strings.NewReplacer(" ", "", "-", "", "o", "0", "i", "1", "l", "1").Replace(strings.ToLower(code))
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

// useRecoveryCode removes the hash of a code, and reports whether it was there.
func useRecoveryCode(hashes []string, code string) (remaining []string, ok bool) {
	i := slices.Index(hashes, hashRecoveryCode(code))
	if i < 0 {
		return hashes, false
	}
	return slices.Delete(slices.Clone(hashes), i, i+1), true
}
