package quorum

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/keys"
)

// errFormat is the error for an answer that does not have the format of the execution APIs.
var errFormat = errors.New("malformed answer")

// transferTopic is the first topic of Transfer(address,address,uint256).
const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

// parseQuantity parses a whole number in the format of JSON-RPC: 0x and hex digits.
func parseQuantity(text string) (int64, bool) {
	digits, ok := strings.CutPrefix(text, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	return int64(n), ok && err == nil && n <= math.MaxInt64
}

// parseChainID parses the answer to eth_chainId.
func parseChainID(result json.RawMessage) (uint64, error) {
	var text string
	if err := json.Unmarshal(result, &text); err != nil {
		return 0, errFormat
	}
	id, ok := parseQuantity(text)
	if !ok {
		return 0, errFormat
	}
	return uint64(id), nil
}

// formatHex formats a whole number for JSON-RPC.
func formatHex(n int64) string { return "0x" + strconv.FormatInt(n, 16) }

// parseHeader parses a block's header. exists is false if the block does not exist.
func parseHeader(result json.RawMessage) (h ethereum.Header, exists bool, err error) {
	var block *struct{ Number, Hash, ParentHash, Timestamp string }
	if err := json.Unmarshal(result, &block); err != nil {
		return h, false, errFormat
	}
	if block == nil {
		return h, false, nil
	}
	const maxSeconds = math.MaxUint32 // in the year 2106
	number, isNumber := parseQuantity(block.Number)
	seconds, isTime := parseQuantity(block.Timestamp)
	hash, isHash := ethereum.ParseHash(block.Hash)
	parent, isParent := ethereum.ParseHash(block.ParentHash)
	if !isNumber || !isTime || !isHash || !isParent || seconds > maxSeconds {
		return h, false, errFormat
	}
	return ethereum.Header{
		Block:  chain.Block{Height: number, Hash: hash.String(), Time: time.Unix(seconds, 0).UTC()},
		Parent: parent.String(),
	}, true, nil
}

// blockHas reports whether a block in JSON contains a transaction.
func blockHas(block json.RawMessage, tx ethereum.Hash) bool {
	var fields struct{ Transactions []string }
	return json.Unmarshal(block, &fields) == nil && slices.ContainsFunc(fields.Transactions, func(hash string) bool { return strings.EqualFold(hash, tx.String()) })
}

// event is a log in JSON.
type event struct {
	Address, Data, BlockNumber, TransactionHash, BlockHash, LogIndex string

	Topics  []string
	Removed bool
}

// transfer parses an event; ok is false if it is not an ERC-20 transfer of one of the given
// contracts. The transfer of an NFT is refused, because its event has four topics and no data. See EIP-721, "Events".
func (e event) transfer(contracts map[keys.EthereumAddress]bool) (log ethereum.Log, ok bool) {
	if e.Removed || len(e.Topics) != 3 || !strings.EqualFold(e.Topics[0], transferTopic) {
		return log, false
	}
	contract, err := hex.DecodeString(strings.TrimPrefix(e.Address, "0x"))
	if err != nil || len(contract) != len(log.Contract) || !contracts[keys.EthereumAddress(contract)] {
		return log, false
	}
	to, isWord := ethereum.ParseHash(e.Topics[2])
	amount, isAmount := ethereum.ParseHash(e.Data)
	tx, isTx := ethereum.ParseHash(e.TransactionHash)
	block, isBlock := ethereum.ParseHash(e.BlockHash)
	height, isHeight := parseQuantity(e.BlockNumber)
	index, isIndex := parseQuantity(e.LogIndex)
	if !isWord || !isAmount || !isTx || !isBlock || !isHeight || !isIndex || index > math.MaxUint32 {
		return log, false
	}
	const padding = len(ethereum.Hash{}) - len(keys.EthereumAddress{})
	if [padding]byte(to[:padding]) != [padding]byte{} {
		return log, false
	}
	return ethereum.Log{
		Contract: keys.EthereumAddress(contract), To: keys.EthereumAddress(to[padding:]), Amount: amount,
		Tx: tx, Index: uint32(index), Block: block, Height: height,
	}, true
}

// parseLogs parses a list of events.
func parseLogs(result json.RawMessage) ([]event, error) {
	var list []event
	if err := json.Unmarshal(result, &list); err != nil || list == nil {
		return nil, errFormat
	}
	return list, nil
}

// receipt is the receipt of a transaction in JSON.
type receipt struct {
	Status, BlockHash string
	Logs              []event
}

// parseReceipt parses a receipt. It returns nil if the transaction is in no block.
func parseReceipt(result json.RawMessage) (*receipt, error) {
	var r *receipt
	if err := json.Unmarshal(result, &r); err != nil {
		return nil, errFormat
	}
	return r, nil
}

// contains reports whether the transaction succeeded and its receipt contains the event of a log in the same
// block. A log without an amount matches an event of any amount.
func (r *receipt) contains(log ethereum.Log) bool {
	if r == nil || r.Status != "0x1" || !strings.EqualFold(r.BlockHash, log.Block.String()) {
		return false
	}
	contracts := map[keys.EthereumAddress]bool{log.Contract: true}
	for _, e := range r.Logs {
		found, ok := e.transfer(contracts)
		if log.Amount == ([32]byte{}) {
			found.Amount = log.Amount
		}
		if ok && found == log.Event() {
			return true
		}
	}
	return false
}
