package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"chequer/internal/evm"
)

// Signed is the signed file of a plan. ReadSigned checks its form; Check compares it with the plan.
type Signed struct {
	Plan string            // ID of the plan
	Hash [sha256.Size]byte // of the exact bytes of the plan's file
	To   evm.Address
	// Rows has an entry for each row of the plan, in the same order.
	Rows []SignedRow
	// Payer are the transactions of the payer in the order of their nonces: 0x and hex digits. It is empty if
	// chequer sign had no --payer.
	Payer []string
}

// SignedRow is a row of a signed file: the signature of an authorization, or a transaction.
type SignedRow struct {
	Signature   evm.Signature // of the authorization; zero for a transaction
	Transaction string        // 0x and hex digits; empty for an authorization
}

// signedFormat and signedVersion identify the signed file.
const (
	signedFormat  = "chequer-sweep-signed"
	signedVersion = 1
)

type signedFile struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	Plan    string          `json:"plan"`
	Hash    string          `json:"plan_sha256"`
	To      string          `json:"to"`
	Rows    []signedRowFile `json:"rows"`
	Payer   []string        `json:"payer,omitempty"` // transactions
}

type signedRowFile struct {
	N           int    `json:"n"`
	Signature   string `json:"signature,omitempty"`
	Transaction string `json:"transaction,omitempty"`
}

// NewSigned returns a signed file of a plan without signatures.
func NewSigned(p Plan) Signed { return Signed{Plan: p.ID, Hash: p.Hash(), To: p.To} }

// Encode returns the bytes of the signed file.
func (s Signed) Encode() ([]byte, error) {
	f := signedFile{
		Format: signedFormat, Version: signedVersion, Plan: s.Plan, Hash: hex.EncodeToString(s.Hash[:]), To: s.To.String(),
		Rows: []signedRowFile{}, Payer: s.Payer,
	}
	for i, r := range s.Rows {
		row := signedRowFile{N: i + 1, Transaction: r.Transaction}
		if r.Transaction == "" {
			row.Signature = r.Signature.String()
		}
		f.Rows = append(f.Rows, row)
	}
	content, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode the signed file: %w", err)
	}
	return append(content, '\n'), nil
}

// ReadSigned reads a signed file. The error names the field that is wrong. The signatures are not compared with a
// plan.
func ReadSigned(content []byte) (Signed, error) {
	var f signedFile
	if err := unmarshalStrict(content, signedFormat, signedVersion, &f); err != nil {
		return Signed{}, err
	}
	if !idForm.MatchString(f.Plan) {
		return Signed{}, fmt.Errorf("plan: %q is not the ID of a plan", printable(f.Plan))
	}
	s := Signed{Plan: f.Plan}
	hash, err := hex.DecodeString(f.Hash)
	if err != nil || len(hash) != len(s.Hash) || hex.EncodeToString(hash) != f.Hash {
		return Signed{}, errors.New("plan_sha256: it is not 64 hex digits in lower case")
	}
	s.Hash = [sha256.Size]byte(hash)
	if s.To, err = parseAddress(f.To); err != nil {
		return Signed{}, within("to", err)
	}
	if len(f.Rows) == 0 || len(f.Rows) > MaxRows {
		return Signed{}, fmt.Errorf("rows: there are %d, not from 1 to %d", len(f.Rows), MaxRows)
	}
	for i, row := range f.Rows {
		r, err := readSignedRow(i+1, row)
		if err != nil {
			return Signed{}, fmt.Errorf("row %d: %w", i+1, err)
		}
		s.Rows = append(s.Rows, r)
	}
	for i, t := range f.Payer {
		if _, _, err := evm.ParseTransaction(t); err != nil {
			return Signed{}, fmt.Errorf("payer %d: %w", i+1, err)
		}
	}
	s.Payer = f.Payer
	return s, nil
}

func readSignedRow(n int, f signedRowFile) (r SignedRow, err error) {
	if f.N != n {
		return r, fmt.Errorf("n: %d is not the number of the row", f.N)
	}
	if (f.Signature == "") == (f.Transaction == "") {
		return r, errors.New("it must have either a signature or a transaction")
	}
	if f.Transaction != "" {
		_, _, err := evm.ParseTransaction(f.Transaction)
		return SignedRow{Transaction: f.Transaction}, within("transaction", err)
	}
	r.Signature, err = evm.ParseSignature(f.Signature)
	if err == nil && r.Signature.String() != f.Signature {
		err = fmt.Errorf("it must be written %s", r.Signature)
	}
	return r, within("signature", err)
}

// Check returns an error if a signed file is not that of a plan: each signature must be that of the address of its
// row, and each transaction must be that of the plan.
func (s Signed) Check(p Plan) error {
	switch {
	case s.Plan != p.ID:
		return fmt.Errorf("the signed file belongs to the plan %s, not to %s", s.Plan, p.ID)
	case s.Hash != p.Hash():
		return fmt.Errorf("the plan %s was changed after it was signed", p.ID)
	case s.To != p.To:
		return fmt.Errorf("to: the signed file pays %s, the plan %s", s.To, p.To)
	case len(s.Rows) != len(p.Rows):
		return fmt.Errorf("rows: the signed file has %d, the plan %d", len(s.Rows), len(p.Rows))
	}
	signatures := map[int]evm.Signature{}
	for i, r := range s.Rows {
		if err := p.checkSigned(i+1, r); err != nil {
			return fmt.Errorf("row %d: %w", i+1, err)
		}
		signatures[i+1] = r.Signature
	}
	return s.checkPayer(p, signatures)
}

// checkSigned checks a row of a signed file against the row of the plan with number n.
func (p Plan) checkSigned(n int, s SignedRow) error {
	r := p.Rows[n-1]
	if r.SendsTransaction() != (s.Transaction != "") {
		return fmt.Errorf("it has not the signature of the way %s", r.Way)
	}
	if r.SendsTransaction() {
		return checkTransaction(s.Transaction, p.Transaction(r), r.From)
	}
	return checkSigner(s.Signature, p.Digest(n), r.From)
}

// checkPayer checks the transactions of the payer.
func (s Signed) checkPayer(p Plan, signatures map[int]evm.Signature) error {
	if len(s.Payer) == 0 {
		return nil
	}
	want := p.PayerTransactions(signatures)
	if len(want) != len(s.Payer) {
		return fmt.Errorf("payer: the signed file has %d transactions, the plan %d", len(s.Payer), len(want))
	}
	for i, text := range s.Payer {
		if err := checkTransaction(text, want[i], p.Payer.Address); err != nil {
			return fmt.Errorf("payer %d: %w", i+1, err)
		}
	}
	return nil
}

// checkTransaction checks a signed transaction.
func checkTransaction(text string, want evm.Transaction, from evm.Address) error {
	got, signature, err := evm.ParseTransaction(text)
	if err != nil {
		return err
	}
	if !got.Equal(want) {
		return errors.New("the transaction is not that of the plan")
	}
	return checkSigner(signature, want.SigningHash(), from)
}

// checkSigner checks that an address signed a hash.
func checkSigner(s evm.Signature, hash evm.Hash, from evm.Address) error {
	signer, err := s.Signer(hash)
	if err != nil {
		return err
	}
	if signer != from {
		return fmt.Errorf("signed by %s, not by %s", signer, from)
	}
	return nil
}
