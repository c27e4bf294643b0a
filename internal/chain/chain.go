// Package chain is the small interface between invoices and the networks money
// moves on: what a network can offer, where money must go, and what it shows.
package chain

import (
	"context"
	"fmt"
	"iter"
	"math/big"
	"strings"
	"time"

	"chequer/internal/money"
)

// ID names a network: "bitcoin", "base", "simnet".
type ID string

// Network is one network that money moves on. All methods are safe for
// concurrent use.
type Network interface {
	ID() ID
	// Assets are what can be paid with here, most wanted first.
	Assets() []Asset
	// NewDestination makes the destination at an index of a wallet's key. It is
	// pure: the same request gives the same destination, and no network is asked.
	NewDestination(request Request) (Destination, error)
}

// Bridged is a Network that knows bridged tokens: what a bridge made of a token that an
// issuer made on another network. They have names and addresses like the issuer's, so
// shoppers send them by mistake.
type Bridged interface {
	Network
	// Bridged are the bridged tokens. They are never among Assets and have no rate; a
	// scan shows transfers of them.
	Bridged() []Asset
}

// Scanner is a Network that is watched. One without it can be offered only by
// a merchant who looks for the money himself.
type Scanner interface {
	Network
	// Scan reads what the network shows for watched destinations from the cursor
	// on. A zero cursor means the tip: nothing older is of interest. An error
	// concludes nothing.
	Scan(ctx context.Context, from Cursor, watched Watched) (Snapshot, error)
}

// Waker is a Scanner that can say that a scan is worth while. A wake-up is a
// hint: it may be missed or come for nothing.
type Waker interface {
	Wake() <-chan struct{}
}

// Reporter is a Scanner that can say how its source fares, from memory.
type Reporter interface {
	Health() Health
}

// Health is how a network's source fares.
type Health struct {
	Source string // in words: "light client", "node at 127.0.0.1:8332"
	Height int64  // of the newest block that the source has; 0 before there is one
	Peers  int    // connected peers of a light client
	// Progress says how far a source that is catching up has come, "" otherwise.
	Progress string
	// Fault says what keeps the source from being believed, "" when nothing does.
	Fault string
}

// Request asks for the destination at an index of a wallet's public key.
type Request struct {
	Asset Asset
	Key   string // the stored form of a public key, as keys.Load reads it
	Index uint32
}

// Destination is where the money must go. Script is the form that transfers
// are matched by: unique on its network, whatever the spelling of the address.
type Destination struct {
	Address string
	Script  string
}

// Cursor is a place read up to on a network.
type Cursor struct {
	Height int64
	Hash   string
}

// IsZero tells whether c is no place yet.
func (c Cursor) IsZero() bool { return c.Hash == "" }

// Block is a block of the best chain.
type Block struct {
	Height int64
	Hash   string
	Time   time.Time
}

// Cursor is the place of b.
func (b Block) Cursor() Cursor { return Cursor{Height: b.Height, Hash: b.Hash} }

// Watched answers "is this ours?" from memory. It stands still during a scan.
type Watched interface {
	// Destination tells whether a script is the destination of an open invoice.
	Destination(script string) bool
	// Since lists the destinations that came after a mark, and gives the mark for
	// the next call. The zero mark lists all of them.
	Since(mark uint64) (scripts iter.Seq[string], next uint64)
	// Outpoint tells whether an output is spent by an unconfirmed transfer that
	// is recorded, so that a conflicting spend of it matters.
	Outpoint(outpoint string) bool
	// Recorded lists the recorded transfers in blocks above the cursor. While the
	// block of one is on the best chain, a scan shows it, refutes it or fails.
	Recorded() iter.Seq[Transfer]
}

// Accounts is a Watched that knows what is recorded of the balances of its
// destinations, on networks where the network's own coin is seen by balances alone.
type Accounts interface {
	Watched
	// Accounts lists the destinations whose balance is looked at, and those of the
	// others that something is recorded of.
	Accounts() iter.Seq[Account]
	// Strays lists all others, the newest first: there the coin comes by mistake only.
	Strays() iter.Seq[string]
	// Read is the last block at which the balances were read that are looked at, zero
	// before there is one.
	Read() Block
}

// Account is a destination whose balance is looked at.
type Account struct {
	Script string
	// Birth is the network's tip when the invoice was made, zero when none was known.
	Birth Cursor
	// Known tells that what was there at the birth is recorded, or was nothing.
	Known bool
	// Recorded are the rises that are on the network, lowest first.
	Recorded []Transfer
	// Stray tells that the coin is not expected there.
	Stray bool
}

// Coverage is how much of the unconfirmed money a snapshot covers.
type Coverage string

const (
	// Complete is a node's mempool: what is absent is gone.
	Complete Coverage = "complete"
	// Partial is a listener: absence concludes nothing.
	Partial Coverage = "partial"
	// None is a network without unconfirmed money.
	None Coverage = "none"
)

// Snapshot is every transfer to watched destinations that the network shows
// from a cursor on, with what it covers.
type Snapshot struct {
	Started time.Time // when the scan began; the network's scanned time
	// From is the last block before the covered range: the asked cursor, or the
	// fork point below it when the cursor's block left the best chain.
	From Cursor
	// Tip is the newest block of the covered range.
	Tip Block
	// Blocks are the hashes of the covered range by height, From and Tip
	// included, as far as the network can tell them.
	Blocks map[int64]string
	// Next is the cursor to go on from: at least the network's deepest plausible
	// reorganisation behind the tip.
	Next Cursor
	// Behind tells that the covered range ends below the network's tip: a further
	// scan is worth while at once, and the network does not count as scanned yet.
	Behind bool
	// Unconfirmed is the coverage of what is in no block.
	Unconfirmed Coverage
	// Read is the block at which the balances of all watched accounts were read; zero
	// when they were not.
	Read Block
	// ViewSince is since when unconfirmed money is seen without a gap: the start
	// of a node that remembers its first sightings, or of a listener. Zero when
	// there is no such view.
	ViewSince time.Time
	Transfers []Transfer
	// Conflicts are transactions seen to spend a watched outpoint.
	Conflicts []Conflict
	// Refuted are the IDs of recorded transfers that are proved not to be in their
	// block, although it is on the best chain.
	Refuted []string
}

// Covers tells whether a transfer in a block of some height would be shown: above
// the tip that was reached there is no block.
func (s Snapshot) Covers(height int64) bool {
	return height > s.From.Height && (height <= s.Tip.Height || !s.Behind)
}

// Transfer is money to one destination that a network shows.
type Transfer struct {
	// ID is stable and unique on the network: "txid:vout", "txhash:log",
	// "balance:chain:address:balance".
	ID string
	// Tx is its transaction, "" where only a balance shows it.
	Tx     string
	Asset  string // the asset's code
	Script string
	Amount money.Amount
	Spends []string // the outpoints its transaction spends, on UTXO networks
	// FirstSeen is the network's own first unconfirmed sighting, zero when it has
	// none; who records a transfer keeps the first time told.
	FirstSeen time.Time
	Block     *Block // nil while unconfirmed
	Coinbase  bool
	// Since is the time of the last block that did not have it yet, where Block may
	// be later than the one that brought it; zero else.
	Since time.Time
	// Unsure tells that it may be older than its invoice: it never counts by itself.
	Unsure bool
}

// rise begins the ID of a transfer that is the rise of a balance.
const rise = "balance:"

// RiseID is the ID of the rise of an account's balance to a height in the smallest
// units, higher than ever before.
func RiseID(chainID uint64, account string, highest *big.Int) string {
	return fmt.Sprintf("%s%d:%s:%d", rise, chainID, account, highest)
}

// IsRise tells whether t is the rise of a balance.
func (t Transfer) IsRise() bool { return IsRise(t.ID) }

// IsRise tells whether an ID is that of the rise of a balance.
func IsRise(id string) bool { return strings.HasPrefix(id, rise) }

// Highest is the height of the balance that a rise went up to.
func (t Transfer) Highest() *big.Int {
	highest, _ := new(big.Int).SetString(t.ID[strings.LastIndex(t.ID, ":")+1:], 10)
	return highest
}

// Conflict is a transaction that spends a watched outpoint.
type Conflict struct {
	Outpoint string
	Tx       string
	Seen     time.Time
	Block    *Block
}
