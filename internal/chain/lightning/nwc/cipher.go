package nwc

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"golang.org/x/crypto/chacha20"
)

// encryption is a form of encryption, as the tag of events names it.
type encryption string

const (
	nip04 encryption = "nip04"
	nip44 encryption = "nip44_v2"
)

// ivMark separates the text of NIP-04 from its initialization vector.
const ivMark = "?iv="

// pair has the secrets that two parties derive from their keys. It encrypts and decrypts their messages.
type pair struct {
	shared       []byte // X coordinate of the shared point, the key of NIP-04
	conversation []byte // conversation key of NIP-44
}

// newPair returns the pair of a private key and the X coordinate of a public key.
func newPair(key *btcec.PrivateKey, peer []byte) (pair, error) {
	public, err := schnorr.ParsePubKey(peer)
	if err != nil {
		return pair{}, fmt.Errorf("public key: %w", err)
	}
	shared := btcec.GenerateSharedSecret(key, public)
	conversation, err := hkdf.Extract(sha256.New, shared, []byte("nip44-v2"))
	if err != nil {
		return pair{}, fmt.Errorf("conversation key: %w", err)
	}
	return pair{shared, conversation}, nil
}

// encrypt encrypts a message.
func (p pair) encrypt(message []byte, e encryption) (string, error) {
	if e == nip04 {
		iv := make([]byte, aes.BlockSize)
		_, _ = rand.Read(iv) // never fails
		return encrypt04(message, p.shared, iv)
	}
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce)
	return encrypt44(message, p.conversation, nonce)
}

// decrypt decrypts a message in either form.
func (p pair) decrypt(content string) ([]byte, error) {
	if strings.Contains(content, ivMark) {
		return decrypt04(content, p.shared)
	}
	return decrypt44(content, p.conversation)
}

// errDecrypt means that a message was not encrypted with the keys of a pair.
var errDecrypt = errors.New("the message cannot be decrypted")

// encrypt04 encrypts a message with AES-256-CBC. See NIP-04.
func encrypt04(message, key, iv []byte) (string, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	padding := aes.BlockSize - len(message)%aes.BlockSize
	padded := append(bytes.Clone(message), bytes.Repeat([]byte{byte(padding)}, padding)...)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(padded, padded)
	return base64.StdEncoding.EncodeToString(padded) + ivMark + base64.StdEncoding.EncodeToString(iv), nil
}

// decrypt04 decrypts a message of NIP-04. It has no authentication but the signature of its event.
func decrypt04(content string, key []byte) ([]byte, error) {
	text, ivText, _ := strings.Cut(content, ivMark)
	data, err := base64.StdEncoding.DecodeString(text)
	iv, err2 := base64.StdEncoding.DecodeString(ivText)
	if err != nil || err2 != nil || len(iv) != aes.BlockSize || len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, errDecrypt
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(data, data)
	padding := int(data[len(data)-1])
	if padding == 0 || padding > aes.BlockSize {
		return nil, errDecrypt
	}
	for _, b := range data[len(data)-padding:] {
		if int(b) != padding {
			return nil, errDecrypt
		}
	}
	return data[:len(data)-padding], nil
}

// Sizes of version 2 of NIP-44, in bytes.
const (
	nip44Version  = 2
	nonceSize     = 32
	macSize       = sha256.Size
	lengthSize    = 2
	maxMessage    = 65535
	minPayload    = 1 + nonceSize + lengthSize + 32 + macSize
	maxPayload    = 1 + nonceSize + lengthSize + maxMessage + 1 + macSize
	maxPayloadB64 = (maxPayload + 2) / 3 * 4
)

// messageKeys returns the keys of one message.
func messageKeys(conversation, nonce []byte) (key, iv, mac []byte, err error) {
	keys, err := hkdf.Expand(sha256.New, conversation, string(nonce), 76)
	if err != nil {
		return nil, nil, nil, err
	}
	return keys[:32], keys[32:44], keys[44:], nil
}

// encrypt44 encrypts a message with ChaCha20 and HMAC-SHA-256. See NIP-44, version 2.
func encrypt44(message, conversation, nonce []byte) (string, error) {
	if len(message) == 0 || len(message) > maxMessage {
		return "", fmt.Errorf("a message of %d bytes cannot be encrypted", len(message))
	}
	key, iv, macKey, err := messageKeys(conversation, nonce)
	if err != nil {
		return "", err
	}
	padded := make([]byte, lengthSize+paddedLength(len(message)))
	binary.BigEndian.PutUint16(padded, uint16(len(message)))
	copy(padded[lengthSize:], message)
	stream, err := chacha20.NewUnauthenticatedCipher(key, iv)
	if err != nil {
		return "", err
	}
	stream.XORKeyStream(padded, padded)
	payload := append([]byte{nip44Version}, nonce...)
	payload = append(payload, padded...)
	payload = append(payload, macOf(macKey, nonce, padded)...)
	return base64.StdEncoding.EncodeToString(payload), nil
}

// decrypt44 decrypts a message of NIP-44, version 2.
func decrypt44(content string, conversation []byte) ([]byte, error) {
	if len(content) > maxPayloadB64 {
		return nil, errDecrypt
	}
	payload, err := base64.StdEncoding.DecodeString(content)
	if err != nil || len(payload) < minPayload || payload[0] != nip44Version {
		return nil, errDecrypt
	}
	nonce, data, mac := payload[1:1+nonceSize], payload[1+nonceSize:len(payload)-macSize], payload[len(payload)-macSize:]
	key, iv, macKey, err := messageKeys(conversation, nonce)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(mac, macOf(macKey, nonce, data)) {
		return nil, errDecrypt
	}
	stream, err := chacha20.NewUnauthenticatedCipher(key, iv)
	if err != nil {
		return nil, err
	}
	stream.XORKeyStream(data, data)
	length := int(binary.BigEndian.Uint16(data))
	if length == 0 || len(data) != lengthSize+paddedLength(length) {
		return nil, errDecrypt
	}
	return data[lengthSize : lengthSize+length], nil
}

func macOf(key, nonce, data []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(nonce)
	h.Write(data)
	return h.Sum(nil)
}

// paddedLength returns the length to which a message is padded: a multiple of 32 bytes, or of an eighth of
// the next power of two.
func paddedLength(length int) int {
	if length <= 32 {
		return 32
	}
	chunk := max(32, 1<<bits.Len(uint(length-1))/8)
	return (length + chunk - 1) / chunk * chunk
}

// privateKey returns a private key of 64 hexadecimal digits.
func privateKey(text string) (*btcec.PrivateKey, error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 32 {
		return nil, errors.New("malformed private key")
	}
	key, _ := btcec.PrivKeyFromBytes(raw)
	return key, nil
}
