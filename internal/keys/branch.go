package keys

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"fmt"
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
	// recent are children by their index modulo its length: one invoice asks for
	// the same child once per asset, and callers may derive ahead of that.
	recent [128]atomic.Pointer[child]
}

// child is a public key of a branch.
type child struct {
	index  uint32
	public *btcec.PublicKey
}

// newBranch takes a key apart.
func newBranch(key *hdkeychain.ExtendedKey) (*branch, error) {
	public, err := key.ECPubKey()
	if err != nil {
		return nil, fmt.Errorf("read branch: %w", err)
	}
	b := &branch{number: key.ChildIndex(), public: public.SerializeCompressed(), chainCode: key.ChainCode()}
	public.AsJacobian(&b.point)
	return b, nil
}

// child is the public key at an index below 2³¹.
func (b *branch) child(index uint32) (*btcec.PublicKey, error) {
	slot := &b.recent[index%uint32(len(b.recent))]
	if known := slot.Load(); known != nil && known.index == index {
		return known.public, nil
	}
	public, err := b.derive(index)
	if err != nil {
		return nil, err
	}
	slot.Store(&child{index: index, public: public})
	return public, nil
}

// derive makes the public key at an index. See BIP 32, "Public parent key →
// public child key"; the two cases in which it has no such child have a
// probability below 2⁻¹²⁷ each.
func (b *branch) derive(index uint32) (*btcec.PublicKey, error) {
	mac := hmac.New(sha512.New, b.chainCode)
	mac.Write(b.public)
	mac.Write(binary.BigEndian.AppendUint32(nil, index))
	hash := mac.Sum(nil)
	var tweak btcec.ModNScalar
	if overflow := tweak.SetByteSlice(hash[:32]); overflow {
		return nil, fmt.Errorf("key %d does not exist", index)
	}
	var point btcec.JacobianPoint
	btcec.ScalarBaseMultNonConst(&tweak, &point)
	btcec.AddNonConst(&point, &b.point, &point)
	if point.Z.IsZero() {
		return nil, fmt.Errorf("key %d does not exist", index)
	}
	point.ToAffine()
	return btcec.NewPublicKey(&point.X, &point.Y), nil
}

// fingerprint is the hash160 of the public key and the chain code, in hex.
func (b *branch) fingerprint() string {
	return hex.EncodeToString(btcutil.Hash160(append(append([]byte(nil), b.public...), b.chainCode...)))
}
