package sign

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/evm"
	"chequer/internal/programtest"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
)

// viemVectors is the content of testdata/viem.json, which testdata/viem.cjs makes with viem.
type viemVectors struct {
	Words, Passphrase string
	Addresses         []struct{ Path, Plain, Protected string }
	Mail              struct{ Separator, Digest string }
	Transactions      []struct {
		Nonce       uint64
		Value       string
		Size        int
		SigningHash string `json:"signing_hash"`
		Hash        string
	}
	Signed string
}

// vectors returns the vectors of viem.
func vectors(t *testing.T) (v viemVectors) {
	t.Helper()
	content, err := os.ReadFile("testdata/viem.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// planOfVectors returns the plan that viem signed.
func planOfVectors(t *testing.T) plan.Plan {
	t.Helper()
	content, err := os.ReadFile("../plan/testdata/plan.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Read(content)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// openWallet returns the wallet of a recovery phrase until the test ends.
func openWallet(t *testing.T, words, passphrase string) *Wallet {
	t.Helper()
	w, err := Open([]byte(words), []byte(passphrase))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// parsePath returns a path.
func parsePath(t *testing.T, text string) plan.Path {
	t.Helper()
	path, err := plan.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// viem makes its vectors again, with the version that fetch.sh installs.
func TestVectors_are_those_of_viem(t *testing.T) {
	t.Parallel()
	programtest.RequireProgram(t, "node")
	modules := filepath.Join(filepath.Dir(filepath.Dir(programtest.FetchedPath("viem"))), "viem", "node_modules")
	if _, err := os.Stat(modules); err != nil {
		programtest.SkipUnlessCI(t, "viem is not installed (internal/e2e/fetch.sh): %v", err)
	}
	command := exec.CommandContext(t.Context(), "node", "viem.cjs", "../../plan/testdata/plan.json")
	command.Dir = "testdata"
	command.Env = append(os.Environ(), "NODE_PATH="+modules)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	got, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	want, err := os.ReadFile("testdata/viem.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("viem.json (-want +got):\n%s", diff)
	}
}

func TestAddresses_are_those_of_viem(t *testing.T) {
	t.Parallel()
	v := vectors(t)
	plain, protected := openWallet(t, v.Words, ""), openWallet(t, v.Words, v.Passphrase)
	for _, a := range v.Addresses {
		path := parsePath(t, a.Path)
		for want, w := range map[string]*Wallet{a.Plain: plain, a.Protected: protected} {
			n, err := w.derive(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := n.address().String(); got != want {
				t.Errorf("address at %s = %s, want %s", a.Path, got, want)
			}
		}
	}
}

// The example of EIP-712 has nested structures; a row of a plan has none.
func TestTypedDigest_of_the_example_is_that_of_viem(t *testing.T) {
	t.Parallel()
	mail := vectors(t).Mail
	word := func(text string) evm.Word { return evm.Word(evm.Keccak256([]byte(text))) }
	const personType = "Person(string name,address wallet)"
	person := func(name, wallet string) evm.Word {
		return evm.Word(evm.StructHash(personType, word(name), evm.AddressWord(plantest.Address(wallet))))
	}
	d := evm.Domain{Name: "Ether Mail", Version: "1", ChainID: 1, Contract: plantest.Address("0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC")}
	if got := d.Separator().String(); got != mail.Separator {
		t.Errorf("separator = %s, want %s", got, mail.Separator)
	}
	digest := evm.TypedDigest(d, evm.StructHash("Mail(Person from,Person to,string contents)"+personType,
		person("Cow", "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"), person("Bob", "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"), word("Hello, Bob!")))
	if got := digest.String(); got != mail.Digest {
		t.Errorf("digest = %s, want %s", got, mail.Digest)
	}
}

func TestTransactions_are_those_of_viem(t *testing.T) {
	t.Parallel()
	v := vectors(t)
	n, err := openWallet(t, v.Words, "").derive(parsePath(t, "m/44'/60'/0'/0/0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range v.Transactions {
		want := evm.Transaction{
			ChainID: 43114, Nonce: tt.Nonce, Tip: new(big.Int).SetUint64(tt.Nonce), FeeCap: big.NewInt(30_000_000_000), Gas: 21_000,
			To: evm.Multicall3, Value: plantest.Number(tt.Value), Data: bytes.Repeat([]byte{0x7f}, tt.Size),
		}
		if got := want.SigningHash().String(); got != tt.SigningHash {
			t.Errorf("signing hash of nonce %d = %s, want %s", tt.Nonce, got, tt.SigningHash)
		}
		s, err := evm.Sign(n.private(), want.SigningHash())
		if err != nil {
			t.Fatal(err)
		}
		raw := want.Raw(s)
		if got := evm.Keccak256(raw).String(); got != tt.Hash {
			t.Errorf("hash of nonce %d = %s, want %s", tt.Nonce, got, tt.Hash)
		}
		got, signature, err := evm.ParseTransaction("0x" + hex.EncodeToString(raw))
		if err != nil || signature != s || !got.Equal(want) {
			t.Errorf("parsed transaction of nonce %d = %+v, %v", tt.Nonce, got, err)
		}
	}
}

func TestSign_writes_the_file_of_viem(t *testing.T) {
	t.Parallel()
	v, p := vectors(t), planOfVectors(t)
	for range 2 { // the signatures are deterministic
		s, err := NewSigner(p, openWallet(t, v.Words, v.Passphrase), Options{Payer: parsePath(t, plantest.Payer)})
		if err != nil {
			t.Fatal(err)
		}
		signed, err := s.Sign()
		if err != nil {
			t.Fatal(err)
		}
		got, err := signed.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v.Signed, string(got)); diff != "" {
			t.Errorf("signed file (-want +got):\n%s", diff)
		}
	}
}
