package monero

import (
	"encoding/binary"
	"slices"

	"filippo.io/edwards25519"
)

// Payment is an output of a transaction that pays a wallet.
type Payment struct {
	Output   int       // index in the transaction
	Key      PublicKey // one-time key, which only one transaction can spend: a second output with the same key is worthless
	SpendKey PublicKey // D, the public spend key of the paid subaddress
	Index    uint32    // of the paid subaddress
	Amount   uint64    // in piconero, which may be 0
}

// Payments returns the outputs of a transaction that pay a wallet, each proved by its commitment, in the order of the transaction.
// lookup returns the index of the subaddress with a public spend key, and reports whether payments to it are wanted. It is called for
// about one of 256 outputs. The cost is that of a multiplication on the curve for each key in the extra, for any number of
// subaddresses.
//
// A plain amount has no commitment. If such an output fits several subaddresses that lookup accepts, there is a payment for each of them.
//
// Payments finds the outputs that Monero's wallet finds: with each key of the transaction, and with the additional key of the output
// if there is also a key of the transaction. Keys that are not points are skipped, where Monero's wallet tries the neutral element.
// See process_new_transaction in src/wallet/wallet2.cpp, and is_out_to_acc_precomp in
// src/cryptonote_basic/cryptonote_format_utils.cpp of Monero.
func (w *Wallet) Payments(t *Transaction, lookup func(spendKey PublicKey) (index uint32, ok bool)) []Payment {
	keys := readExtra(t.Extra)
	if len(keys.transaction) == 0 {
		return nil
	}
	var shared []derivation
	for _, key := range keys.transaction {
		if d, ok := derive(key, w.key.scalar); ok {
			shared = append(shared, d)
		}
	}
	var found []Payment
	for i := range t.Outputs {
		payments := findPayments(t, i, shared, lookup)
		if i < len(keys.additional) && (len(payments) == 0 || !t.encrypted) {
			if d, ok := derive(keys.additional[i], w.key.scalar); ok {
				payments = append(payments, findPayments(t, i, []derivation{d}, lookup)...)
			}
		}
		for n, p := range payments {
			if !slices.ContainsFunc(payments[:n], func(earlier Payment) bool { return earlier.SpendKey == p.SpendKey }) {
				found = append(found, p)
			}
		}
	}
	return found
}

// findPayments returns the payment of an output with the first of several derivations that fits, or those with all that fit if the
// amount is plain.
func findPayments(t *Transaction, i int, derivations []derivation, lookup func(PublicKey) (uint32, bool)) (found []Payment) {
	o := &t.Outputs[i]
	for _, d := range derivations {
		if o.hasViewTag && d.viewTag(i) != o.viewTag {
			continue
		}
		secret := d.scalar(i)
		spendKey, ok := o.spendKey(secret)
		if !ok {
			continue
		}
		index, ok := lookup(spendKey)
		if !ok {
			continue
		}
		amount := o.amount
		if t.encrypted {
			if amount, ok = o.decrypt(secret); !ok {
				continue
			}
		}
		found = append(found, Payment{Output: i, Key: o.Key, SpendKey: spendKey, Index: index, Amount: amount})
		if t.encrypted {
			return found
		}
	}
	return found
}

// spendKey returns D' = P - Hs(8aR || i)·G, which is the spend key of the subaddress that the output pays. See
// derive_subaddress_public_key in src/crypto/crypto.cpp of Monero.
func (o *Output) spendKey(secret *edwards25519.Scalar) (PublicKey, bool) {
	p, ok := o.Key.point()
	if !ok {
		return PublicKey{}, false
	}
	offset := new(edwards25519.Point).ScalarBaseMult(secret)
	return PublicKey(p.Subtract(p, offset).Bytes()), true
}

// decrypt returns the amount of an output in piconero, and reports whether the commitment proves it. See Zero to Monero 2.0, section
// 5.3, and ecdhDecode in src/ringct/rctOps.cpp of Monero.
func (o *Output) decrypt(secret *edwards25519.Scalar) (amount uint64, ok bool) {
	pad := keccak256([]byte("amount"), secret.Bytes())
	amount = binary.LittleEndian.Uint64(o.masked[:]) ^ binary.LittleEndian.Uint64(pad[:])
	mask := hashToScalar([]byte("commitment_mask"), secret.Bytes())
	return amount, commit(amount, mask) == o.commitment
}

// commit returns the Pedersen commitment mask·G + amount·H. See Zero to Monero 2.0, section 5.2.
func commit(amount uint64, mask *edwards25519.Scalar) [32]byte {
	var number [32]byte
	binary.LittleEndian.PutUint64(number[:], amount)
	s, err := new(edwards25519.Scalar).SetCanonicalBytes(number[:])
	if err != nil {
		panic(err) // 64 bits are below the order of the group
	}
	return [32]byte(new(edwards25519.Point).VarTimeDoubleScalarBaseMult(s, amountGenerator, mask).Bytes())
}

// amountGenerator is H, the generator of amounts in commitments: the point that the Keccak-256 of the base point G encodes, times 8.
// See src/ringct/rctTypes.h of Monero.
var amountGenerator = func() *edwards25519.Point {
	k, err := ParsePublicKey("8b655970153799af2aeadc9ff1add0ea6c7251d54154cfa92c173a0dd39c1f94")
	if err != nil {
		panic(err)
	}
	p, _ := k.point()
	return p
}()
