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

// branch is the key whose children are the addresses, taken apart once: a child
// then costs one multiplication, where the library recovers the parent's point
// and the child's again from their bytes each time.
type branch struct {
	number    uint32 // of the branch under its account
	point     btcec.JacobianPoint
	public    []byte // compressed
	chainCode []byte
	// write is the address and script of a child.
	write func(*btcec.PublicKey) address

	deriving sync.Mutex
	// recent are blocks of addresses by their number modulo its length: one invoice
	// asks for the same address once per asset, the next one for the next, and
	// callers may derive ahead of that.
	recent [16]atomic.Pointer[block]
}

// address is one in its two forms, see Key.Address.
type address struct{ text, script string }

// blockSize is how many addresses are derived together.
const blockSize = 8

// block is the addresses whose indexes divided by its size are its number; empty
// where there is none.
type block struct {
	number    uint32
	addresses [blockSize]address
}

// newBranch takes a key apart.
func newBranch(key *hdkeychain.ExtendedKey, write func(*btcec.PublicKey) address) (*branch, error) {
	public, err := key.ECPubKey()
	if err != nil {
		return nil, fmt.Errorf("read branch: %w", err)
	}
	b := &branch{number: key.ChildIndex(), public: public.SerializeCompressed(), chainCode: key.ChainCode(), write: write}
	public.AsJacobian(&b.point)
	return b, nil
}

// spelled is b with another spelling of its addresses.
func (b *branch) spelled(write func(*btcec.PublicKey) address) *branch {
	return &branch{number: b.number, point: b.point, public: b.public, chainCode: b.chainCode, write: write}
}

// address is the one at an index below 2³¹.
func (b *branch) address(index uint32) (address, error) {
	found := b.block(index / blockSize).addresses[index%blockSize]
	if found == (address{}) {
		return address{}, fmt.Errorf("key %d does not exist", index)
	}
	return found, nil
}

// block is remembered or derived now; who wants the same meanwhile waits for it.
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
	made := b.derive(number)
	slot.Store(made)
	return made
}

// derive makes the addresses of a block. Together they cost one inversion, which
// is much of what one costs alone: the inverse of the product of all Z, times the
// other Z, is the inverse of each.
func (b *branch) derive(number uint32) *block {
	var points [blockSize]btcec.JacobianPoint
	var before [blockSize]btcec.FieldVal // the product of all Z before
	var product btcec.FieldVal
	product.SetInt(1)
	mac := hmac.New(sha512.New, b.chainCode)
	for i := range points {
		before[i] = product
		if points[i] = b.offset(mac, number*blockSize+uint32(i)); !points[i].Z.IsZero() {
			product.Mul(&points[i].Z)
		}
	}
	made := &block{number: number}
	inverse := *product.Inverse() // of the product of all Z up to that of i
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
		made.addresses[i] = b.write(btcec.NewPublicKey(&p.X, &p.Y))
	}
	return made
}

// offset is the point of the public key at an index. See BIP 32, "Public parent
// key → public child key"; the two cases in which there is no such child have a
// probability below 2⁻¹²⁷ each, and are the point at infinity here. The mac is
// keyed with the chain code.
func (b *branch) offset(mac hash.Hash, index uint32) (point btcec.JacobianPoint) {
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

// fingerprint is the hash160 of the public key and the chain code, in hex.
func (b *branch) fingerprint() string {
	return hex.EncodeToString(btcutil.Hash160(append(append([]byte(nil), b.public...), b.chainCode...)))
}
