package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"chequer/internal/format"
)

const (
	// maxBlock is the maximum size of the answer with a block, in bytes: its hashes, not its transactions.
	maxBlock = 32 << 20
	// maxHeaders is the number of headers of one call. A restricted RPC refuses more.
	maxHeaders = 1000
	// maxHeadersAnswer is the maximum size of the answer with maxHeaders headers, in bytes.
	maxHeadersAnswer = 4 << 20
)

// Header is the header of a block.
type Header struct {
	Hash, PrevHash string
	Height         int64
	// Time is the time in the block, which its miner chose.
	Time time.Time
	// MajorVersion is the number of the hard fork whose rules the block follows.
	MajorVersion int
}

// Block is a block without its transactions.
type Block struct {
	Header
	// MinerTx is the transaction of the miner in monerod's JSON form, an object.
	MinerTx json.RawMessage
	// MinerTxHash is the hash of the transaction of the miner.
	MinerTxHash string
	// TxHashes are the hashes of the other transactions in the order of the block.
	TxHashes []string
}

// header is a header as monerod writes it.
type header struct {
	Hash         string
	PrevHash     string `json:"prev_hash"`
	Height       uint64
	Timestamp    uint64
	MajorVersion uint8  `json:"major_version"`
	Orphan       bool   `json:"orphan_status"`
	MinerTxHash  string `json:"miner_tx_hash"`
}

// convert returns the header, or an error if it is malformed.
func (h header) convert() (Header, error) {
	for _, hash := range []string{h.Hash, h.PrevHash} {
		if err := checkHash(hash); err != nil {
			return Header{}, err
		}
	}
	height, err := checkHeight(h.Height)
	if err != nil {
		return Header{}, err
	}
	at, err := checkTime(h.Timestamp)
	if err != nil {
		return Header{}, err
	}
	if h.MajorVersion == 0 {
		return Header{}, fmt.Errorf("%w: header without a version", ErrAnswer)
	}
	return Header{Hash: h.Hash, PrevHash: h.PrevHash, Height: height, Time: at, MajorVersion: int(h.MajorVersion)}, nil
}

// checkFork returns a *ForkError if a block is of an unknown hard fork.
func checkFork(h Header) error {
	if h.MajorVersion > knownFork {
		return &ForkError{Height: h.Height, Version: h.MajorVersion}
	}
	return nil
}

// HeaderOf returns the header of the block with a hash, of any hard fork. It returns ErrNoBlock if the daemon does not have
// the block, and an error if the block is not on the best chain.
func (c *Client) HeaderOf(ctx context.Context, hash string) (Header, error) {
	const method = "get_block_header_by_hash"
	var answer struct {
		Header header `json:"block_header"`
	}
	err := c.call(ctx, method, map[string]any{"hash": hash}, maxInfo, &answer)
	if hasCode(err, codeInternal) {
		return Header{}, fmt.Errorf("%w: %w", ErrNoBlock, err)
	}
	if err != nil {
		return Header{}, err
	}
	h, err := answer.Header.convert()
	switch {
	case err != nil:
		return Header{}, c.wrap(method, err)
	case h.Hash != hash:
		return Header{}, c.wrap(method, fmt.Errorf("%w: asked for block %s, got %s", ErrAnswer, hash, h.Hash))
	case answer.Header.Orphan:
		return Header{}, c.wrap(method, fmt.Errorf("%w: block %s is not on the best chain", ErrNoBlock, hash))
	}
	return h, nil
}

// Headers returns the headers of the blocks of the best chain from one height to another, both included. It returns
// ErrNoBlock if the chain is not that high. Headers of several calls may be of two chains, if blocks were replaced between
// the calls.
func (c *Client) Headers(ctx context.Context, from, to int64) ([]Header, error) {
	var found []Header
	for ; from <= to; from += maxHeaders {
		part, err := c.headers(ctx, from, min(to, from+maxHeaders-1))
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
	}
	return found, nil
}

func (c *Client) headers(ctx context.Context, from, to int64) ([]Header, error) {
	const method = "get_block_headers_range"
	var answer struct{ Headers []header }
	err := c.call(ctx, method, map[string]any{"start_height": from, "end_height": to}, maxHeadersAnswer, &answer)
	if hasCode(err, codeHeight) {
		return nil, fmt.Errorf("%w: %w", ErrNoBlock, err)
	}
	if err != nil {
		return nil, err
	}
	if want := to - from + 1; int64(len(answer.Headers)) != want {
		return nil, c.wrap(method, fmt.Errorf("%w: asked for %d headers, got %d", ErrAnswer, want, len(answer.Headers)))
	}
	found := make([]Header, len(answer.Headers))
	for i, h := range answer.Headers {
		if found[i], err = h.convert(); err != nil {
			return nil, c.wrap(method, err)
		}
		if want := from + int64(i); found[i].Height != want {
			return nil, c.wrap(method, fmt.Errorf("%w: asked for height %d, got %d", ErrAnswer, want, found[i].Height))
		}
	}
	return found, nil
}

// Block returns the block of the best chain at a height. It returns ErrNoBlock if the chain is not that high, and a
// *ForkError if the block is of an unknown hard fork.
func (c *Client) Block(ctx context.Context, height int64) (Block, error) {
	const method = "get_block"
	var answer struct {
		Header   header   `json:"block_header"`
		TxHashes []string `json:"tx_hashes"`
		JSON     string
	}
	err := c.call(ctx, method, map[string]any{"height": height}, maxBlock, &answer)
	if hasCode(err, codeHeight) {
		return Block{}, fmt.Errorf("%w: %w", ErrNoBlock, err)
	}
	if err != nil {
		return Block{}, err
	}
	h, err := answer.Header.convert()
	if err == nil && h.Height != height {
		err = fmt.Errorf("%w: asked for height %d, got %d", ErrAnswer, height, h.Height)
	}
	if err == nil {
		err = checkFork(h)
	}
	if err == nil {
		err = checkHash(answer.Header.MinerTxHash)
	}
	for _, hash := range answer.TxHashes {
		err = errors.Join(err, checkHash(hash))
	}
	if err != nil {
		return Block{}, c.wrap(method, err)
	}
	minerTx, err := minerTxOf(answer.JSON, h)
	if err != nil {
		return Block{}, c.wrap(method, err)
	}
	return Block{Header: h, MinerTx: minerTx, MinerTxHash: answer.Header.MinerTxHash, TxHashes: answer.TxHashes}, nil
}

// minerTxOf returns the transaction of the miner in the JSON form of a block. The block must be the one of the header.
func minerTxOf(text string, h Header) (json.RawMessage, error) {
	var block struct {
		PrevID  string          `json:"prev_id"`
		MinerTx json.RawMessage `json:"miner_tx"`
	}
	switch err := json.Unmarshal([]byte(text), &block); {
	case err != nil:
		return nil, fmt.Errorf("%w: JSON of the block: %s", ErrAnswer, format.OneLine(err.Error(), maxQuoted))
	case block.PrevID != h.PrevHash:
		return nil, fmt.Errorf("%w: the JSON is of another block", ErrAnswer)
	}
	if err := checkObject(block.MinerTx); err != nil {
		return nil, fmt.Errorf("transaction of the miner: %w", err)
	}
	return block.MinerTx, nil
}

// checkObject returns an error unless a text is an object of JSON.
func checkObject(text []byte) error {
	if !json.Valid(text) || text[0] != '{' {
		return fmt.Errorf("%w: not an object of JSON", ErrAnswer)
	}
	return nil
}
