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

// source is a chain of blocks in memory, told as a node tells it or, where there
// are filters, as the light client does. It implements bitcoin.Source.
type source struct {
	headers []bitcoin.Header   // by height
	bodies  map[string]content // by hash
	reading time.Duration      // of the last block
	read    int                // blocks
	matched matcher
}

// content is what a block holds.
type content struct {
	height int64
	bytes  []byte
	filter *filter // nil: none, as of a node
}

// filter is a block's filter, with the key that it was made with.
type filter struct {
	*gcs.Filter
	key [gcs.KeySize]byte
}

// extend puts a block on top of the others.
func (s *source) extend(block *wire.MsgBlock, f *filter) {
	if s.bodies == nil {
		s.bodies = map[string]content{}
	}
	if n := len(s.headers); n > 0 {
		parent, err := chainhash.NewHashFromStr(s.headers[n-1].Hash)
		if err != nil {
			panic(err) // it was spelled by us
		}
		block.Header.PrevBlock = *parent
	}
	var spelled bytes.Buffer
	if err := block.Serialize(&spelled); err != nil {
		panic(err) // a buffer takes everything
	}
	header := bitcoin.NewHeader(int64(len(s.headers)), &block.Header)
	s.headers = append(s.headers, header)
	s.bodies[header.Hash] = content{height: header.Height, bytes: spelled.Bytes(), filter: f}
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

// none is no script.
func none(func(string) bool) {}

// chunk is how many scripts are matched at once.
const chunk = 1 << 16

// matcher matches scripts, a chunk at a time. It stands for the light client's
// own, which is to be called by source.Concerns once there is one.
type matcher struct {
	list   [][]byte
	buffer []byte // holds what the list's pieces are cut from
}

// matches tells whether a filter may hold one of some scripts.
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

// newFilter is the filter of a block with so many scripts. See BIP 158.
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

// message is a block with so many transactions after its first, of two or three
// outputs each, of which some pay given scripts.
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

// script is one of a kind that is in use: two in three pay a key's hash, of the
// others one in two a taproot output.
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
