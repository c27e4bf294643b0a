// Package seal encrypts secrets and authenticates rows that are stored in a database. Reading the secrets and
// forging the rows need the master key.
package seal

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeySize is the size of a master key in bytes.
const KeySize = 32

// version is the prefix of a sealed text, so that later formats can be distinguished.
const version = "v1."

// Box encrypts and authenticates with one master key. It is safe for concurrent use.
type Box struct {
	aead   cipher.AEAD
	macKey []byte
}

// New returns a Box for a master key. It returns ErrKeySize if the key does not have KeySize bytes.
func New(master []byte) (*Box, error) {
	if len(master) != KeySize {
		return nil, ErrKeySize
	}
	sealKey, err := subkey(master, "chequer seal v1")
	if err != nil {
		return nil, err
	}
	macKey, err := subkey(master, "chequer mac v1")
	if err != nil {
		return nil, err
	}
	aead, err := chacha20poly1305.NewX(sealKey)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return &Box{aead: aead, macKey: macKey}, nil
}

// Seal encrypts a secret for a purpose, which should name the row: a sealed text that was moved to
// another row cannot be opened.
func (b *Box) Seal(purpose string, plain []byte) string {
	nonce := make([]byte, b.aead.NonceSize())
	rand.Read(nonce) // never fails, see crypto/rand; two nonces of 24 random bytes are equal with negligible probability
	return version + base64.RawURLEncoding.EncodeToString(b.aead.Seal(nonce, nonce, plain, []byte(purpose)))
}

// Open decrypts a text that was sealed for the same purpose. The error is ErrNotSealed.
func (b *Box) Open(purpose, sealed string) ([]byte, error) {
	text, versioned := strings.CutPrefix(sealed, version)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !versioned || err != nil || len(raw) < b.aead.NonceSize() {
		return nil, ErrNotSealed
	}
	nonce, body := raw[:b.aead.NonceSize()], raw[b.aead.NonceSize():]
	plain, err := b.aead.Open(nil, nonce, body, []byte(purpose))
	if err != nil {
		return nil, ErrNotSealed
	}
	return plain, nil
}

// MAC returns a message authentication code of fields for a purpose. Computing it needs the master
// key.
func (b *Box) MAC(purpose string, fields ...string) string {
	return base64.RawURLEncoding.EncodeToString(b.sum(purpose, fields))
}

// Check reports whether mac is the MAC of these fields for this purpose.
func (b *Box) Check(mac, purpose string, fields ...string) bool {
	sum, err := base64.RawURLEncoding.Strict().DecodeString(mac)
	return err == nil && hmac.Equal(sum, b.sum(purpose, fields))
}

// sum returns the MAC as bytes. Each text is preceded by its length, so that two different lists of
// fields never give the same input.
func (b *Box) sum(purpose string, fields []string) []byte {
	h := hmac.New(sha256.New, b.macKey)
	for _, text := range append([]string{purpose}, fields...) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		h.Write(size[:])
		h.Write([]byte(text))
	}
	return h.Sum(nil)
}

// subkey derives a key for one use with RFC 5869, with the use as info.
func subkey(master []byte, use string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, master, nil, use, KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive key for %s: %w", use, err)
	}
	return key, nil
}
