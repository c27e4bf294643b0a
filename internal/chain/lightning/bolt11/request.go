// Package bolt11 reads and signs payment requests of the Lightning Network. See BOLT 11.
package bolt11

import (
	"time"
)

// Request is a payment request.
type Request struct {
	// Network is the prefix of the currency: "bc", "tb", "tbs" or "bcrt".
	Network string
	// MilliSatoshi is the amount in thousandths of a satoshi, 0 if the payer chooses it.
	MilliSatoshi int64
	// Time is when the request was made, in whole seconds.
	Time time.Time
	// Expiry is the time after Time at which the request ends, in whole seconds.
	Expiry time.Duration
	// PaymentHash is the SHA-256 of the preimage that the payee reveals when it is paid.
	PaymentHash [32]byte
	// PaymentSecret is known only to the payee and to those who have the request.
	PaymentSecret [32]byte
	// Description is the purpose of the payment. It is empty if DescriptionHash is set.
	Description string
	// DescriptionHash is the SHA-256 of a purpose that the request does not contain; nil if there is none.
	DescriptionHash []byte
	// FinalCLTV is the number of blocks that the last hop must leave to the payee.
	FinalCLTV uint32
	// Features are the numbers of the set feature bits, lowest first.
	Features []int
	// NodeKey is the compressed public key of the payee. Sign ignores it.
	NodeKey [33]byte
}

// Ends returns the time at which r ends.
func (r Request) Ends() time.Time { return r.Time.Add(r.Expiry) }

// Values that apply to requests without the fields.
const (
	defaultExpiry    = time.Hour
	defaultFinalCLTV = 18
)

// networks are the known prefixes of currencies.
var networks = []string{"bc", "tb", "tbs", "bcrt"}

// required are the feature bits that a payee may require in a request. See BOLT 9: onion of variable
// length, payment secret, multi-part payments, blinded paths, attribution data, payment metadata.
var required = []int{8, 14, 16, 24, 36, 48}

// The types of the fields that are read.
const (
	fieldPaymentHash     = 1
	fieldFeatures        = 5
	fieldExpiry          = 6
	fieldDescription     = 13
	fieldPaymentSecret   = 16
	fieldNodeKey         = 19
	fieldDescriptionHash = 23
	fieldFinalCLTV       = 24
)

// Lengths in groups of 5 bits.
const (
	timeGroups      = 7
	signatureGroups = 104
	hashGroups      = 52
	keyGroups       = 53
	maxFieldGroups  = 1023
)
