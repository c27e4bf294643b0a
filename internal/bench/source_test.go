package bench_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/utxo"
)

// source is a chain of blocks in memory. It implements utxo.Source like a node or, for blocks with
// filters, like the light client.
type source struct {
	headers []utxo.Header           // by height
	bodies  map[string]blockContent // by hash
	reading time.Duration           // time to read the last block
	read    int                     // number of read blocks
	matcher matcher
}

// blockContent is a block's serialized content.
type blockContent struct {
	height int64
	bytes  []byte
	filter *filter // nil for a node
}

// extend appends a block to the chain.
func (s *source) extend(block *wire.MsgBlock, f *filter) {
	if s.bodies == nil {
		s.bodies = map[string]blockContent{}
	}
	if n := len(s.headers); n > 0 {
		parent, err := chainhash.NewHashFromStr(s.headers[n-1].Hash)
		if err != nil {
			panic(err) // NewHeader wrote the hash
		}
		block.Header.PrevBlock = *parent
	}
	var serialized bytes.Buffer
	if err := block.Serialize(&serialized); err != nil {
		panic(err) // writing to a bytes.Buffer cannot fail
	}
	header := bitcoin.NewHeader(int64(len(s.headers)), &block.Header)
	s.headers = append(s.headers, header)
	s.bodies[header.Hash] = blockContent{height: header.Height, bytes: serialized.Bytes(), filter: f}
}

func (s *source) Best(context.Context) (utxo.Header, error) {
	return s.headers[len(s.headers)-1], nil
}

func (s *source) AtHeight(_ context.Context, height int64) (utxo.Header, error) {
	if height >= int64(len(s.headers)) {
		return utxo.Header{}, utxo.ErrNoBlock
	}
	return s.headers[height], nil
}

func (s *source) MayPay(_ context.Context, hash string, scripts iter.Seq[string]) (bool, error) {
	f := s.bodies[hash].filter
	if f == nil {
		return true, nil
	}
	return s.matcher.matches(f, scripts)
}

func (s *source) Block(_ context.Context, hash string) (utxo.Block, error) {
	start := time.Now()
	defer func() { s.reading = time.Since(start) }()
	s.read++
	b := s.bodies[hash]
	var message wire.MsgBlock
	if err := message.Deserialize(bytes.NewReader(b.bytes)); err != nil {
		return utxo.Block{}, err
	}
	return bitcoin.NewBlock(b.height, &message)
}

func (s *source) Waiting(context.Context, chain.Watched) (utxo.Waiting, error) {
	return utxo.Waiting{Coverage: chain.Partial}, nil
}

func (s *source) Seen(string) time.Time                    { return time.Time{} }
func (s *source) Inputs(uint64) (iter.Seq[string], uint64) { return none, 0 }
func (s *source) Pending(string) bool                      { return false }
func (s *source) Buried([]string)                          {}
func (s *source) Health() chain.Health                     { return chain.Health{} }
func (s *source) Wake() <-chan struct{}                    { return nil }

// none is an empty sequence of scripts.
func none(func(string) bool) {}

// A scan of the chain finds the payments in its blocks. With filters it reads only the blocks whose
// filters match.
func TestSource_is_scanned_like_a_chain(t *testing.T) {
	t.Parallel()
	for name, filtered := range map[string]bool{"a node": false, "blocks with filters": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			paid := newScript(random)
			s := &source{}
			for height := range 10 {
				var f *filter
				scripts := [][]byte{newScript(random)}
				var pays [][]byte
				if height == 7 {
					pays = [][]byte{paid}
					scripts = append(scripts, paid)
				}
				if filtered {
					f = newFilter(t, random, scripts)
				}
				s.extend(newBlock(random, pays, 5), f)
			}
			scanner := bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), s, time.Now)
			got, err := scanner.Scan(t.Context(), s.headers[0].Cursor(), scriptSet{hex.EncodeToString(paid)})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Transfers) != 1 || got.Transfers[0].Block.Height != 7 || got.Tip.Height != 9 {
				t.Errorf("transfers %+v up to block %d, want one in block 7", got.Transfers, got.Tip.Height)
			}
			if want := map[bool]int{false: 9, true: 1}[filtered]; s.read != want {
				t.Errorf("%d blocks were read, want %d", s.read, want)
			}
		})
	}
}
