package node

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/utxo"
	"chequer/internal/format"
)

const (
	// maxHeadersAhead is the number of headers that a node may have above its newest block: those of
	// blocks that it is downloading.
	maxHeadersAhead = 6
	// maxFallback is the number of blocks by which the best block may go down: more than any
	// reorganisation.
	maxFallback = 100
	// maxTipAge is the age from which the newest block counts as old. A network with miners does
	// not reach it.
	maxTipAge = 3 * time.Hour
	// keptHeaders is the number of headers that are kept, so that each is requested once.
	keptHeaders = 512
)

// coreNames are Bitcoin Core's names of the networks that have other names in btcd.
var coreNames = map[string]string{"mainnet": "main", "testnet3": "test"}

// chainInfo is the answer to getblockchaininfo.
type chainInfo struct {
	Chain         string
	Blocks        int64
	Headers       int64
	BestBlockHash string
	// InitialBlockDownload is nil for btcd, which does not report it.
	InitialBlockDownload *bool
}

// Best implements utxo.Source. It returns an error for a node of another network and for
// a node that is catching up.
func (n *Node) Best(ctx context.Context) (utxo.Header, error) {
	best, err := n.best(ctx)
	return best, n.noteResult(ctx, findBest, err)
}

func (n *Node) best(ctx context.Context) (utxo.Header, error) {
	var info chainInfo
	var genesis string
	infoRequest, genesisRequest := newRequest(&info, "getblockchaininfo"), newRequest(&genesis, "getblockhash", 0)
	if err := n.rpc.sendBatch(ctx, infoRequest, genesisRequest); err != nil {
		return utxo.Header{}, err
	}
	if err := firstError(infoRequest, genesisRequest); err != nil {
		return utxo.Header{}, err
	}
	if err := n.checkNetwork(info.Chain, genesis); err != nil {
		return utxo.Header{}, err
	}
	if err := n.checkCheckpoint(ctx, info.Blocks); err != nil {
		return utxo.Header{}, err
	}
	if err := n.checkCaughtUp(info); err != nil {
		return utxo.Header{}, err
	}
	best, err := n.header(ctx, info.Blocks, info.BestBlockHash)
	if errors.Is(err, utxo.ErrNoBlock) {
		return utxo.Header{}, fmt.Errorf("node does not have its own best block %s", info.BestBlockHash)
	}
	if err != nil {
		return utxo.Header{}, err
	}
	if err := n.checkAge(info, best); err != nil {
		return utxo.Header{}, err
	}
	n.highest = max(n.highest, best.Height)
	return best, nil
}

// checkNetwork returns an error if a node is of another network or another coin.
func (n *Node) checkNetwork(name, genesis string) error {
	if core := coreNames[name]; core != "" {
		name = core
	}
	if name != n.config.Chain {
		return fmt.Errorf("node is on the network %q, want %q as in %s", format.OneLine(name, maxQuoted), n.config.Chain, n.config.Setting)
	}
	if genesis != n.config.Genesis {
		return fmt.Errorf("first block is %s, want %s: the node is of another coin, see %s", format.OneLine(genesis, maxQuoted), n.config.Genesis, n.config.Setting)
	}
	return nil
}

// checkCheckpoint checks the checkpoint once, if the chain is that high: a coin that split off has
// the first block of the original coin, and its network may have the same name.
func (n *Node) checkCheckpoint(ctx context.Context, height int64) error {
	want := n.config.Checkpoint
	if n.checkpointPassed || want.Height == 0 || height < want.Height {
		return nil
	}
	var hash string
	if err := n.rpc.call(ctx, &hash, "getblockhash", want.Height); err != nil {
		return err
	}
	if hash != want.Hash {
		return fmt.Errorf("block %d is %s, want %s: the node is of another coin, see %s", want.Height, format.OneLine(hash, maxQuoted), want.Hash, n.config.Setting)
	}
	n.checkpointPassed = true
	return nil
}

// checkCaughtUp returns an error while a node lacks blocks.
func (n *Node) checkCaughtUp(info chainInfo) error {
	if info.Blocks < 0 || info.Headers < 0 {
		return fmt.Errorf("node reports block %d of %d", info.Blocks, info.Headers)
	}
	behind := info.InitialBlockDownload != nil && *info.InitialBlockDownload || info.Headers > info.Blocks+maxHeadersAhead
	n.setHealth(func(h *chain.Health) {
		h.Height, h.Progress = info.Blocks, ""
		if behind {
			h.Progress = fmt.Sprintf("block %d of %d", info.Blocks, info.Headers)
		}
	})
	if behind {
		return fmt.Errorf("catching up: block %d of %d", info.Blocks, info.Headers)
	}
	if info.Blocks < n.highest-maxFallback {
		return fmt.Errorf("best block went down from %d to %d", n.highest, info.Blocks)
	}
	return nil
}

// checkAge checks the age of the newest block. An old block is only a hint, unless the node
// does not report whether it is catching up.
func (n *Node) checkAge(info chainInfo, best utxo.Header) error {
	age := n.config.Now().Sub(best.Time)
	if age < maxTipAge || n.config.Chain == "regtest" {
		return nil
	}
	progress := fmt.Sprintf("the newest block is of %s", best.Time.Format(time.RFC3339))
	n.setHealth(func(h *chain.Health) { h.Progress = progress })
	if info.InitialBlockDownload == nil {
		return fmt.Errorf("catching up: %s", progress)
	}
	return nil
}

// AtHeight implements utxo.Source.
func (n *Node) AtHeight(ctx context.Context, height int64) (utxo.Header, error) {
	h, err := n.atHeight(ctx, height)
	return h, n.noteResult(ctx, findHeader, err)
}

func (n *Node) atHeight(ctx context.Context, height int64) (utxo.Header, error) {
	var hash string
	err := n.rpc.call(ctx, &hash, "getblockhash", height)
	if hasCode(err, codeRange, codeMisc) {
		return utxo.Header{}, fmt.Errorf("%w: at height %d", utxo.ErrNoBlock, height)
	}
	if err != nil {
		return utxo.Header{}, err
	}
	return n.header(ctx, height, hash)
}

// header returns the header of a block, and reads it only once.
func (n *Node) header(ctx context.Context, height int64, hash string) (utxo.Header, error) {
	if h, known := n.headers[hash]; known && h.Height == height {
		return h, nil
	}
	message, err := n.rawHeader(ctx, hash)
	if err != nil {
		return utxo.Header{}, err
	}
	if len(n.headers) >= keptHeaders {
		clear(n.headers)
	}
	h := bitcoin.NewHeader(height, message)
	n.headers[hash] = h
	return h, nil
}

// rawHeader reads a header and checks that it has the given hash.
func (n *Node) rawHeader(ctx context.Context, hash string) (*wire.BlockHeader, error) {
	if _, err := parseHash(hash); err != nil {
		return nil, err
	}
	var text string
	err := n.rpc.call(ctx, &text, "getblockheader", hash, false)
	if hasCode(err, codeNotFound) {
		return nil, fmt.Errorf("%w: %s", utxo.ErrNoBlock, hash)
	}
	if err != nil {
		return nil, err
	}
	return parseHeader(hash, text)
}

func parseHeader(hash, text string) (*wire.BlockHeader, error) {
	raw, err := hex.DecodeString(text)
	var h wire.BlockHeader
	if err != nil || len(raw) != wire.MaxBlockHeaderPayload || h.Deserialize(bytes.NewReader(raw)) != nil {
		return nil, fmt.Errorf("malformed header %q of block %s", format.OneLine(text, maxQuoted), hash)
	}
	if got := h.BlockHash().String(); got != hash {
		return nil, fmt.Errorf("asked for the header of block %s, got that of %s", hash, got)
	}
	return &h, nil
}

// parseHash parses a hash, which must be complete and in lower case.
func parseHash(text string) (chainhash.Hash, error) {
	h, err := chainhash.NewHashFromStr(text)
	if err != nil || h.String() != text {
		return chainhash.Hash{}, fmt.Errorf("%q is not a hash", format.OneLine(text, maxQuoted))
	}
	return *h, nil
}
