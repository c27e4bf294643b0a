package monero

import "encoding/json"

// MaxBlockVersion is the newest version of blocks that this program can read, which is the number of the hard fork that the network
// follows. A later one can change how payments are found.
const MaxBlockVersion = 16

// Block is a block without the content of its transactions.
type Block struct {
	Version      uint64 // number of the hard fork
	Timestamp    uint64 // Unix time in seconds, as declared by the miner
	Previous     Hash   // hash of the block below
	Coinbase     *Transaction
	Transactions []Hash // without the coinbase transaction
}

// Height returns the height of a block.
func (b *Block) Height() uint64 { return b.Coinbase.Height }

// Limits on the JSON of a block, in bytes and in numbers of transactions.
const (
	maxBlockJSON    = 32 << 20
	maxTransactions = 1 << 17
)

// ParseBlock parses the JSON that monerod gives in the field "json" of the call get_block. It returns ErrNewerFormat also for a block
// above MaxBlockVersion, ErrOlderFormat or ErrMalformed.
func ParseBlock(text []byte) (*Block, error) {
	if len(text) > maxBlockJSON {
		return nil, malformed("a block", "too large")
	}
	var raw struct {
		Version      *uint64         `json:"major_version"`
		Timestamp    *uint64         `json:"timestamp"`
		Previous     *hex32          `json:"prev_id"`
		Coinbase     json.RawMessage `json:"miner_tx"`
		Transactions []*hex32        `json:"tx_hashes"`
	}
	if json.Unmarshal(text, &raw) != nil {
		return nil, malformed("a block", "no JSON of it")
	}
	switch {
	case raw.Version == nil || raw.Timestamp == nil || raw.Previous == nil || raw.Coinbase == nil:
		return nil, malformed("a block", "a field is missing")
	case *raw.Version > MaxBlockVersion:
		return nil, newer("version %d of blocks", *raw.Version)
	case len(raw.Transactions) > maxTransactions:
		return nil, malformed("a block", "too many transactions")
	}
	coinbase, err := ParseTransaction(raw.Coinbase)
	if err != nil {
		return nil, err
	}
	if !coinbase.Coinbase {
		return nil, malformed("a block", "no coinbase transaction")
	}
	b := &Block{Version: *raw.Version, Timestamp: *raw.Timestamp, Previous: Hash(*raw.Previous), Coinbase: coinbase}
	for _, hash := range raw.Transactions {
		if hash == nil {
			return nil, malformed("a block", "a hash is missing")
		}
		b.Transactions = append(b.Transactions, Hash(*hash))
	}
	return b, nil
}
