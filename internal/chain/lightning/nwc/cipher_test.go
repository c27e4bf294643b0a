package nwc

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
)

// hexText is bytes as hexadecimal digits in JSON.
type hexText []byte

func (h *hexText) UnmarshalText(text []byte) error {
	data, err := hex.DecodeString(string(text))
	*h = data
	return err
}

// vectors are the official vectors of NIP-44.
type vectors struct {
	V2 struct {
		Valid struct {
			ConversationKey []struct {
				Sec1, Pub2      hexText
				ConversationKey hexText `json:"conversation_key"`
			} `json:"get_conversation_key"`
			MessageKeys struct {
				ConversationKey hexText `json:"conversation_key"`
				Keys            []struct {
					Nonce       hexText
					ChaChaKey   hexText `json:"chacha_key"`
					ChaChaNonce hexText `json:"chacha_nonce"`
					HMACKey     hexText `json:"hmac_key"`
				}
			} `json:"get_message_keys"`
			PaddedLength   [][2]int `json:"calc_padded_len"`
			EncryptDecrypt []struct {
				Sec1, Sec2         hexText
				ConversationKey    hexText `json:"conversation_key"`
				Nonce              hexText
				Plaintext, Payload string
			} `json:"encrypt_decrypt"`
			Long []struct {
				ConversationKey hexText `json:"conversation_key"`
				Nonce           hexText
				Pattern         string
				Repeat          int
				PlaintextHash   hexText `json:"plaintext_sha256"`
				PayloadHash     hexText `json:"payload_sha256"`
			} `json:"encrypt_decrypt_long_msg"`
		}
		Invalid struct {
			Lengths         []int                          `json:"encrypt_msg_lengths"`
			ConversationKey []struct{ Sec1, Pub2 hexText } `json:"get_conversation_key"`
			Decrypt         []struct {
				ConversationKey hexText `json:"conversation_key"`
				Payload         string
			}
		}
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/nip44.vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.V2.Valid.ConversationKey) == 0 || len(v.V2.Valid.MessageKeys.Keys) == 0 || len(v.V2.Valid.PaddedLength) == 0 || len(v.V2.Valid.EncryptDecrypt) == 0 ||
		len(v.V2.Valid.Long) == 0 || len(v.V2.Invalid.Lengths) == 0 || len(v.V2.Invalid.ConversationKey) == 0 || len(v.V2.Invalid.Decrypt) == 0 {
		t.Fatal("vectors are missing")
	}
	return v
}

func equal(a, b []byte) bool { return hex.EncodeToString(a) == hex.EncodeToString(b) }

func TestCipher_agrees_with_the_vectors_of_NIP_44(t *testing.T) {
	t.Parallel()
	v := readVectors(t).V2
	for _, test := range v.Valid.ConversationKey {
		key, _ := btcec.PrivKeyFromBytes(test.Sec1)
		got, err := newPair(key, test.Pub2)
		if err != nil || !equal(got.conversation, test.ConversationKey) {
			t.Errorf("conversation key of %x and %x: got %x, %v, want %x", test.Sec1, test.Pub2, got.conversation, err, test.ConversationKey)
		}
	}
	for _, test := range v.Valid.MessageKeys.Keys {
		key, iv, mac, err := messageKeys(v.Valid.MessageKeys.ConversationKey, test.Nonce)
		if err != nil || !equal(key, test.ChaChaKey) || !equal(iv, test.ChaChaNonce) || !equal(mac, test.HMACKey) {
			t.Errorf("message keys of %x: got %x, %x, %x, %v", test.Nonce, key, iv, mac, err)
		}
	}
	for _, test := range v.Valid.PaddedLength {
		if got := paddedLength(test[0]); got != test[1] {
			t.Errorf("padded length of %d: got %d, want %d", test[0], got, test[1])
		}
	}
	for _, test := range v.Valid.EncryptDecrypt {
		got, err := encrypt44([]byte(test.Plaintext), test.ConversationKey, test.Nonce)
		if err != nil || got != test.Payload {
			t.Errorf("encrypt %q: got %s, %v, want %s", test.Plaintext, got, err, test.Payload)
		}
		for _, secrets := range [][2]hexText{{test.Sec1, test.Sec2}, {test.Sec2, test.Sec1}} {
			mine, _ := btcec.PrivKeyFromBytes(secrets[0])
			_, peer := btcec.PrivKeyFromBytes(secrets[1])
			p, err := newPair(mine, schnorr.SerializePubKey(peer))
			if err != nil {
				t.Fatal(err)
			}
			if message, err := p.decrypt(test.Payload); err != nil || string(message) != test.Plaintext {
				t.Errorf("decrypt %s: got %q, %v, want %q", test.Payload, message, err, test.Plaintext)
			}
		}
	}
	for _, test := range v.Valid.Long {
		message := strings.Repeat(test.Pattern, test.Repeat)
		payload, err := encrypt44([]byte(message), test.ConversationKey, test.Nonce)
		messageHash, payloadHash := sha256.Sum256([]byte(message)), sha256.Sum256([]byte(payload))
		if err != nil || !equal(messageHash[:], test.PlaintextHash) || !equal(payloadHash[:], test.PayloadHash) {
			t.Errorf("%d times %q: got hashes %x and %x, %v", test.Repeat, test.Pattern, messageHash, payloadHash, err)
		}
		if got, err := decrypt44(payload, test.ConversationKey); err != nil || string(got) != message {
			t.Errorf("decrypt %d times %q: %v", test.Repeat, test.Pattern, err)
		}
	}
}

func TestCipher_refuses_the_invalid_vectors_of_NIP_44(t *testing.T) {
	t.Parallel()
	v := readVectors(t).V2.Invalid
	for _, length := range v.Lengths {
		if _, err := encrypt44(make([]byte, length), make([]byte, 32), make([]byte, 32)); err == nil {
			t.Errorf("a message of %d bytes is encrypted", length)
		}
	}
	for _, test := range v.ConversationKey {
		var scalar btcec.ModNScalar
		if overflow := scalar.SetByteSlice(test.Sec1); overflow || scalar.IsZero() {
			continue // lightning.ParseConnection refuses such private keys
		}
		key, _ := btcec.PrivKeyFromBytes(test.Sec1)
		if _, err := newPair(key, test.Pub2); err == nil {
			t.Errorf("the public key %x is accepted", test.Pub2)
		}
	}
	for _, test := range v.Decrypt {
		if message, err := decrypt44(test.Payload, test.ConversationKey); err == nil {
			t.Errorf("decrypt %s: got %q, want an error", test.Payload, message)
		}
	}
	if _, err := decrypt44(strings.Repeat("A", maxPayloadB64+4), make([]byte, 32)); !errors.Is(err, errDecrypt) {
		t.Errorf("a long payload: %v", err)
	}
}

func TestCipher_reads_NIP_04_of_another_program(t *testing.T) {
	t.Parallel()
	const content = "zJxfaJ32rN5Dg1ODjOlEew==?iv=EV5bUjcc4OX2Km/zPp4ndQ=="
	key, err := privateKey("91ba716fa9e7ea2fcbad360cf4f8e0d312f73984da63d90f524ad61a6a1e7dbe")
	if err != nil {
		t.Fatal(err)
	}
	other, err := privateKey("96f6fa197aa07477ab88f6981118466ae3a982faab8ad5db9d5426870c73d220")
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPair(key, schnorr.SerializePubKey(other.PubKey()))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.decrypt(content); err != nil || string(got) != "nanana" {
		t.Errorf("decrypt() = %q, %v, want nanana", got, err)
	}
}

func TestCipher_decrypts_what_it_encrypts(t *testing.T) {
	t.Parallel()
	key, err := btcec.NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPair(key, schnorr.SerializePubKey(key.PubKey()))
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []encryption{nip04, nip44} {
		for _, length := range []int{1, 15, 16, 17, 32, 33, 1000, 65535} {
			message := strings.Repeat("é", length)[:length]
			content, err := p.encrypt([]byte(message), form)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := p.decrypt(content); err != nil || string(got) != message {
				t.Errorf("%s, %d bytes: got %d bytes, %v", form, length, len(got), err)
			}
		}
	}
	for _, content := range []string{"", "?iv=", "AAAA?iv=AAAA", "zJxfaJ32rN5Dg1ODjOlEew==?iv=", "zJxfaJ32rN5Dg1ODjOlEew==?iv=EV5bUjcc4OX2Km/zPp4ndQ==x", "#", "AA=="} {
		if got, err := p.decrypt(content); !errors.Is(err, errDecrypt) {
			t.Errorf("decrypt(%q) = %q, %v, want errDecrypt", content, got, err)
		}
	}
}

func FuzzDecrypt(f *testing.F) {
	f.Add("zJxfaJ32rN5Dg1ODjOlEew==?iv=EV5bUjcc4OX2Km/zPp4ndQ==")
	f.Add("AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABee0G5VSK0/9YypIObAtDKfYEAjD35uVkHyB0F4DwrcNaCXlCWZKaArsGrY6M9wnuTMxWfp1RTN9Xga8no+kF5Vsb")
	p := pair{shared: make([]byte, 32), conversation: make([]byte, 32)}
	f.Fuzz(func(t *testing.T, content string) {
		if message, err := p.decrypt(content); err != nil && message != nil {
			t.Errorf("decrypt() = %q, %v, want no message with an error", message, err)
		}
	})
}
