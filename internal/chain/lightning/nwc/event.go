package nwc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
)

// The kinds of events of NIP-47.
const (
	kindInfo               = 13194
	kindRequest            = 23194
	kindReply              = 23195
	kindNotificationLegacy = 23196 // encrypted with NIP-04
	kindNotification       = 23197
)

// event is an event of NIP-01.
type event struct {
	ID        string     `json:"id"`
	Author    string     `json:"pubkey"`
	CreatedAt int64      `json:"created_at"`
	Kind      int        `json:"kind"`
	Tags      [][]string `json:"tags"`
	Content   string     `json:"content"`
	Signature string     `json:"sig"`
}

// tag returns the value of the first tag with a name, or "".
func (e *event) tag(name string) string {
	for _, t := range e.Tags {
		if len(t) > 1 && t[0] == name {
			return t[1]
		}
	}
	return ""
}

// hash returns the SHA-256 of the event's serialized form.
func (e *event) hash() [32]byte {
	text := append([]byte{}, `[0,`...)
	text = appendText(text, e.Author)
	text = append(text, ',')
	text = strconv.AppendInt(text, e.CreatedAt, 10)
	text = append(text, ',')
	text = strconv.AppendInt(text, int64(e.Kind), 10)
	text = append(text, `,[`...)
	for i, t := range e.Tags {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, '[')
		for j, value := range t {
			if j > 0 {
				text = append(text, ',')
			}
			text = appendText(text, value)
		}
		text = append(text, ']')
	}
	text = append(text, `],`...)
	text = appendText(text, e.Content)
	return sha256.Sum256(append(text, ']'))
}

// appendText appends a text as JSON with the escapes of NIP-01, which are fewer than those of encoding/json.
func appendText(text []byte, value string) []byte {
	text = append(text, '"')
	for i := range len(value) {
		switch c := value[i]; c {
		case '"', '\\':
			text = append(text, '\\', c)
		case '\n':
			text = append(text, `\n`...)
		case '\r':
			text = append(text, `\r`...)
		case '\t':
			text = append(text, `\t`...)
		case '\b':
			text = append(text, `\b`...)
		case '\f':
			text = append(text, `\f`...)
		default:
			if c < ' ' {
				text = fmt.Appendf(text, `\u%04x`, c)
			} else {
				text = append(text, c)
			}
		}
	}
	return append(text, '"')
}

// sign sets the author, the ID and the signature.
func (e *event) sign(key *btcec.PrivateKey) error {
	e.Author = hex.EncodeToString(schnorr.SerializePubKey(key.PubKey()))
	hash := e.hash()
	signature, err := schnorr.Sign(key, hash[:])
	if err != nil {
		return fmt.Errorf("sign event: %w", err)
	}
	e.ID, e.Signature = hex.EncodeToString(hash[:]), hex.EncodeToString(signature.Serialize())
	return nil
}

var errSignature = errors.New("the event is not signed by its author")

// verify returns an error if the ID or the signature is wrong.
func (e *event) verify() error {
	hash := e.hash()
	author, err := hex.DecodeString(e.Author)
	if err != nil || hex.EncodeToString(hash[:]) != e.ID {
		return errSignature
	}
	key, err := schnorr.ParsePubKey(author)
	if err != nil {
		return errSignature
	}
	raw, err := hex.DecodeString(e.Signature)
	if err != nil {
		return errSignature
	}
	signature, err := schnorr.ParseSignature(raw)
	if err != nil || !signature.Verify(hash[:], key) {
		return errSignature
	}
	return nil
}
