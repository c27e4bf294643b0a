package keys

import "strings"

// The alphabets of BIP 380, "Character Set" and "Checksum". The characters of a descriptor form
// three groups of 32, chosen so that the likeliest errors stay within one group.
const (
	descriptorLetters = "0123456789()[],'/*abcdefgh@:$%{}" +
		"IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~" +
		"ijklmnopqrstuvwxyzABCDEFGH`#\"\\ "
	checksumLetters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	checksumLength  = 8
)

// cutChecksum removes the checksum from a descriptor. BIP 380 lets the program decide whether the
// checksum is required: here it is optional, because the wallet shows addresses to compare, and not
// every wallet writes a checksum.
func cutChecksum(text string) (body string, err error) {
	body, checksum, hasChecksum := strings.Cut(text, "#")
	want, ok := checksumOf(body)
	switch {
	case !ok:
		return "", descriptorError("it has a character that no descriptor has")
	case !hasChecksum || checksum == want:
		return body, nil
	case len(checksum) != checksumLength:
		return "", descriptorError("its checksum, which follows the #, is not 8 characters long")
	}
	return "", descriptorError("its checksum does not fit its text, so a character is missing or mistyped, or h and ' were exchanged")
}

// checksumOf returns the checksum of a descriptor without one; ok is false if the descriptor has an
// invalid character. See BIP 380, "Checksum".
func checksumOf(body string) (checksum string, ok bool) {
	code, groups := uint64(1), 0
	for i := range len(body) {
		at := strings.IndexByte(descriptorLetters, body[i])
		if at < 0 {
			return "", false
		}
		code = polymodStep(code, at%32)
		groups = groups*3 + at/32
		if i%3 == 2 { // the groups of three characters are an additional symbol
			code, groups = polymodStep(code, groups), 0
		}
	}
	if len(body)%3 != 0 {
		code = polymodStep(code, groups)
	}
	for range checksumLength {
		code = polymodStep(code, 0)
	}
	code ^= 1
	letters := make([]byte, checksumLength)
	for i := range letters {
		letters[i] = checksumLetters[code>>(5*(checksumLength-1-i))&31]
	}
	return string(letters), true
}

// polymodStep adds a symbol to a checksum: descsum_polymod of BIP 380.
func polymodStep(code uint64, symbol int) uint64 {
	top := code >> 35
	code = (code&0x7ffffffff)<<5 ^ uint64(symbol)
	for i, generator := range []uint64{0xf5dee51989, 0xa9fdca3312, 0x1bab10e32d, 0x3706b1677a, 0x644d626ffd} {
		if top>>i&1 == 1 {
			code ^= generator
		}
	}
	return code
}
