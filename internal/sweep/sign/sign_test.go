package sign

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
)

func TestNewSigner_refuses_words_of_another_wallet(t *testing.T) {
	t.Parallel()
	example := plantest.Encoded(t, plantest.Example(plantest.MadeAt))
	unknown := plantest.Tokens(plantest.MadeAt)
	unknown.Account = nil
	withoutAccount := plantest.Encoded(t, unknown)
	last := plantest.Tokens(plantest.MadeAt)
	last.Rows[3].Steps[1] = 4
	account := func(text string) Options { return Options{Account: parsePath(t, text)} }
	for name, tt := range map[string]struct {
		plan       plan.Plan
		passphrase string
		options    Options
		want       string
	}{
		"no passphrase":      {example, "", Options{}, "These words do not hold 0x7db994b532805C53c29A7878a28C8d32d5AEFb89 at m/44'/60'/1'/0/0: another account, passphrase or wallet?"},
		"another passphrase": {example, "Zurich", Options{}, "These words do not hold 0x7db994b532805C53c29A7878a28C8d32d5AEFb89 at m/44'/60'/1'/0/0: another account, passphrase or wallet?"},
		"another account":    {example, plantest.Passphrase, account("m/44'/60'/2'"), "These words do not hold 0x7db994b532805C53c29A7878a28C8d32d5AEFb89 at m/44'/60'/2'/0/0: another account, passphrase or wallet?"},
		"one wrong row":      {plantest.Encoded(t, last), plantest.Passphrase, Options{}, "These words do not hold 0x12629f107e5a98bD836Ee3AB4739277c2588C3E4 at m/44'/60'/1'/0/4: another account, passphrase or wallet?"},
		"another payer":      {example, plantest.Passphrase, Options{Payer: parsePath(t, "m/44'/60'/0'/0/1")}, "These words do not hold 0x8b7f313935A5F5Ca4d2df1E95E2990Aefc909Bb1 at m/44'/60'/0'/0/1: another account, passphrase or wallet?"},
		"no payer":           {withoutAccount, plantest.Passphrase, Options{Account: parsePath(t, "m/44'/60'/1'"), Payer: parsePath(t, plantest.Payer)}, "The plan has no payer. Make it again with one, or leave --payer out."},
		"no account":         {withoutAccount, plantest.Passphrase, Options{}, "The plan does not show the account of its addresses. Say --account, such as m/44'/60'/0'."},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			_, err := NewSigner(tt.plan, openWallet(t, plantest.Words, tt.passphrase), tt.options)
			if _, isRefusal := errors.AsType[Refusal](err); !isRefusal || err.Error() != tt.want {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestSign_with_the_account_of_the_operator(t *testing.T) {
	t.Parallel()
	p := plantest.Tokens(plantest.MadeAt)
	p.Account = nil
	s, err := NewSigner(plantest.Encoded(t, p), openWallet(t, plantest.Words, plantest.Passphrase), Options{Account: parsePath(t, "m/44'/60'/1'")})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.Sign()
	if err != nil || len(signed.Rows) != 4 || len(signed.Payer) != 0 {
		t.Errorf("signed %d rows and %d transactions of a payer, %v", len(signed.Rows), len(signed.Payer), err)
	}
	s.Close()
	for i, key := range s.keys {
		if !key.Key.IsZero() {
			t.Errorf("the key of row %d is still there", i+1)
		}
	}
}

// signExported writes the signature of each exported file beside it, as a hardware wallet would make it.
func signExported(t *testing.T, p plan.Plan, folder string) {
	t.Helper()
	w := openWallet(t, plantest.Words, plantest.Passphrase)
	for i, r := range p.Rows {
		var typed struct {
			Types       map[string][]struct{ Name, Type string }
			PrimaryType string
			Domain      struct {
				Name, Version     string
				ChainID           uint64
				VerifyingContract string
			}
			Message map[string]string
		}
		content, err := os.ReadFile(filepath.Join(folder, rowName(i+1)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(content, &typed); err != nil {
			t.Fatal(err)
		}
		if len(typed.Types["EIP712Domain"]) != 4 || typed.PrimaryType != "TransferWithAuthorization" {
			t.Fatalf("typed data of row %d is %s", i+1, content)
		}
		d := typed.Domain
		domain := evm.Domain{Name: d.Name, Version: d.Version, ChainID: d.ChainID, Contract: plantest.Address(d.VerifyingContract)}
		digest := evm.TypedDigest(domain, evm.StructHash(encodedType(typed.PrimaryType, typed.Types[typed.PrimaryType]), words(t, typed.Types[typed.PrimaryType], typed.Message)...))
		key, err := w.private(p.Account.Below(r.Steps[:]...), r.From)
		if err != nil {
			t.Fatal(err)
		}
		s, err := evm.Sign(key, digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, rowName(i+1)+".sig"), []byte(`"`+s.String()+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// encodedType returns encodeType of a structure without nested structures (EIP-712, "Definition of encodeType").
func encodedType(name string, members []struct{ Name, Type string }) string {
	var parts []string
	for _, m := range members {
		parts = append(parts, m.Type+" "+m.Name)
	}
	return name + "(" + strings.Join(parts, ",") + ")"
}

// words returns the encoded members of a message.
func words(t *testing.T, members []struct{ Name, Type string }, message map[string]string) (list []evm.Word) {
	t.Helper()
	for _, m := range members {
		switch m.Type {
		case "address":
			list = append(list, evm.AddressWord(plantest.Address(message[m.Name])))
		case "uint256":
			list = append(list, evm.UintWord(plantest.Number(message[m.Name])))
		case "bytes32":
			list = append(list, bytes32(t, message[m.Name]))
		default:
			t.Fatalf("there is no type %s", m.Type)
		}
	}
	return list
}

func TestExport_and_import_make_the_file_that_words_make(t *testing.T) {
	t.Parallel()
	p := plantest.Encoded(t, plantest.Tokens(plantest.MadeAt))
	folder := filepath.Join(t.TempDir(), "typed")
	if err := Export(p, folder); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(p, folder); err == nil || !strings.Contains(err.Error(), "import row-0001.sig: open") {
		t.Errorf("import without signatures: %v", err)
	}
	signExported(t, p, folder)
	got, err := Import(p, folder)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSigner(p, openWallet(t, plantest.Words, plantest.Passphrase), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Sign()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("signed file (-words +imported):\n%s", diff)
	}
}

func TestImport_checks_each_signer(t *testing.T) {
	t.Parallel()
	p := plantest.Encoded(t, plantest.Tokens(plantest.MadeAt))
	folder := filepath.Join(t.TempDir(), "typed")
	if err := Export(p, folder); err != nil {
		t.Fatal(err)
	}
	signExported(t, p, folder)
	first, third := filepath.Join(folder, "row-0001.sig"), filepath.Join(folder, "row-0003.sig")
	content, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(third, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Import(p, folder)
	if _, isRefusal := errors.AsType[Refusal](err); !isRefusal || !strings.HasPrefix(err.Error(), "row-0003.sig is signed by 0x") || !strings.HasSuffix(err.Error(), ", not by 0x86b187E09FE20A554A13FbcDc61482Ed2e703d01.") {
		t.Errorf("error = %v, want one about the signer of row 3", err)
	}
	if err := os.WriteFile(third, []byte("cancelled"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(p, folder); err == nil || err.Error() != "import row-0003.sig: a signature is 0x and 130 hex digits" {
		t.Errorf("error = %v, want one about the form of the signature", err)
	}
}

func TestExport_refuses(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	tokens := plantest.Encoded(t, plantest.Tokens(plantest.MadeAt))
	if err := Export(tokens, parent); err == nil || err.Error() != "export: "+parent+" exists already" {
		t.Errorf("export to an existing folder: %v", err)
	}
	coins := plantest.Encoded(t, plantest.Example(plantest.MadeAt))
	want := "Row 4 sends ETH-BASE by a transaction, which is no typed data. Make a plan of tokens alone."
	if err := Export(coins, filepath.Join(parent, "typed")); err == nil || err.Error() != want {
		t.Errorf("export of a coin: %v, want %s", err, want)
	}
	if err := Export(tokens, filepath.Join(parent, "none", "typed")); err == nil {
		t.Error("export into a missing folder succeeds")
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 0 {
		t.Errorf("there are files after refused exports: %v, %v", left, err)
	}
}

// bytes32 returns the word of 0x and 64 hex digits.
func bytes32(t *testing.T, text string) evm.Word {
	t.Helper()
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil || len(raw) != 32 {
		t.Fatalf("%q is not a word", text)
	}
	return evm.Word(raw)
}
