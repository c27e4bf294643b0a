package sign

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/binary"
	"errors"

	"github.com/btcsuite/btcd/btcec/v2"

	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
)

// node is an extended private key of BIP 32. Package hdkeychain cannot be used here: it imports package net.
type node struct {
	key   btcec.ModNScalar
	chain [32]byte
}

// errNode means that a key is invalid. Its probability is below 2^-127. See BIP 32, "Master key generation".
var errNode = errors.New("the key at this path is not valid")

// newMaster returns the master key of a seed. See BIP 32, "Master key generation".
func newMaster(seed []byte) (*node, error) {
	n := &node{}
	return n, n.set([]byte("Bitcoin seed"), seed, nil)
}

// set sets a node from the HMAC-SHA512 of data, and adds the key of its parent, if there is one.
func (n *node) set(key, data []byte, parent *btcec.ModNScalar) error {
	mac := hmac.New(sha512.New, key)
	mac.Write(data)
	sum := mac.Sum(nil)
	defer wipe(sum)
	overflows := n.key.SetByteSlice(sum[:32])
	copy(n.chain[:], sum[32:])
	if parent != nil {
		n.key.Add(parent)
	}
	if overflows || n.key.IsZero() {
		return errNode
	}
	return nil
}

// child returns the child with an index. See BIP 32, "Private parent key → private child key".
func (n *node) child(index uint32) (*node, error) {
	var data [37]byte
	defer wipe(data[:])
	if index >= plan.Hardened {
		n.key.PutBytesUnchecked(data[1:33])
	} else {
		private := n.private()
		copy(data[:], private.PubKey().SerializeCompressed())
		private.Zero()
	}
	binary.BigEndian.PutUint32(data[33:], index)
	c := &node{}
	return c, c.set(n.chain[:], data[:], &n.key)
}

// private returns the private key, which the caller zeroes.
func (n *node) private() *btcec.PrivateKey { return btcec.PrivKeyFromScalar(&n.key) }

// address returns the address of the key.
func (n *node) address() evm.Address {
	private := n.private()
	defer private.Zero()
	return evm.AddressOf(private.PubKey())
}

// zero overwrites the key.
func (n *node) zero() {
	n.key.Zero()
	clear(n.chain[:])
}

// Wallet is the master key of a recovery phrase.
type Wallet struct{ master *node }

// Open returns the wallet of a recovery phrase and a passphrase, which may be empty. The caller overwrites both. The
// error is a Refusal if a word or the checksum is wrong.
func Open(phrase, passphrase []byte) (*Wallet, error) {
	seed, err := newSeed(phrase, passphrase)
	if err != nil {
		return nil, err
	}
	defer wipe(seed)
	master, err := newMaster(seed)
	if err != nil {
		return nil, err
	}
	return &Wallet{master}, nil
}

// Close overwrites the key.
func (w *Wallet) Close() { w.master.zero() }

// derive returns the key at a path, which the caller zeroes.
func (w *Wallet) derive(path plan.Path) (*node, error) {
	n := &node{key: w.master.key, chain: w.master.chain}
	for _, step := range path {
		c, err := n.child(step)
		n.zero()
		if err != nil {
			return nil, err
		}
		n = c
	}
	return n, nil
}
