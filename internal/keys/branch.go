package keys

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"sync"
	"sync/atomic"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/btcutil/hdkeychain"
)

// branch is the extended public key whose children are the keys of the addresses. It is decoded once, so
// that deriving a child costs one scalar multiplication; package hdkeychain decodes parent and child each
// time.
type branch struct {
	number    uint32 // number of the branch under its account
	point     btcec.JacobianPoint
	public    []byte // compressed
	chainCode []byte
	// format returns the address and the script of a child.
	format func(*btcec.PublicKey) address

	deriving sync.Mutex
	// recent caches blocks of addresses, at their number modulo the length of the array: one
	// invoice needs the same address once per asset, the next invoice needs the next address, and
	// callers may derive ahead.
	recent [16]atomic.Pointer[block]
}

// address holds the two forms of an address, see Key.Address.
type address struct{ text, script string }

// blockSize is the number of addresses that are derived together.
const blockSize = 8

// block holds the addresses whose indexes divided by blockSize are its number; an address that does
// not exist is empty.
type block struct {
	number    uint32
	addresses [blockSize]address
}

// newBranch returns a new branch of key, whose addresses are formatted by format.
func newBranch(key *hdkeychain.ExtendedKey, format func(*btcec.PublicKey) address) (*branch, error) {
	public, err := key.ECPubKey()
	if err != nil {
		return nil, fmt.Errorf("read branch: %w", err)
	}
	b := &branch{number: key.ChildIndex(), public: public.SerializeCompressed(), chainCode: key.ChainCode(), format: format}
	public.AsJacobian(&b.point)
	return b, nil
}

// withFormat returns a copy of b with an empty cache, whose addresses are formatted by format.
func (b *branch) withFormat(format func(*btcec.PublicKey) address) *branch {
	return &branch{number: b.number, point: b.point, public: b.public, chainCode: b.chainCode, format: format}
}

// address returns the address at an index below 2³¹.
func (b *branch) address(index uint32) (address, error) {
	found := b.block(index / blockSize).addresses[index%blockSize]
	if found == (address{}) {
		return address{}, fmt.Errorf("key %d does not exist", index)
	}
	return found, nil
}

// block returns a block from the cache, or derives it. Concurrent callers wait for a block that is
// being derived.
func (b *branch) block(number uint32) *block {
	slot := &b.recent[number%uint32(len(b.recent))]
	if known := slot.Load(); known != nil && known.number == number {
		return known
	}
	b.deriving.Lock()
	defer b.deriving.Unlock()
	if known := slot.Load(); known != nil && known.number == number {
		return known
	}
	created := b.derive(number)
	slot.Store(created)
	return created
}

// derive returns the block with a number. It computes the inverses of the Jacobian Z coordinates with one
// inversion (Montgomery's trick), because an inversion is a large part of the cost of an address.
func (b *branch) derive(number uint32) *block {
	var points [blockSize]btcec.JacobianPoint
	var before [blockSize]btcec.FieldVal // product of all Z before i
	var product btcec.FieldVal
	product.SetInt(1)
	mac := hmac.New(sha512.New, b.chainCode)
	for i := range points {
		before[i] = product
		if points[i] = b.child(mac, number*blockSize+uint32(i)); !points[i].Z.IsZero() {
			product.Mul(&points[i].Z)
		}
	}
	created := &block{number: number}
	inverse := *product.Inverse() // inverse of the product of all Z up to i
	for i := blockSize - 1; i >= 0; i-- {
		p := &points[i]
		if p.Z.IsZero() {
			continue
		}
		var z, square btcec.FieldVal
		z.Mul2(&inverse, &before[i])
		square.SquareVal(&z)
		inverse.Mul(&p.Z)
		p.X.Mul(&square).Normalize()
		p.Y.Mul(square.Mul(&z)).Normalize()
		created.addresses[i] = b.format(btcec.NewPublicKey(&p.X, &p.Y))
	}
	return created
}

// child returns the public key at an index, in Jacobian coordinates. See BIP 32, "Public parent key →
// public child key". In the two cases in which there is no such child, each with a probability below
// 2⁻¹²⁷, it returns the point at infinity. The mac is keyed with the chain code.
func (b *branch) child(mac hash.Hash, index uint32) (point btcec.JacobianPoint) {
	mac.Reset()
	mac.Write(b.public)
	mac.Write(binary.BigEndian.AppendUint32(nil, index))
	digest := mac.Sum(nil)
	var tweak btcec.ModNScalar
	if overflow := tweak.SetByteSlice(digest[:32]); overflow {
		return btcec.JacobianPoint{}
	}
	btcec.ScalarBaseMultNonConst(&tweak, &point)
	btcec.AddNonConst(&point, &b.point, &point)
	point.Z.Normalize()
	return point
}

// fingerprint returns the hash160 of the public key and the chain code, in hex. It is not the fingerprint
// of BIP 32, which is shorter and omits the chain code.
func (b *branch) fingerprint() string {
	return hex.EncodeToString(btcutil.Hash160(append(append([]byte(nil), b.public...), b.chainCode...)))
}
