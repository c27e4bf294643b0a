package chain

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"chequer/internal/money"
)

// SchemeLightning is the scheme of the payment links of an asset whose destinations are payment requests.
const SchemeLightning = "lightning"

// schemeBitcoin is the scheme of the payment links of Bitcoin.
const schemeBitcoin = "bitcoin"

// CodeLightning is the code of the asset whose destinations are payment requests in bitcoin, and the kind of its wallets.
const CodeLightning = "BTC-LN"

// LightningID returns the ID of the network of a connection, which is a wallet.
func LightningID(wallet string) ID { return ID(lightningPrefix + wallet) }

// lightningPrefix begins the IDs of the networks of connections.
const lightningPrefix = "lightning-"

// IsLightning reports whether the network is that of a connection. See LightningID.
func (id ID) IsLightning() bool { return strings.HasPrefix(string(id), lightningPrefix) }

// HidesRecipients reports whether a network shows only transfers to its own wallets, as Monero does: a transfer to an address of
// another wallet, such as a refund, cannot be seen.
func (id ID) HidesRecipients() bool {
	return id == networkMonero || strings.HasPrefix(string(id), networkMonero+"-")
}

// networkMonero is the network of Monero. Its test networks have names that begin with it and a hyphen.
const networkMonero = "monero"

// Requested reports whether the destinations of an asset are payment requests, which a Requester asks for, and
// which are not derived from a key.
func (a Asset) Requested() bool { return a.Scheme == SchemeLightning }

// Requester is a Scanner whose destinations are payment requests of BOLT 11, made by the provider of a
// connection: the merchant's wallet or node. NewDestination of a Requester returns an error.
type Requester interface {
	Scanner
	// RequestNetwork is the prefix of the currency that the requests have after "ln": "bc", "tb", "tbs" or "bcrt".
	RequestNetwork() string
	// Ask lets the provider make a payment request. The caller checks the offer. The same Ask makes another
	// request each time. It returns a *LimitError if the provider makes no request of the amount.
	Ask(ctx context.Context, ask Ask) (Offer, error)
	// Cancel makes a request that is not paid unpayable, if the provider can, and does nothing otherwise.
	Cancel(ctx context.Context, hash string) error
}

// Ask describes a payment request to be made.
type Ask struct {
	Amount money.Amount
	// Until is the time until which the request should be valid. The provider may choose another time.
	Until time.Time
	// Memo is the description that the payer sees, at most MaxMemo bytes.
	Memo string
	// Find means that the provider must find the request, too. It is set while no scan succeeds, since a payment of a request
	// that cannot be looked up would not be seen.
	Find bool
}

// LimitError means that the provider makes no request of an amount, but of amounts of bitcoin from Least to Most. A Most of zero
// is no bound.
type LimitError struct{ Least, Most money.Amount }

// Error implements error.
func (e *LimitError) Error() string {
	if e.Most.IsZero() {
		return fmt.Sprintf("the provider makes payment requests of %s satoshis or more", e.Least.Minor())
	}
	return fmt.Sprintf("the provider makes payment requests from %s to %s satoshis", e.Least.Minor(), e.Most.Minor())
}

// MaxMemo is the maximum length of a description, in bytes.
const MaxMemo = 100

// Offer is a payment request that a provider made. Its address is the request in lower case, and its script is
// the payment hash in hexadecimal digits.
type Offer struct {
	Destination
	// Until is the time at which the request ends.
	Until time.Time
	// Lookup is the URL at which the provider of a Lightning address shows whether the request is paid; empty for
	// other providers. See LUD-21.
	Lookup string
}

// Requests is a Watched with the payment requests that a Requester looks up.
type Requests interface {
	Watched
	// Requests returns the requests that may still be paid, or whose payment is not recorded yet.
	Requests() iter.Seq[PendingRequest]
}

// PendingRequest is a payment request that is looked up. A request that is settled is a Transfer in a block of height
// 1 whose hash is the payment hash, and whose time is the time of the settlement: at least MadeAt, and at most
// the start of the scan.
type PendingRequest struct {
	Hash   string // payment hash, the script of the destination
	Text   string // the request
	Amount money.Amount
	MadeAt time.Time
	// ShownUntil is the end of the quote, after which no shopper sees the request.
	ShownUntil time.Time
	Until      time.Time // end of the request; it is looked up LookupGrace longer
	Lookup     string    // see Offer
}

// LookupGrace is the time after the end of a request until which it is looked up, because a payment that began
// before the end may settle after it.
const LookupGrace = 10 * time.Minute
