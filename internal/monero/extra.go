package monero

import "encoding/binary"

// The tags of the fields of extra. See src/cryptonote_basic/tx_extra.h of Monero.
const (
	tagPadding        = 0x00
	tagKey            = 0x01
	tagNonce          = 0x02
	tagMergeMining    = 0x03
	tagAdditionalKeys = 0x04
	tagMinergate      = 0xde
)

// Limits of Monero on fields of extra, in bytes.
const (
	maxNonce = 255
)

// maxKeys is the number of keys of a transaction that are read from extra. Nodes relay transactions with an extra of at most 1,060
// bytes, which has room for 32 keys; only a miner can exceed this.
const maxKeys = 512

// extraKeys are the keys in the extra of a transaction.
type extraKeys struct {
	transaction []PublicKey // R, usually one
	additional  []PublicKey // one for each output, of a transaction that pays subaddresses
}

// readExtra returns the keys in an extra, which senders can fill with any bytes. Like Monero's wallet it keeps the fields before the
// first malformed or unknown field, and uses the first list of additional keys. See parse_tx_extra in
// src/cryptonote_basic/cryptonote_format_utils.cpp of Monero.
func readExtra(extra []byte) (keys extraKeys) {
	r := reader{extra}
	hasAdditional := false
	for len(r.data) > 0 && len(keys.transaction) < maxKeys {
		tag, _ := r.next(1)
		switch tag[0] {
		case tagPadding:
			return keys // padding extends to the end
		case tagKey:
			key, ok := r.next(len(PublicKey{}))
			if !ok {
				return keys
			}
			keys.transaction = append(keys.transaction, PublicKey(key))
		case tagNonce:
			if nonce, ok := r.text(); !ok || len(nonce) > maxNonce {
				return keys
			}
		case tagMergeMining:
			if field, ok := r.text(); !ok || !isMergeMining(field) {
				return keys
			}
		case tagMinergate:
			if _, ok := r.text(); !ok {
				return keys
			}
		case tagAdditionalKeys:
			list, ok := r.keys()
			if !ok {
				return keys
			}
			if !hasAdditional {
				keys.additional, hasAdditional = list, true
			}
		default:
			return keys
		}
	}
	return keys
}

// isMergeMining reports whether a field consists of a varint and a hash.
func isMergeMining(field []byte) bool {
	r := reader{field}
	_, ok := r.varint()
	return ok && len(r.data) == 32
}

// reader reads values from the start of data.
type reader struct{ data []byte }

// next returns the next n bytes, and reports whether there are as many.
func (r *reader) next(n int) ([]byte, bool) {
	if n > len(r.data) {
		return nil, false
	}
	head := r.data[:n]
	r.data = r.data[n:]
	return head, true
}

// varint reads a number in its shortest encoding. See src/common/varint.h of Monero.
func (r *reader) varint() (uint64, bool) {
	n, size := binary.Uvarint(r.data)
	if size <= 0 || size > 1 && r.data[size-1] == 0 {
		return 0, false
	}
	r.data = r.data[size:]
	return n, true
}

// text reads a length and as many bytes.
func (r *reader) text() ([]byte, bool) {
	n, ok := r.varint()
	if !ok || n > uint64(len(r.data)) {
		return nil, false
	}
	return r.next(int(n))
}

// keys reads a number and as many keys.
func (r *reader) keys() ([]PublicKey, bool) {
	n, ok := r.varint()
	if !ok || n > uint64(len(r.data)/len(PublicKey{})) {
		return nil, false
	}
	list := make([]PublicKey, n)
	for i := range list {
		key, _ := r.next(len(PublicKey{}))
		list[i] = PublicKey(key)
	}
	return list, true
}
