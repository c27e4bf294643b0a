package quorum

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"chequer/internal/chain/ethereum"
	"chequer/internal/evm"
)

// Event is a log in the receipt of a transaction.
type Event struct {
	Contract evm.Address
	Topics   []evm.Hash
	Data     []byte
}

// Receipt is the receipt of a transaction in a block.
type Receipt struct {
	Tx        evm.Hash
	Block     string // hash
	Height    int64
	Succeeded bool
	Events    []Event
	// Fee is the fee that the sender paid, in the smallest units of the coin; nil if too few operators state the same.
	Fee *big.Int
}

// receiptFields is a receipt in the form in which equal receipts are equal texts. Hashes and addresses are in lower case.
type receiptFields struct {
	Block, Height, Status string
	Logs                  []logFields
}

type logFields struct {
	Address, Data string
	Topics        []string
}

// Receipts returns the receipts of transactions, in their order. A receipt is nil if not enough operators show the same one: the
// transaction is in no block, or in one that the endpoints do not agree on yet.
func (q *Quorum) Receipts(ctx context.Context, txs []evm.Hash) ([]*Receipt, error) {
	votes, fees := make([]map[string]uint64, len(txs)), make([]map[string]uint64, len(txs))
	for i := range votes {
		votes[i], fees[i] = map[string]uint64{}, map[string]uint64{}
	}
	var mu sync.Mutex
	answered := askEach(ctx, q.panel, q.isEnough, func(ctx context.Context, e *endpoint) bool {
		shown, err := e.receipts(ctx, txs)
		mu.Lock()
		defer mu.Unlock()
		for i, r := range shown {
			if r.text != "" {
				votes[i][r.text] |= e.operatorBit
			}
			if r.fee != "" {
				fees[i][r.fee] |= e.operatorBit
			}
		}
		return err == nil
	})
	if !q.isEnough(operatorsOf(answered)) {
		return nil, q.noAnswer("eth_getTransactionReceipt")
	}
	receipts := make([]*Receipt, len(txs))
	for i, v := range votes {
		text := q.elected(v)
		if text == "" {
			continue
		}
		r, err := parseReceiptFields(text)
		if err != nil {
			return nil, err
		}
		r.Tx = txs[i]
		if fee := q.elected(fees[i]); fee != "" {
			r.Fee, _ = new(big.Int).SetString(fee, 10) // written by receiptFee
		}
		receipts[i] = r
	}
	return receipts, nil
}

// Known reports for each transaction whether an endpoint knows it, in a block or in none. An endpoint alone can claim that it knows one,
// and so delay that it counts as lost.
func (q *Quorum) Known(ctx context.Context, txs []evm.Hash) ([]bool, error) {
	calls := make([]call, len(txs))
	for i, tx := range txs {
		calls[i] = call{"eth_getTransactionByHash", []any{tx.String()}}
	}
	known := make([]bool, len(txs))
	var mu sync.Mutex
	answered := askEach(ctx, q.panel, q.isEnough, func(ctx context.Context, e *endpoint) bool {
		answers, err := e.ask(ctx, calls...)
		if err != nil {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		for i, a := range answers {
			if a.err != nil {
				e.noteFault(a.err.Error())
				return false
			}
			var found *struct{ Hash string }
			if err := json.Unmarshal(a.result, &found); err != nil {
				e.noteFailure(errFormat)
				return false
			}
			known[i] = known[i] || found != nil
		}
		return true
	})
	if !q.isEnough(operatorsOf(answered)) {
		return nil, q.noAnswer("eth_getTransactionByHash")
	}
	return known, nil
}

// Mined is a receipt with its block, which is on the best chain.
type Mined struct {
	Receipt
	Header ethereum.Header
}

// Mined returns the receipts of those transactions that are in blocks of the best chain, none above a height.
func (q *Quorum) Mined(ctx context.Context, highest int64, txs []evm.Hash) ([]Mined, error) {
	receipts, err := q.Receipts(ctx, txs)
	if err != nil {
		return nil, fmt.Errorf("read the receipts: %w", err)
	}
	var list []Mined
	for _, r := range receipts {
		if r == nil || r.Height > highest {
			continue
		}
		headers, err := q.Headers(ctx, r.Height, r.Height)
		if err != nil {
			return nil, fmt.Errorf("read block %d: %w", r.Height, err)
		}
		if headers[0].Hash == r.Block {
			list = append(list, Mined{*r, headers[0]})
		}
	}
	return list, nil
}

// shownReceipt is a receipt as an endpoint shows it. The text is "" for a transaction in no block, and the fee if the endpoint does not
// state it.
type shownReceipt struct{ text, fee string }

// receipts returns the receipts of transactions.
func (e *endpoint) receipts(ctx context.Context, txs []evm.Hash) ([]shownReceipt, error) {
	calls := make([]call, len(txs))
	for i, tx := range txs {
		calls[i] = call{"eth_getTransactionReceipt", []any{tx.String()}}
	}
	answers, err := e.ask(ctx, calls...)
	if err != nil {
		return nil, err
	}
	shown := make([]shownReceipt, len(answers))
	for i, a := range answers {
		if a.err != nil {
			e.noteFault(a.err.Error())
			return nil, a.err
		}
		var r *struct {
			BlockHash, BlockNumber, Status string
			Logs                           []logFields
			GasUsed, EffectiveGasPrice     string
			L1Fee                          string // of OP Stack networks
		}
		if err := json.Unmarshal(a.result, &r); err != nil {
			e.noteFailure(errFormat)
			return nil, errFormat
		}
		if r == nil || r.BlockHash == "" {
			continue
		}
		fields := receiptFields{Block: strings.ToLower(r.BlockHash), Height: r.BlockNumber, Status: r.Status}
		for _, l := range r.Logs {
			l.Address, l.Data = strings.ToLower(l.Address), strings.ToLower(l.Data)
			for n := range l.Topics {
				l.Topics[n] = strings.ToLower(l.Topics[n])
			}
			fields.Logs = append(fields.Logs, l)
		}
		text, err := json.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("encode a receipt: %w", err)
		}
		shown[i] = shownReceipt{string(text), receiptFee(r.GasUsed, r.EffectiveGasPrice, r.L1Fee)}
	}
	return shown, nil
}

// receiptFee returns the fee of a transaction in decimal digits; "" if its gas or the price of the gas is not stated.
func receiptFee(gas, price, l1 string) string {
	number := func(text string) (*big.Int, bool) { return new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16) }
	used, isUsed := number(gas)
	perGas, isPrice := number(price)
	if !isUsed || !isPrice {
		return ""
	}
	fee := used.Mul(used, perGas)
	if extra, isExtra := number(l1); isExtra {
		fee.Add(fee, extra)
	}
	return fee.String()
}

// parseReceiptFields parses the text of a receipt.
func parseReceiptFields(text string) (*Receipt, error) {
	var fields receiptFields
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return nil, errFormat
	}
	height, isHeight := parseQuantity(fields.Height)
	block, isBlock := ethereum.ParseHash(fields.Block)
	if !isHeight || !isBlock {
		return nil, errFormat
	}
	r := &Receipt{Block: block.String(), Height: height, Succeeded: fields.Status == "0x1"}
	for _, l := range fields.Logs {
		contract, err := evm.ParseAddress(l.Address)
		data, dataErr := hex.DecodeString(strings.TrimPrefix(l.Data, "0x"))
		if err != nil || dataErr != nil {
			return nil, errFormat
		}
		e := Event{Contract: contract, Data: data}
		for _, topic := range l.Topics {
			hash, ok := ethereum.ParseHash(topic)
			if !ok {
				return nil, errFormat
			}
			e.Topics = append(e.Topics, evm.Hash(hash))
		}
		r.Events = append(r.Events, e)
	}
	return r, nil
}

// ErrNonceUsed means that the sender has used the nonce of a transaction, for it or for another one.
var ErrNonceUsed = errors.New("the nonce is used")

// ErrRefused means that endpoints refuse a transaction, for another reason than its nonce.
var ErrRefused = errors.New("the endpoints refuse the transaction")

// Submit gives a signed transaction, 0x and hex digits, to all endpoints of the panel. It returns nil if an endpoint accepts it or has it already,
// ErrNonceUsed if none does and one says that the nonce is used, ErrRefused if an endpoint refuses it, otherwise the error of an endpoint.
func (q *Quorum) Submit(ctx context.Context, raw string) error {
	var mu sync.Mutex
	var accepted, used bool
	var refusal, failure error
	askEach(ctx, q.panel, q.isEnough, func(ctx context.Context, e *endpoint) bool {
		answers, err := e.ask(ctx, call{"eth_sendRawTransaction", []any{raw}})
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			failure = err
			return false
		case answers[0].err == nil, mentions(answers[0].err, "already known", "known transaction", "already imported", "alreadyknown", "already exists", "already in"):
			accepted = true
		case mentions(answers[0].err, "nonce too low", "nonce is too low", "oldnonce", "invalid nonce"):
			used = true
		default:
			refusal = answers[0].err
		}
		return true
	})
	switch {
	case accepted:
		return nil
	case used:
		return ErrNonceUsed
	case refusal != nil:
		return fmt.Errorf("%w: %w", ErrRefused, refusal)
	case failure != nil:
		return fmt.Errorf("no endpoint takes the transaction: %w", failure)
	}
	return q.noAnswer("eth_sendRawTransaction")
}

// Simulate returns what transactions would return in the state after a block, each alone with its limit of gas; nil for one that would
// fail. See the Ethereum execution APIs, "eth_call".
func (q *Quorum) Simulate(ctx context.Context, header ethereum.Header, messages []Message) ([][]byte, error) {
	list := make([]call, len(messages))
	for i, m := range messages {
		object := map[string]any{"from": m.From.String(), "to": m.To.String(), "data": hexText(m.Data)}
		if m.Value != nil {
			object["value"] = "0x" + m.Value.Text(16)
		}
		if m.Gas > 0 {
			object["gas"] = "0x" + strconv.FormatUint(m.Gas, 16)
		}
		list[i] = call{"eth_call", []any{object, blockParam(header)}}
	}
	return q.contents(ctx, header, list)
}

// Filter selects events of a contract. Each list of topics has the accepted values of the topic at its position; empty for any.
type Filter struct {
	Contract evm.Address
	Topics   [][]evm.Hash
}

// Search is a range of blocks, from the height From to the block To.
type Search struct {
	From int64
	To   ethereum.Header
}

// maxSearches is the number of requests for the events of one search.
const maxSearches = 400

// errSearch is the error of a search that needs more requests than maxSearches.
var errSearch = errors.New("the endpoint returns the events of too few blocks at once")

// Transactions returns the hashes of the transactions with events that a filter selects, in a range of blocks. Enough operators show
// each of them.
func (q *Quorum) Transactions(ctx context.Context, search Search, f Filter) ([]evm.Hash, error) {
	agreed, isEnough := agreedBy(ctx, q, func(ctx context.Context, e *endpoint) ([]evm.Hash, error) { return e.transactions(ctx, search, f) })
	if !isEnough {
		return nil, q.noAnswer("eth_getLogs")
	}
	slices.SortFunc(agreed, func(a, b evm.Hash) int { return slices.Compare(a[:], b[:]) })
	return agreed, nil
}

// transactions returns the hashes of the transactions that an endpoint shows. It first asks for the whole range, and for half as much
// after each refusal.
func (e *endpoint) transactions(ctx context.Context, search Search, f Filter) (found []evm.Hash, err error) {
	size, requests := search.To.Height-search.From+1, 0
	for from := search.From; from <= search.To.Height; {
		if requests++; requests > maxSearches {
			e.noteFault(errSearch.Error())
			return nil, errSearch
		}
		size = min(size, search.To.Height-from+1)
		filter := map[string]any{"address": f.Contract.String(), "topics": topics(f.Topics), "fromBlock": formatHex(from), "toBlock": formatHex(from + size - 1)}
		answers, err := e.ask(ctx, call{"eth_getLogs", []any{filter}}, call{"eth_getBlockByNumber", []any{formatHex(search.To.Height), false}})
		if (isRefused(err) || err == nil && answers[0].err != nil) && size > 1 {
			size /= 2
			continue
		}
		if err != nil {
			return nil, err
		}
		if answers[0].err != nil {
			e.noteFault(answers[0].err.Error())
			return nil, answers[0].err
		}
		if h, hasBlock, err := parseHeader(answers[1].result); answers[1].err != nil || err != nil || !hasBlock || h.Hash != search.To.Hash {
			return nil, fmt.Errorf("no block %d, %s", search.To.Height, search.To.Hash)
		}
		events, err := parseLogs(answers[0].result)
		if err != nil {
			e.noteFailure(err)
			return nil, err
		}
		for _, event := range events {
			if tx, ok := ethereum.ParseHash(event.TransactionHash); ok && !event.Removed {
				found = append(found, evm.Hash(tx))
			}
		}
		from += size
	}
	return found, nil
}

// topics returns the topics of a filter in JSON.
func topics(lists [][]evm.Hash) []any {
	var all []any
	for _, list := range lists {
		if len(list) == 0 {
			all = append(all, nil)
			continue
		}
		texts := make([]string, len(list))
		for i, t := range list {
			texts[i] = t.String()
		}
		all = append(all, texts)
	}
	return all
}

// Word returns the number in the data of an event that has one word.
func (e Event) Word() (*big.Int, bool) {
	if len(e.Data) != len(evm.Word{}) {
		return nil, false
	}
	return new(big.Int).SetBytes(e.Data), true
}
