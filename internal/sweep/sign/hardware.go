package sign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
)

// typedData is the argument of eth_signTypedData_v4. See EIP-712, "Specification of the eth_signTypedData JSON RPC".
type typedData struct {
	Types       types         `json:"types"`
	PrimaryType string        `json:"primaryType"`
	Domain      domain        `json:"domain"`
	Message     authorization `json:"message"`
}

// types must contain EIP712Domain, or wallets hash an empty domain.
type types struct {
	Domain   []member `json:"EIP712Domain"`
	Transfer []member `json:"TransferWithAuthorization"`
}

type member struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type domain struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	ChainID  uint64 `json:"chainId"`
	Contract string `json:"verifyingContract"`
}

type authorization struct {
	From        string `json:"from"`
	To          string `json:"to"`
	Value       string `json:"value"`
	ValidAfter  string `json:"validAfter"`
	ValidBefore string `json:"validBefore"`
	Nonce       string `json:"nonce"`
}

// transferTypes are the types of all typed data.
var transferTypes = types{
	Domain: []member{{"name", "string"}, {"version", "string"}, {"chainId", "uint256"}, {"verifyingContract", "address"}},
	Transfer: []member{
		{"from", "address"}, {"to", "address"}, {"value", "uint256"}, {"validAfter", "uint256"}, {"validBefore", "uint256"}, {"nonce", "bytes32"},
	},
}

// typedRow returns the typed data of the row with number n, which counts from 1.
func typedRow(p plan.Plan, n int) typedData {
	a, d := p.Authorization(n), p.Domain(p.Rows[n-1])
	return typedData{
		Types: transferTypes, PrimaryType: "TransferWithAuthorization",
		Domain: domain{d.Name, d.Version, d.ChainID, d.Contract.String()},
		Message: authorization{
			a.From.String(), a.To.String(), a.Value.String(), fmt.Sprint(a.ValidAfter), fmt.Sprint(a.ValidBefore), a.Nonce.String(),
		},
	}
}

// rowName returns the name of the file of a row without its extension.
func rowName(n int) string { return fmt.Sprintf("row-%04d", n) }

// checkTyped returns a Refusal if a row of a plan is not moved by an authorization, which is all that typed data can
// express.
func checkTyped(p plan.Plan) error {
	for i, r := range p.Rows {
		if r.Way != plan.ByAuthorization {
			return Refusal(fmt.Sprintf("Row %d sends %s by a transaction, which is no typed data. Make a plan of tokens alone.", i+1, r.Asset))
		}
	}
	return nil
}

// Export writes the typed data of each row as row-0001.json, row-0002.json, … into a new folder: all files or none.
// It refuses a folder that exists.
func Export(p plan.Plan, folder string) error {
	if err := checkTyped(p); err != nil {
		return err
	}
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("export: %s exists already", folder)
	}
	if err := export(p, folder); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func export(p plan.Plan, folder string) error {
	unfinished, err := os.MkdirTemp(filepath.Dir(filepath.Clean(folder)), ".chequer-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished) // has no effect after the rename
	for i := range p.Rows {
		content, err := json.MarshalIndent(typedRow(p, i+1), "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(unfinished, rowName(i+1)+".json"), append(content, '\n'), 0o600); err != nil {
			return err
		}
	}
	return os.Rename(unfinished, folder)
}

// Import reads the signature of each row from row-0001.sig, row-0002.sig, … in a folder: 0x and 130 hex digits, with
// or without quotation marks. It checks that each is the signature of the row's address.
func Import(p plan.Plan, folder string) (plan.Signed, error) {
	if err := checkTyped(p); err != nil {
		return plan.Signed{}, err
	}
	signed := plan.NewSigned(p)
	for i, r := range p.Rows {
		name := rowName(i+1) + ".sig"
		s, err := readSignature(filepath.Join(folder, name))
		if err != nil {
			return plan.Signed{}, fmt.Errorf("import %s: %w", name, err)
		}
		signer, err := s.Signer(p.Digest(i + 1))
		if err != nil {
			return plan.Signed{}, fmt.Errorf("import %s: %w", name, err)
		}
		if signer != r.From {
			return plan.Signed{}, Refusal(fmt.Sprintf("%s is signed by %s, not by %s.", name, signer, r.From))
		}
		signed.Rows = append(signed.Rows, plan.SignedRow{Signature: s})
	}
	return signed, signed.Check(p)
}

// maxSignature bounds the size of a file of a signature, in bytes.
const maxSignature = 1 << 10

func readSignature(path string) (evm.Signature, error) {
	f, err := os.Open(path)
	if err != nil {
		return evm.Signature{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSignature))
	if err != nil {
		return evm.Signature{}, err
	}
	return evm.ParseSignature(strings.Trim(strings.TrimSpace(string(text)), `"`))
}
