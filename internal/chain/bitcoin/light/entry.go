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

	"chequer/internal/chain/utxo"
)

// entry is an announced transaction.
type entry struct {
	id     chainhash.Hash
	groups []group   // groups that announced it, up to the required number
	first  time.Time // first announcement
	seen   time.Time // announcement by the last required group; zero before
	last   time.Time // last announcement
	saved  time.Time // last announcement that the store has; zero if it does not have the entry
	raw    []byte    // nil until it is fetched
	// outputHashes are hashes of the scripts that it pays, inputHashes of the outpoints
	// that it spends.
	outputHashes, inputHashes []uint64
	paysWatched               bool     // pays a watched destination
	watchedOutputs            []uint64 // hashes of the watched scripts that it pays
	// The fields below are set for relevant entries for which isTrusted returns true.
	tx      *utxo.Tx
	claimed []string // outpoints
	// size is its memory in bytes. It counts for the total limit and for the limits of destinations.
	size         int
	destinations []uint64 // hashes of the scripts of the destinations for whose limits size counts
}

// isTrusted reports whether enough groups announced e and it was fetched.
func (e *entry) isTrusted() bool { return !e.seen.IsZero() && e.raw != nil }

// isRelevant reports whether e has claims, see relevantTxs.
func (e *entry) isRelevant() bool { return e.tx != nil }

// hasher hashes scripts and outpoints to 64 bits, so that many fit in memory.
type hasher struct{ seed maphash.Seed }

func (h hasher) script(script []byte) uint64 { return maphash.Bytes(h.seed, script) }

func (h hasher) outpoint(o wire.OutPoint) uint64 {
	var b [36]byte
	copy(b[:], o.Hash[:])
	binary.LittleEndian.PutUint32(b[32:], o.Index)
	return maphash.Bytes(h.seed, b[:])
}

// fill stores a fetched transaction in its entry.
func (h hasher) fill(e *entry, tx *wire.MsgTx) error {
	var raw bytes.Buffer
	if err := tx.Serialize(&raw); err != nil {
		return err
	}
	e.raw = slices.Clip(raw.Bytes())
	for _, out := range tx.TxOut {
		e.outputHashes = append(e.outputHashes, h.script(out.PkScript))
	}
	for _, in := range tx.TxIn {
		e.inputHashes = append(e.inputHashes, h.outpoint(in.PreviousOutPoint))
	}
	return nil
}

// message returns the transaction of a fetched entry.
func (e *entry) message() *wire.MsgTx {
	tx, err := decode(e.raw)
	if err != nil {
		panic("cannot decode a serialized transaction: " + err.Error())
	}
	return tx
}

// scriptSpent returns the script, in hex, of the P2PKH, P2SH, P2WPKH or P2WSH output that an input spends, or "" if
// the input cannot spend one. The result for an input of another kind, such as a taproot script path, may be a
// script that no output has.
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
