// Package accounttest helps tests of sign-in with passkeys.
package accounttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"testing"

	"github.com/descope/virtualwebauthn"
)

// NewCredential returns a new passkey. Its key has coordinates of 32 bytes: virtualwebauthn omits leading
// zeros, which RFC 9053, section 7.1.1 forbids.
func NewCredential(t testing.TB) virtualwebauthn.Credential {
	t.Helper()
	for {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		point, err := key.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if point[1] == 0 || point[33] == 0 { // the first byte is the format of the point
			continue
		}
		data, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return virtualwebauthn.NewCredentialWithImportedKey(virtualwebauthn.KeyTypeEC2, data)
	}
}
