package bolt11

import (
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

// Sign returns r as text in lower case, signed with the key of a node. Fields with their default value are
// omitted.
func (r Request) Sign(key *btcec.PrivateKey) (string, error) {
	if err := r.check(); err != nil {
		return "", fmt.Errorf("sign payment request: %w", err)
	}
	prefix := "ln" + r.Network + formatAmount(r.MilliSatoshi)
	data := digits(uint64(r.Time.Unix()), timeGroups)
	data = appendField(data, fieldPaymentSecret, groupsOf(r.PaymentSecret[:]))
	data = appendField(data, fieldPaymentHash, groupsOf(r.PaymentHash[:]))
	if r.DescriptionHash != nil {
		data = appendField(data, fieldDescriptionHash, groupsOf(r.DescriptionHash))
	} else {
		data = appendField(data, fieldDescription, groupsOf([]byte(r.Description)))
	}
	if r.Expiry != defaultExpiry {
		data = appendField(data, fieldExpiry, digits(uint64(r.Expiry/time.Second), 0))
	}
	if r.FinalCLTV != defaultFinalCLTV {
		data = appendField(data, fieldFinalCLTV, digits(uint64(r.FinalCLTV), 0))
	}
	if len(r.Features) > 0 {
		data = appendField(data, fieldFeatures, r.featureGroups())
	}
	compact := ecdsa.SignCompact(key, hashOf(prefix, data), true)
	signature := append(slices.Clone(compact[1:]), compact[0]-27-4)
	return bech32.Encode(prefix, append(data, groupsOf(signature)...))
}

// check returns an error for values that a request cannot contain.
func (r Request) check() error {
	switch seconds := r.Time.Unix(); {
	case !slices.Contains(networks, r.Network):
		return fmt.Errorf("unknown currency %q", r.Network)
	case r.MilliSatoshi < 0 || r.MilliSatoshi > MaxMilliSatoshi:
		return errors.New("amount is out of range")
	case seconds < 0 || seconds >= 1<<(5*timeGroups) || r.Time.Nanosecond() != 0:
		return errors.New("time is out of range")
	case r.Expiry < 0 || r.Expiry/time.Second > math.MaxUint32 || r.Expiry%time.Second != 0:
		return errors.New("expiry is out of range")
	case r.DescriptionHash != nil && (len(r.DescriptionHash) != 32 || r.Description != ""):
		return errors.New("want either a description or the hash of one")
	case len(r.Description)*8 > maxFieldGroups*5 || !utf8.ValidString(r.Description):
		return errors.New("description is too long, or not UTF-8")
	case slices.ContainsFunc(r.Features, func(bit int) bool { return bit < 0 || bit >= maxFieldGroups*5 }):
		return errors.New("feature is out of range")
	}
	return nil
}

// featureGroups returns the field with the feature bits.
func (r Request) featureGroups() []byte {
	groups := make([]byte, slices.Max(r.Features)/5+1)
	for _, bit := range r.Features {
		groups[len(groups)-1-bit/5] |= 1 << (bit % 5)
	}
	return groups
}

// appendField appends a field with its type and length.
func appendField(data []byte, kind byte, groups []byte) []byte {
	data = append(data, kind, byte(len(groups)>>5), byte(len(groups)&31))
	return append(data, groups...)
}

// groupsOf returns bytes as groups of 5 bits, padded with zero bits.
func groupsOf(data []byte) []byte {
	groups, err := bech32.ConvertBits(data, 8, 5, true)
	if err != nil {
		panic(err) // of invalid widths only
	}
	return groups
}

// digits returns a number as groups of 5 bits: at least width groups, or as few as possible.
func digits(n uint64, width int) []byte {
	var groups []byte
	for ; n > 0 || len(groups) < width; n >>= 5 {
		groups = append(groups, byte(n&31))
	}
	slices.Reverse(groups)
	return groups
}
