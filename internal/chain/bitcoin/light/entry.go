package light

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/txscript"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain/bitcoin"
)

// entry is a transaction that was announced.
type entry struct {
	id     chainhash.Hash
	groups []group   // that announced it, as many as are needed
	first  time.Time // announced
	seen   time.Time // when enough groups had announced it; zero before
	last   time.Time // announced
	raw    []byte    // nil until it was fetched
	// Hashes of the scripts that it pays and of the outpoints that it spends.
	pays, spends []uint64
	payer        bool     // pays a watched destination
	paid         []uint64 // hashes of the watched scripts that it pays
	// What follows is filled in for what is seen and of interest.
	tx      *bitcoin.Tx
	claimed []string // outpoints
	// The memory that it takes, and the destinations that account for it.
	size     int
	accounts []uint64
}

// sure tells that enough groups announced e and that we have it.
func (e *entry) sure() bool { return !e.seen.IsZero() && e.raw != nil }

// hasher shortens scripts and outpoints, so that many fit in memory.
type hasher struct{ seed maphash.Seed }

func (h hasher) script(script []byte) uint64 { return maphash.Bytes(h.seed, script) }

func (h hasher) outpoint(o wire.OutPoint) uint64 {
	var b [36]byte
	copy(b[:], o.Hash[:])
	binary.LittleEndian.PutUint32(b[32:], o.Index)
	return maphash.Bytes(h.seed, b[:])
}

// fill puts a fetched transaction into its entry.
func (h hasher) fill(e *entry, tx *wire.MsgTx) error {
	var raw bytes.Buffer
	if err := tx.Serialize(&raw); err != nil {
		return err
	}
	e.raw = slices.Clip(raw.Bytes())
	for _, out := range tx.TxOut {
		e.pays = append(e.pays, h.script(out.PkScript))
	}
	for _, in := range tx.TxIn {
		e.spends = append(e.spends, h.outpoint(in.PreviousOutPoint))
	}
	return nil
}

// message is the transaction of an entry that was fetched.
func (e *entry) message() *wire.MsgTx {
	tx, err := decode(e.raw)
	if err != nil {
		panic("a transaction that was written cannot be read: " + err.Error())
	}
	return tx
}

// scriptSpent is the script in hex that an input spends from, "" where the input
// does not show it: a taproot output's key is not in what spends it.
func scriptSpent(in *wire.TxIn) string {
	if len(in.SignatureScript) == 0 && len(in.Witness) < 2 {
		return ""
	}
	script, err := txscript.ComputePkScript(in.SignatureScript, in.Witness)
	if err != nil {
		return ""
	}
	return hex.EncodeToString(script.Script())
}
