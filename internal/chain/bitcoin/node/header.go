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
)

const (
	// ahead is how many headers a node may know above its newest block: those of
	// blocks that it is just reading.
	ahead = 6
	// fallback is how far the best block may go down: no reorganisation does more.
	fallback = 100
	// stale is an age of the newest block that no network with miners reaches.
	stale = 3 * time.Hour
	// keptHeaders is how many headers are kept, so that each is asked for once.
	keptHeaders = 512
)

// coreNames are Bitcoin Core's names of the networks that btcd calls otherwise.
var coreNames = map[string]string{"mainnet": "main", "testnet3": "test"}

// chainInfo is the answer to getblockchaininfo.
type chainInfo struct {
	Chain         string
	Blocks        int64
	Headers       int64
	BestBlockHash string
	// InitialBlockDownload is nil with btcd, which does not tell.
	InitialBlockDownload *bool
}

// Best implements bitcoin.Source. A node of another network, or one that is
// catching up, is not believed.
func (n *Node) Best(ctx context.Context) (bitcoin.Header, error) {
	best, err := n.best(ctx)
	return best, n.done(ctx, findBest, err)
}

func (n *Node) best(ctx context.Context) (bitcoin.Header, error) {
	var info chainInfo
	var genesis string
	chainInfo, first := ask(&info, "getblockchaininfo"), ask(&genesis, "getblockhash", 0)
	if err := n.rpc.do(ctx, chainInfo, first); err != nil {
		return bitcoin.Header{}, err
	}
	if err := firstError(chainInfo, first); err != nil {
		return bitcoin.Header{}, err
	}
	if err := n.rightNetwork(info.Chain, genesis); err != nil {
		return bitcoin.Header{}, err
	}
	if err := n.pass(ctx, info.Blocks); err != nil {
		return bitcoin.Header{}, err
	}
	if err := n.caughtUp(info); err != nil {
		return bitcoin.Header{}, err
	}
	best, err := n.header(ctx, info.Blocks, info.BestBlockHash)
	if errors.Is(err, bitcoin.ErrNoBlock) {
		return bitcoin.Header{}, fmt.Errorf("it does not have its own best block %s", info.BestBlockHash)
	}
	if err != nil {
		return bitcoin.Header{}, err
	}
	if err := n.fresh(info, best); err != nil {
		return bitcoin.Header{}, err
	}
	n.highest = max(n.highest, best.Height)
	return best, nil
}

func (n *Node) rightNetwork(name, genesis string) error {
	if core := coreNames[name]; core != "" {
		name = core
	}
	if name != n.config.Chain {
		return fmt.Errorf("it is on the network %q, and %q is asked for in %s", words(name), n.config.Chain, n.config.Setting)
	}
	if genesis != n.config.Genesis {
		return fmt.Errorf("its first block is %s and not %s: it is a node of another coin, see %s", words(genesis), n.config.Genesis, n.config.Setting)
	}
	return nil
}

// pass asks once for the checkpoint, when the chain is that high: coins that split
// off have the first block of the one that they left, and may keep its name.
func (n *Node) pass(ctx context.Context, height int64) error {
	want := n.config.Checkpoint
	if n.passed || want.Height == 0 || height < want.Height {
		return nil
	}
	var hash string
	if err := n.rpc.call(ctx, &hash, "getblockhash", want.Height); err != nil {
		return err
	}
	if hash != want.Hash {
		return fmt.Errorf("its block %d is %s and not %s: it is a node of another coin, see %s", want.Height, words(hash), want.Hash, n.config.Setting)
	}
	n.passed = true
	return nil
}

// caughtUp fails while a node lacks blocks.
func (n *Node) caughtUp(info chainInfo) error {
	if info.Blocks < 0 || info.Headers < 0 {
		return fmt.Errorf("it is at block %d of %d", info.Blocks, info.Headers)
	}
	behind := info.InitialBlockDownload != nil && *info.InitialBlockDownload || info.Headers > info.Blocks+ahead
	n.tell(func(h *chain.Health) {
		h.Height, h.Progress = info.Blocks, ""
		if behind {
			h.Progress = fmt.Sprintf("block %d of %d", info.Blocks, info.Headers)
		}
	})
	if behind {
		return fmt.Errorf("it is catching up: block %d of %d", info.Blocks, info.Headers)
	}
	if info.Blocks < n.highest-fallback {
		return fmt.Errorf("its best block went down from %d to %d", n.highest, info.Blocks)
	}
	return nil
}

// fresh looks at the age of the newest block. That is a hint only, unless the
// node does not tell whether it is catching up.
func (n *Node) fresh(info chainInfo, best bitcoin.Header) error {
	age := n.config.Now().Sub(best.Time)
	if age < stale || n.config.Chain == "regtest" {
		return nil
	}
	progress := fmt.Sprintf("the newest block is of %s", best.Time.Format(time.RFC3339))
	n.tell(func(h *chain.Health) { h.Progress = progress })
	if info.InitialBlockDownload == nil {
		return fmt.Errorf("it is catching up: %s", progress)
	}
	return nil
}

// AtHeight implements bitcoin.Source.
func (n *Node) AtHeight(ctx context.Context, height int64) (bitcoin.Header, error) {
	h, err := n.atHeight(ctx, height)
	return h, n.done(ctx, findHeader, err)
}

func (n *Node) atHeight(ctx context.Context, height int64) (bitcoin.Header, error) {
	var hash string
	err := n.rpc.call(ctx, &hash, "getblockhash", height)
	if refused(err, codeRange, codeMisc) {
		return bitcoin.Header{}, fmt.Errorf("%w: at height %d", bitcoin.ErrNoBlock, height)
	}
	if err != nil {
		return bitcoin.Header{}, err
	}
	return n.header(ctx, height, hash)
}

// header reads the header of a block, once.
func (n *Node) header(ctx context.Context, height int64, hash string) (bitcoin.Header, error) {
	if h, known := n.headers[hash]; known && h.Height == height {
		return h, nil
	}
	message, err := n.rawHeader(ctx, hash)
	if err != nil {
		return bitcoin.Header{}, err
	}
	if len(n.headers) >= keptHeaders {
		clear(n.headers)
	}
	h := bitcoin.NewHeader(height, message)
	n.headers[hash] = h
	return h, nil
}

// rawHeader reads a header and checks that it is that of the hash.
func (n *Node) rawHeader(ctx context.Context, hash string) (*wire.BlockHeader, error) {
	if _, err := parseHash(hash); err != nil {
		return nil, err
	}
	var text string
	err := n.rpc.call(ctx, &text, "getblockheader", hash, false)
	if refused(err, codeNotFound) {
		return nil, fmt.Errorf("%w: %s", bitcoin.ErrNoBlock, hash)
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
		return nil, fmt.Errorf("the header of block %s is none: %s", hash, words(text))
	}
	if got := h.BlockHash().String(); got != hash {
		return nil, fmt.Errorf("asked for the header of block %s it gives that of %s", hash, got)
	}
	return &h, nil
}

// parseHash reads a hash, whole and in lower case as nodes spell it.
func parseHash(text string) (chainhash.Hash, error) {
	h, err := chainhash.NewHashFromStr(text)
	if err != nil || h.String() != text {
		return chainhash.Hash{}, fmt.Errorf("it says %q where a hash must be", words(text))
	}
	return *h, nil
}
