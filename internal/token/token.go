// Package token makes random keys and identifiers.
package token

import "crypto/rand"

// alphabet is the alphabet of keys and identifiers.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// New returns random letters and digits, each equally likely.
func New(length int) string {
	text := make([]byte, 0, length)
	var b [64]byte
	for len(text) < length {
		rand.Read(b[:]) // never fails; see crypto/rand
		for _, v := range b {
			// 248 is the largest multiple of 62 that a byte holds.
			if v < 248 && len(text) < length {
				text = append(text, alphabet[int(v)%len(alphabet)])
			}
		}
	}
	return string(text)
}
