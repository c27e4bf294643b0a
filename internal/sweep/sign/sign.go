package sign

import (
	"encoding/hex"
	"fmt"

	"github.com/btcsuite/btcd/btcec/v2"

	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
)

// Options are the paths that the operator gives.
type Options struct {
	// Account is the path of the account key; empty for that of the plan.
	Account plan.Path
	// Payer is the path of the payer; empty if its transactions are not signed.
	Payer plan.Path
}

// Signer holds the private keys of the addresses of a plan.
type Signer struct {
	plan  plan.Plan
	keys  []*btcec.PrivateKey // of the rows
	payer *btcec.PrivateKey   // nil without the transactions of the payer
}

// Check returns a Refusal if a plan cannot be signed with the options.
func (o Options) Check(p plan.Plan) error {
	if len(o.Account) == 0 && len(p.Account) == 0 {
		return Refusal("The plan does not show the account of its addresses. Say --account, such as m/44'/60'/0'.")
	}
	if len(o.Payer) == 0 && len(p.Funded()) > 0 {
		return Refusal("The payer of the plan sends the coin for fees to addresses. Say --payer PATH.")
	}
	if len(o.Payer) > 0 && p.Payer == nil {
		return Refusal("The plan has no payer. Make it again with one, or leave --payer out.")
	}
	return nil
}

// NewSigner derives the keys of all rows of a plan. The error is a Refusal if an address of the plan does not belong
// to the wallet, or if Check refuses the options.
func NewSigner(p plan.Plan, w *Wallet, o Options) (*Signer, error) {
	if err := o.Check(p); err != nil {
		return nil, err
	}
	account := o.Account
	if len(account) == 0 {
		account = p.Account
	}
	s := &Signer{plan: p}
	if err := s.derive(w, account, o.Payer); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// derive derives the keys of the rows, and that of the payer if its path is given.
func (s *Signer) derive(w *Wallet, account, payer plan.Path) error {
	for _, r := range s.plan.Rows {
		key, err := w.private(account.Below(r.Steps[:]...), r.From)
		if err != nil {
			return err
		}
		s.keys = append(s.keys, key)
	}
	if len(payer) == 0 {
		return nil
	}
	key, err := w.private(payer, s.plan.Payer.Address)
	s.payer = key
	return err
}

// private returns the private key at a path. The error is a Refusal if its address is another one.
func (w *Wallet) private(path plan.Path, want evm.Address) (*btcec.PrivateKey, error) {
	n, err := w.derive(path)
	if err != nil {
		return nil, fmt.Errorf("derive %s: %w", path, err)
	}
	defer n.zero()
	if n.address() != want {
		return nil, Refusal(fmt.Sprintf("These words do not hold %s at %s: another account, passphrase or wallet?", want, path))
	}
	return n.private(), nil
}

// Close overwrites the keys.
func (s *Signer) Close() {
	for _, key := range s.keys {
		key.Zero()
	}
	if s.payer != nil {
		s.payer.Zero()
	}
}

// Sign returns the signed file of the plan. It checks each signature before it returns.
func (s *Signer) Sign() (plan.Signed, error) {
	signed, signatures := plan.NewSigned(s.plan), map[int]evm.Signature{}
	for i, r := range s.plan.Rows {
		signature, err := evm.Sign(s.keys[i], s.plan.Digest(i+1))
		if err != nil {
			return plan.Signed{}, fmt.Errorf("sign row %d: %w", i+1, err)
		}
		if r.SendsTransaction() {
			signed.Rows = append(signed.Rows, plan.SignedRow{Transaction: rawText(s.plan.Transaction(r), signature)})
			continue
		}
		signatures[i+1] = signature
		signed.Rows = append(signed.Rows, plan.SignedRow{Signature: signature})
	}
	if s.payer != nil {
		for i, t := range s.plan.PayerTransactions(signatures) {
			signature, err := evm.Sign(s.payer, t.SigningHash())
			if err != nil {
				return plan.Signed{}, fmt.Errorf("sign transaction %d of the payer: %w", i+1, err)
			}
			signed.Payer = append(signed.Payer, rawText(t, signature))
		}
	}
	if err := signed.Check(s.plan); err != nil {
		return plan.Signed{}, fmt.Errorf("check the signatures: %w", err)
	}
	return signed, nil
}

// rawText returns a signed transaction as 0x and hex digits.
func rawText(t evm.Transaction, s evm.Signature) string { return "0x" + hex.EncodeToString(t.Raw(s)) }
