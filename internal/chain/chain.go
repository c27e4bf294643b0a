// Package chain is the small interface between invoices and networks: which assets a network
// offers, the destinations of payments, and the transfers that the network shows.
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

// Network is one network with its assets. All methods are safe for concurrent use.
type Network interface {
	ID() ID
	// Assets returns the assets that can be paid with on the network, most preferred first.
	Assets() []Asset
	// NewDestination returns the destination at an index of a wallet's public key. It is
	// pure: it makes no request, and the same arguments give the same destination.
	NewDestination(request Request) (Destination, error)
}

// Bridged is a Network with bridged tokens: tokens that a bridge issued in place of an
// issuer's token on another network. Their names are similar to the issuer's, so shoppers
// send them by mistake.
type Bridged interface {
	Network
	// Bridged are the bridged tokens. They are never among Assets and have no rate; a
	// scan shows transfers of them.
	Bridged() []Asset
}

// Timed is a Network whose blocks have a usual interval.
type Timed interface {
	Network
	// BlockTime is the usual time between two blocks.
	BlockTime() time.Duration
}

// Scanner is a Network that the program watches. For a Network without it, the merchant
// must look for payments.
type Scanner interface {
	Network
	// Scan returns what the network shows for watched destinations above the cursor. A
	// zero cursor means the tip: older blocks are not needed. An error gives no information
	// about transfers.
	Scan(ctx context.Context, from Cursor, watched Watched) (Snapshot, error)
}

// Waker is a Scanner that signals when a scan is worthwhile. A signal is a hint: it may be
// missing, and a scan after it may find nothing.
type Waker interface {
	Wake() <-chan struct{}
}

// Reporter is a Scanner that reports the health of its source, without a request.
type Reporter interface {
	Health() Health
}

// Health is the state of a network's source.
type Health struct {
	Source string // name for people: "light client", "node at 127.0.0.1:8332"
	Height int64  // of the newest block that the source has; 0 before there is one
	Peers  int    // connected peers of a light client
	// Progress is the progress of a source that is catching up, "" otherwise.
	Progress string
	// Fault is why the source cannot be trusted, "" if it can.
	Fault string
	// Mempool is true if the source is a node, whose mempool shows every unconfirmed transaction.
	Mempool bool
}

// Request asks for the destination at an index of a wallet's public key.
type Request struct {
	Asset Asset
	Key   string // the stored form of a public key, as keys.Load reads it
	Index uint32
}

// Destination is where a payment goes. Script is the form by which transfers are matched:
// unique on its network, regardless of the spelling of the address.
type Destination struct {
	Address string
	Script  string
}

// Cursor is the block up to which a network was read.
type Cursor struct {
	Height int64
	Hash   string
}

// IsZero reports whether c is unset.
func (c Cursor) IsZero() bool { return c.Hash == "" }

// Block is a block of the best chain.
type Block struct {
	Height int64
	Hash   string
	Time   time.Time
}

// Cursor returns the height and hash of b.
func (b Block) Cursor() Cursor { return Cursor{Height: b.Height, Hash: b.Hash} }

// Watched is the set of destinations that a scan looks for, in memory. It does not change
// during a scan.
type Watched interface {
	// Destination reports whether a script is the destination of an open invoice or of a refund.
	Destination(script string) bool
	// Since returns the destinations that were added after a mark, and the mark for the
	// next call. The zero mark returns all of them.
	Since(mark uint64) (scripts iter.Seq[string], next uint64)
	// Outpoint reports whether an output is spent by a recorded unconfirmed transfer, so
	// that a conflicting spend of it matters.
	Outpoint(outpoint string) bool
	// Recorded returns the recorded transfers in blocks above the cursor. While the block
	// of such a transfer is on the best chain, a scan shows it, refutes it or fails.
	Recorded() iter.Seq[Transfer]
}

// Accounts is a Watched with the recorded balances of its destinations, for networks on
// which only balances show transfers of the network's native coin.
type Accounts interface {
	Watched
	// Accounts returns the destinations whose balances are read, and those other
	// destinations that have recorded transfers.
	Accounts() iter.Seq[Account]
	// Strays returns the destinations that Accounts does not return, newest first. The coin is
	// not expected there.
	Strays() iter.Seq[string]
	// Read returns the last block at which the balances of the accounts were read, zero
	// if there was none.
	Read() Block
}

// CoinReader is a Scanner of a network whose native coin is found by balances, which finds transfers of the coin by their
// transactions. The balance of an account that is not the merchant's proves no transfer.
type CoinReader interface {
	Scanner
	// CoinTransfers returns a transfer for each of the transactions that is in a block of the best chain. Its amount is zero if the
	// transaction failed or does not itself send the coin to the script. Nothing follows from the absence of a transaction. Besides an
	// error, CoinTransfers returns the transfers that it has found.
	CoinTransfers(ctx context.Context, sent []SentCoin) ([]Transfer, error)
}

// SentCoin is a transaction that should send a network's native coin to a script.
type SentCoin struct{ Tx, Script string }

// Account is a destination whose balance is read.
type Account struct {
	Script string
	// Birth is the network's tip when the invoice was created, zero if none was known.
	Birth Cursor
	// Known is true if the balance at the birth is recorded, or was zero.
	Known bool
	// Recorded are the recorded rises of the balance that are on the network, lowest first.
	Recorded []Transfer
	// Stray is true if the coin is not expected at the destination.
	Stray bool
}

// Coverage is the part of the unconfirmed transfers that a snapshot covers.
type Coverage string

const (
	// Complete is a node's mempool: an absent transfer is gone.
	Complete Coverage = "complete"
	// Partial is a listener to announcements: absence proves nothing.
	Partial Coverage = "partial"
	// None is a network without unconfirmed transfers.
	None Coverage = "none"
)

// Snapshot is every transfer to watched destinations that the network shows above a cursor,
// with the range that it covers.
type Snapshot struct {
	Started time.Time // when the scan began; the network's scanned time
	// From is the last block before the covered range: the cursor of the scan, or the
	// fork point below it if the cursor's block left the best chain.
	From Cursor
	// Tip is the newest block of the covered range.
	Tip Block
	// Blocks are the hashes of the covered range by height, including From and Tip, as
	// far as the source knows them.
	Blocks map[int64]string
	// Next is the cursor of the next scan. It is below the tip by at least the deepest
	// plausible reorganisation of the network.
	Next Cursor
	// Behind is true if the covered range ends below the network's tip. The caller should
	// scan again at once, and the network does not count as scanned yet.
	Behind bool
	// Unconfirmed is the coverage of unconfirmed transfers.
	Unconfirmed Coverage
	// Read is the block at which the balances of all watched accounts were read; zero
	// when they were not.
	Read Block
	// ViewSince is the time since which unconfirmed transfers are seen without a gap: the
	// start of a node that remembers its first sightings, or of a listener. Zero if there
	// is no such view.
	ViewSince time.Time
	Transfers []Transfer
	// Conflicts are transactions that spend a watched outpoint.
	Conflicts []Conflict
	// Refuted are the IDs of recorded transfers that are proved not to be in their
	// block, although it is on the best chain.
	Refuted []string
}

// Covers reports whether s would show a transfer in a block at a height. Above the tip of
// the network there is no block.
func (s Snapshot) Covers(height int64) bool {
	return height > s.From.Height && (height <= s.Tip.Height || !s.Behind)
}

// Transfer is an amount sent to one destination, as a network shows it.
type Transfer struct {
	// ID is stable and unique on the network: "txid:vout", "txhash:log",
	// "balance:chain:address:balance".
	ID string
	// Tx is its transaction, "" if only a balance shows it.
	Tx     string
	Asset  string // the asset's code
	Script string
	Amount money.Amount
	// Spends are the outpoints that its transaction spends, on networks whose transactions spend outputs. They may include a OneTimeOutpoint
	// for each output.
	Spends []string
	// FirstSeen is the first unconfirmed sighting by the network's source, zero if there
	// is none. The recorder of a transfer keeps the first value that it gets.
	FirstSeen time.Time
	Block     *Block // nil while unconfirmed
	Coinbase  bool
	// Firm is true if a complete mempool shows the unconfirmed transaction, all its inputs are confirmed, it does not
	// signal that it can be replaced, and it pays the least fee rate of the source.
	Firm bool
	// Contested is true if the source knows another transaction that spends an input of the unconfirmed transaction. Only one of
	// them can get into a block.
	Contested bool
	// Since is set if the transfer may be in an earlier block than Block: the time of the
	// last block that is known not to contain it. Zero otherwise.
	Since time.Time
	// Unsure is true if the transfer may be older than its invoice, or has a time lock. It never counts
	// without a decision by the merchant.
	Unsure bool
}

// risePrefix is the prefix of the ID of a transfer that is the rise of a balance.
const risePrefix = "balance:"

// RiseID returns the ID of the rise of an account's balance to a new highest value, in the
// smallest units.
func RiseID(chainID uint64, account string, highest *big.Int) string {
	return fmt.Sprintf("%s%d:%s:%d", risePrefix, chainID, account, highest)
}

// IsRise reports whether t is the rise of a balance.
func (t Transfer) IsRise() bool { return IsRise(t.ID) }

// IsRise reports whether an ID is that of the rise of a balance.
func IsRise(id string) bool { return strings.HasPrefix(id, risePrefix) }

// coinPrefix is the prefix of the ID of a transfer that is found by its transaction; see CoinReader.
const coinPrefix = "coin:"

// CoinID returns the ID of the transfer of a network's native coin by a transaction.
func CoinID(tx string) string { return coinPrefix + tx }

// IsCoin reports whether a CoinReader found t.
func (t Transfer) IsCoin() bool { return strings.HasPrefix(t.ID, coinPrefix) }

// oneTimePrefix is the prefix of the outpoint that stands for the one-time key of an output.
const oneTimePrefix = "out:"

// OneTimeOutpoint returns the outpoint that stands for the one-time key of a received output, in hex. Of several outputs with one key only one
// can be spent, so their transactions conflict.
func OneTimeOutpoint(key string) string { return oneTimePrefix + key }

// IsOneTimeOutpoint reports whether an outpoint stands for the one-time key of a received output. Others are spent by the transaction.
func IsOneTimeOutpoint(outpoint string) bool { return strings.HasPrefix(outpoint, oneTimePrefix) }

// Highest returns the balance after a rise, in the smallest units.
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
