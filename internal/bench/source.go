package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/btcutil/gcs"
	"github.com/btcsuite/btcd/btcutil/gcs/builder"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
)

// source is a chain of blocks in memory. It acts as a node does or, for blocks with filters, as the
// light client does. It implements bitcoin.Source.
type source struct {
	headers []bitcoin.Header   // by height
	bodies  map[string]content // by hash
	reading time.Duration      // time to read the last block
	read    int                // number of read blocks
	matched matcher
}

// content is a block's content.
type content struct {
	height int64
	bytes  []byte
	filter *filter // nil for a node
}

// filter is a block's filter with its key.
type filter struct {
	*gcs.Filter
	key [gcs.KeySize]byte
}

// extend appends a block to the chain.
func (s *source) extend(block *wire.MsgBlock, f *filter) {
	if s.bodies == nil {
		s.bodies = map[string]content{}
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
	s.bodies[header.Hash] = content{height: header.Height, bytes: serialized.Bytes(), filter: f}
}

func (s *source) Best(context.Context) (bitcoin.Header, error) {
	return s.headers[len(s.headers)-1], nil
}

func (s *source) AtHeight(_ context.Context, height int64) (bitcoin.Header, error) {
	if height >= int64(len(s.headers)) {
		return bitcoin.Header{}, bitcoin.ErrNoBlock
	}
	return s.headers[height], nil
}

func (s *source) Concerns(_ context.Context, hash string, scripts iter.Seq[string]) (bool, error) {
	f := s.bodies[hash].filter
	if f == nil {
		return true, nil
	}
	return s.matched.matches(f, scripts)
}

func (s *source) Block(_ context.Context, hash string) (bitcoin.Block, error) {
	begin := time.Now()
	defer func() { s.reading = time.Since(begin) }()
	s.read++
	b := s.bodies[hash]
	var message wire.MsgBlock
	if err := message.Deserialize(bytes.NewReader(b.bytes)); err != nil {
		return bitcoin.Block{}, err
	}
	return bitcoin.NewBlock(b.height, &message)
}

func (s *source) Waiting(context.Context, chain.Watched) (bitcoin.Waiting, error) {
	return bitcoin.Waiting{Coverage: chain.Partial}, nil
}

func (s *source) Seen(string) time.Time                    { return time.Time{} }
func (s *source) Inputs(uint64) (iter.Seq[string], uint64) { return none, 0 }
func (s *source) Pending(string) bool                      { return false }
func (s *source) Buried([]string)                          {}
func (s *source) Health() chain.Health                     { return chain.Health{} }
func (s *source) Wake() <-chan struct{}                    { return nil }

// none is an empty sequence of scripts.
func none(func(string) bool) {}

// chunk is the number of scripts that are matched at once.
const chunk = 1 << 16

// matcher matches scripts in chunks. It replaces the light client's matcher, which source.Concerns
// should call once it exists.
type matcher struct {
	list   [][]byte
	buffer []byte // the memory of the list's scripts
}

// matches reports whether a filter may contain one of the scripts.
func (m *matcher) matches(f *filter, scripts iter.Seq[string]) (bool, error) {
	m.list, m.buffer = m.list[:0], m.buffer[:0]
	for script := range scripts {
		begin := len(m.buffer)
		var err error
		if m.buffer, err = hex.AppendDecode(m.buffer, []byte(script)); err != nil {
			return false, fmt.Errorf("script %q: %w", script, err)
		}
		if m.list = append(m.list, m.buffer[begin:]); len(m.list) < chunk {
			continue
		}
		if found, err := f.MatchAny(f.key, m.list); found || err != nil {
			return found, err
		}
		m.list, m.buffer = m.list[:0], m.buffer[:0]
	}
	return f.MatchAny(f.key, m.list)
}

// newFilter returns the filter of a block with the given number of scripts. See BIP 158.
func newFilter(random *rand.Rand, scripts int) (*filter, error) {
	f := &filter{}
	fill(random, f.key[:])
	data := make([][]byte, scripts)
	for i := range data {
		data[i] = script(random)
	}
	var err error
	f.Filter, err = gcs.BuildGCSFilter(builder.DefaultP, builder.DefaultM, f.key, data)
	return f, err
}

// message returns a block with the given number of transactions after the coinbase, of two or three
// outputs each. Some outputs pay the given scripts.
func message(random *rand.Rand, pays [][]byte, transactions int) *wire.MsgBlock {
	block := &wire.MsgBlock{Header: wire.BlockHeader{Version: 4, Timestamp: time.Unix(1_795_000_000, 0)}}
	mined := wire.NewMsgTx(2)
	mined.AddTxIn(wire.NewTxIn(wire.NewOutPoint(&chainhash.Hash{}, wire.MaxPrevOutIndex), []byte{3, 1, 2, 3}, nil))
	mined.AddTxOut(wire.NewTxOut(312_500_000, script(random)))
	block.Transactions = append(block.Transactions, mined)
	for n := range transactions {
		tx := wire.NewMsgTx(2)
		for range 1 + random.IntN(2) {
			var before chainhash.Hash
			fill(random, before[:])
			signature, key := make([]byte, 71), make([]byte, 33)
			fill(random, signature)
			fill(random, key)
			tx.AddTxIn(wire.NewTxIn(wire.NewOutPoint(&before, random.Uint32N(4)), nil, wire.TxWitness{signature, key}))
		}
		for range 2 + n%2 {
			tx.AddTxOut(wire.NewTxOut(random.Int64N(1e8), script(random)))
		}
		if step := max(transactions/max(len(pays), 1), 1); n%step == 0 && n/step < len(pays) {
			tx.TxOut[0].PkScript = pays[n/step]
		}
		block.Transactions = append(block.Transactions, tx)
	}
	txs := make([]*btcutil.Tx, len(block.Transactions))
	for i, tx := range block.Transactions {
		txs[i] = btcutil.NewTx(tx)
	}
	block.Header.MerkleRoot = blockchain.CalcMerkleRoot(txs, false)
	return block
}

// script returns a random script of a common kind: two in three pay a key's hash, and half of the
// others a taproot output.
func script(random *rand.Rand) []byte {
	var s []byte
	switch random.IntN(6) {
	case 0:
		s = append([]byte{0x51, 0x20}, make([]byte, 32)...)
		fill(random, s[2:])
	case 1:
		s = append([]byte{0xa9, 0x14}, make([]byte, 21)...)
		fill(random, s[2:22])
		s[22] = 0x87
	default:
		s = append([]byte{0x00, 0x14}, make([]byte, 20)...)
		fill(random, s[2:])
	}
	return s
}

func fill(random *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(random.Uint32())
	}
}
