package monero

import (
	"encoding/binary"

	"filippo.io/edwards25519"
)

// Wallet is a wallet that only has the private view key. It is safe for concurrent use.
type Wallet struct {
	key     ViewKey
	address Address
	spend   *edwards25519.Point // B
}

// NewWallet returns a new Wallet with a primary address and its private view key. It returns ErrIntegrated or ErrSubaddress for other
// addresses, ErrSpendKey if the key can spend, or ErrKeyMismatch if the key does not belong to the address.
func NewWallet(primary Address, key ViewKey) (*Wallet, error) {
	if err := primary.checkPrimary(); err != nil {
		return nil, err
	}
	spend, ok := primary.SpendKey.point()
	if !ok {
		return nil, ErrAddressKey
	}
	if key.scalar == nil {
		return nil, ErrKeyForm
	}
	switch key.public() {
	case primary.SpendKey:
		return nil, ErrSpendKey
	case primary.ViewKey:
		return &Wallet{key: key, address: primary, spend: spend}, nil
	default:
		return nil, ErrKeyMismatch
	}
}

// Address returns the primary address.
func (w *Wallet) Address() Address { return w.address }

// Key returns the private view key.
func (w *Wallet) Key() ViewKey { return w.key }

// Subaddress returns the address with an index in account 0. Index 0 is the primary address. See Zero to Monero 2.0, section 4.3, and
// get_subaddress in src/device/device_default.cpp of Monero.
func (w *Wallet) Subaddress(index uint32) Address {
	if index == 0 {
		return w.address
	}
	spend := w.spendPoint(index)
	view := new(edwards25519.Point).ScalarMult(w.key.scalar, spend)
	return Address{Network: w.address.Network, Kind: Subaddress, SpendKey: PublicKey(spend.Bytes()), ViewKey: PublicKey(view.Bytes())}
}

// SpendKey returns the public spend key of Subaddress(index), by which Payments identifies a subaddress. It is faster than Subaddress.
func (w *Wallet) SpendKey(index uint32) PublicKey {
	if index == 0 {
		return w.address.SpendKey
	}
	return PublicKey(w.spendPoint(index).Bytes())
}

// spendPoint returns D = B + m·G with m = Hs("SubAddr" || 0 || a || account || index) for an index from 1 on.
func (w *Wallet) spendPoint(index uint32) *edwards25519.Point {
	var account, minor [4]byte
	binary.LittleEndian.PutUint32(minor[:], index)
	m := hashToScalar([]byte("SubAddr\x00"), w.key.scalar.Bytes(), account[:], minor[:])
	p := new(edwards25519.Point).ScalarBaseMult(m)
	return p.Add(p, w.spend)
}

// NewTestWallet returns the private spend key, the primary address and the private view key of a wallet on stagenet. The keys
// are made from random bytes in the way of Monero's wallets, so that a wallet is restored from the spend key. See
// account_base::generate in src/cryptonote_basic/account.cpp of Monero.
func NewTestWallet(random [32]byte) (spendKey [32]byte, primary Address, viewKey ViewKey) {
	spend := reduce(random)
	spendKey = [32]byte(spend.Bytes())
	view := hashToScalar(spendKey[:])
	primary = Address{Network: Stagenet, Kind: Primary}
	primary.SpendKey = PublicKey(new(edwards25519.Point).ScalarBaseMult(spend).Bytes())
	primary.ViewKey = PublicKey(new(edwards25519.Point).ScalarBaseMult(view).Bytes())
	return spendKey, primary, ViewKey{view}
}
