package bolt11

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/btcsuite/btcd/btcutil/bech32"
)

// maxLength is the maximum length of a request, in characters. A QR code holds about as many.
const maxLength = 4096

// Parse reads a request, in lower or in upper case, and checks its signature. It skips unknown fields,
// fields of a wrong length, and all but the first field of each type.
func Parse(text string) (Request, error) {
	r, err := parse(text)
	if err != nil {
		return Request{}, fmt.Errorf("payment request: %w", err)
	}
	return r, nil
}

func parse(text string) (Request, error) {
	if len(text) > maxLength {
		return Request{}, fmt.Errorf("longer than %d characters", maxLength)
	}
	prefix, groups, version, err := bech32.DecodeNoLimitWithVersion(text)
	if err != nil {
		return Request{}, fmt.Errorf("bech32: %w", err)
	}
	if version != bech32.Version0 {
		return Request{}, errors.New("has a checksum of bech32m, want bech32")
	}
	if len(groups) < timeGroups+signatureGroups {
		return Request{}, errors.New("too short")
	}
	r := Request{Expiry: defaultExpiry, FinalCLTV: defaultFinalCLTV}
	if r.Network, r.MilliSatoshi, err = parsePrefix(prefix); err != nil {
		return Request{}, err
	}
	signed, signature := groups[:len(groups)-signatureGroups], groups[len(groups)-signatureGroups:]
	seconds, _ := number(signed[:timeGroups])
	r.Time = time.Unix(int64(seconds), 0).UTC()
	found, err := r.readFields(signed[timeGroups:])
	if err != nil {
		return Request{}, err
	}
	if err := check(found); err != nil {
		return Request{}, err
	}
	return r, r.verify(hashOf(prefix, signed), signature, found[fieldNodeKey])
}

// check returns an error if a required field is missing.
func check(found map[byte]bool) error {
	switch {
	case !found[fieldPaymentHash]:
		return errors.New("no payment hash")
	case !found[fieldPaymentSecret]:
		return errors.New("no payment secret")
	case found[fieldDescription] == found[fieldDescriptionHash]:
		return errors.New("want either a description or the hash of one")
	}
	return nil
}

// readFields reads the tagged fields, and returns the types of those that it found.
func (r *Request) readFields(groups []byte) (found map[byte]bool, err error) {
	found = map[byte]bool{}
	for len(groups) > 0 {
		if len(groups) < 3 {
			return nil, errors.New("incomplete field")
		}
		kind, length := groups[0], int(groups[1])<<5|int(groups[2])
		groups = groups[3:]
		if length > len(groups) {
			return nil, fmt.Errorf("field %d is longer than the request", kind)
		}
		data := groups[:length]
		groups = groups[length:]
		if found[kind] || !hasLength(kind, length) {
			continue
		}
		if err := r.readField(kind, data); err != nil {
			return nil, err
		}
		found[kind] = true
	}
	return found, nil
}

// hasLength reports whether a field of a type may have a length.
func hasLength(kind byte, length int) bool {
	switch kind {
	case fieldPaymentHash, fieldPaymentSecret, fieldDescriptionHash:
		return length == hashGroups
	case fieldNodeKey:
		return length == keyGroups
	}
	return true
}

func (r *Request) readField(kind byte, data []byte) error {
	switch kind {
	case fieldPaymentHash:
		copy(r.PaymentHash[:], whole(data))
	case fieldPaymentSecret:
		copy(r.PaymentSecret[:], whole(data))
	case fieldNodeKey:
		copy(r.NodeKey[:], whole(data))
	case fieldDescriptionHash:
		r.DescriptionHash = whole(data)
	case fieldDescription:
		r.Description = string(whole(data))
		if !utf8.ValidString(r.Description) {
			return errors.New("description is not UTF-8")
		}
	case fieldExpiry:
		seconds, ok := number(data)
		if !ok || seconds > math.MaxUint32 {
			return errors.New("expiry is longer than a century")
		}
		r.Expiry = time.Duration(seconds) * time.Second
	case fieldFinalCLTV:
		blocks, ok := number(data)
		if !ok || blocks > math.MaxUint32 {
			return errors.New("minimum final CLTV is too large")
		}
		r.FinalCLTV = uint32(blocks)
	case fieldFeatures:
		return r.readFeatures(data)
	}
	return nil
}

// readFeatures reads the feature bits. An unknown even bit is an error, because the payer cannot meet the
// requirement that it stands for.
func (r *Request) readFeatures(data []byte) error {
	for bit := range len(data) * 5 {
		if data[len(data)-1-bit/5]>>(bit%5)&1 == 0 {
			continue
		}
		if bit%2 == 0 && !slices.Contains(required, bit) {
			return fmt.Errorf("requires the unknown feature %d", bit)
		}
		r.Features = append(r.Features, bit)
	}
	return nil
}

// verify checks the signature. Without a field with the node's key, it sets NodeKey to the key that made the
// signature. With the field, the signature must have the lower of the two possible values of S.
func (r *Request) verify(hash, groups []byte, hasNodeKey bool) error {
	signature, err := bech32.ConvertBits(groups, 5, 8, false)
	if err != nil || signature[64] > 3 {
		return errors.New("malformed signature")
	}
	if !hasNodeKey {
		compact := append([]byte{27 + 4 + signature[64]}, signature[:64]...)
		key, _, err := ecdsa.RecoverCompact(compact, hash)
		if err != nil {
			return fmt.Errorf("recover the key of the signature: %w", err)
		}
		r.NodeKey = [33]byte(key.SerializeCompressed())
		return nil
	}
	key, err := btcec.ParsePubKey(r.NodeKey[:])
	if err != nil {
		return fmt.Errorf("key of the node: %w", err)
	}
	var rValue, sValue btcec.ModNScalar
	if rValue.SetByteSlice(signature[:32]) || sValue.SetByteSlice(signature[32:64]) || sValue.IsOverHalfOrder() {
		return errors.New("signature is not canonical")
	}
	if !ecdsa.NewSignature(&rValue, &sValue).Verify(hash, key) {
		return errors.New("signature is not of the node's key")
	}
	return nil
}

// hashOf returns the hash that is signed: of the human-readable part, and of the data padded with zero bits.
func hashOf(prefix string, groups []byte) []byte {
	data, err := bech32.ConvertBits(groups, 5, 8, true)
	if err != nil {
		panic(err) // of invalid widths only
	}
	hash := sha256.Sum256(append([]byte(prefix), data...))
	return hash[:]
}

// number returns the groups as a number, and false if it is larger than 64 bits.
func number(groups []byte) (uint64, bool) {
	var n uint64
	for _, g := range groups {
		if n > math.MaxUint64>>5 {
			return 0, false
		}
		n = n<<5 | uint64(g)
	}
	return n, true
}

// whole returns the whole bytes of groups, without the padding.
func whole(groups []byte) []byte {
	data, err := bech32.ConvertBits(groups, 5, 8, true)
	if err != nil {
		panic(err) // of invalid widths only
	}
	return data[:len(groups)*5/8]
}
