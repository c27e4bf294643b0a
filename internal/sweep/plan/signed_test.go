package plan_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
)

// privateKey returns one of two private keys.
func privateKey(n byte) *btcec.PrivateKey {
	key, _ := btcec.PrivKeyFromBytes([]byte{n})
	return key
}

// owned returns a plan whose rows belong to the private key 1 and whose payer is the private key 2.
func owned(t testing.TB) plan.Plan {
	t.Helper()
	p := plantest.Example(plantest.MadeAt)
	p.Rows = []plan.Row{p.Rows[0], p.Rows[1], p.Rows[3]}
	for i := range p.Rows {
		p.Rows[i].From, p.Rows[i].Steps = evm.AddressOf(privateKey(1).PubKey()), [2]uint32{0, 0}
	}
	p.Payer.Address = evm.AddressOf(privateKey(2).PubKey())
	p.Payer.Carriers = p.Payer.Carriers[:1]
	p.Payer.Carriers[0].Rows = 2
	return plantest.Encoded(t, p)
}

// signWith returns the signed file of a plan with a key for the rows and one for the payer.
func signWith(t testing.TB, p plan.Plan, rows, payer *btcec.PrivateKey) plan.Signed {
	t.Helper()
	sign := func(key *btcec.PrivateKey, hash evm.Hash) evm.Signature {
		s, err := evm.Sign(key, hash)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	signed, signatures := plan.NewSigned(p), map[int]evm.Signature{}
	for i, r := range p.Rows {
		s := sign(rows, p.Digest(i+1))
		row := plan.SignedRow{Signature: s}
		if r.Way == plan.ByOwn {
			row = plan.SignedRow{Transaction: "0x" + hex.EncodeToString(p.Transaction(r).Raw(s))}
		} else {
			signatures[i+1] = s
		}
		signed.Rows = append(signed.Rows, row)
	}
	for _, tx := range p.PayerTransactions(signatures) {
		signed.Payer = append(signed.Payer, "0x"+hex.EncodeToString(tx.Raw(sign(payer, tx.SigningHash()))))
	}
	return signed
}

// encodeSigned returns the file of s.
func encodeSigned(t testing.TB, s plan.Signed) string {
	t.Helper()
	content, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestSigned_file_is_read_and_checked(t *testing.T) {
	t.Parallel()
	p := owned(t)
	want := signWith(t, p, privateKey(1), privateKey(2))
	got, err := plan.ReadSigned([]byte(encodeSigned(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("signed file (-want +got):\n%s", diff)
	}
	if err := got.Check(p); err != nil {
		t.Error(err)
	}
	got.Payer = nil // a browser wallet submits the authorizations
	if err := got.Check(p); err != nil {
		t.Errorf("without the payer: %v", err)
	}
}

func TestCheck_refuses_a_file_of_another_plan(t *testing.T) {
	t.Parallel()
	p := owned(t)
	right, other := signWith(t, p, privateKey(1), privateKey(2)), signWith(t, p, privateKey(2), privateKey(1))
	stranger, row := evm.AddressOf(privateKey(2).PubKey()).String(), evm.AddressOf(privateKey(1).PubKey()).String()
	for name, tt := range map[string]struct {
		change func(*plan.Signed)
		want   string
	}{
		"another plan":           {func(s *plan.Signed) { s.Plan = "swp_other" }, "the signed file belongs to the plan swp_other, not to swp_9fK2example"},
		"a changed plan":         {func(s *plan.Signed) { s.Hash[0]++ }, "the plan swp_9fK2example was changed after it was signed"},
		"another destination":    {func(s *plan.Signed) { s.To[0]++ }, "to: the signed file pays"},
		"a missing row":          {func(s *plan.Signed) { s.Rows = s.Rows[:2] }, "rows: the signed file has 2, the plan 3"},
		"rows exchanged":         {func(s *plan.Signed) { s.Rows[0], s.Rows[1] = s.Rows[1], s.Rows[0] }, "row 1: signed by"},
		"another signer":         {func(s *plan.Signed) { s.Rows[1] = other.Rows[1] }, "row 2: signed by " + stranger + ", not by " + row},
		"another sender":         {func(s *plan.Signed) { s.Rows[2] = other.Rows[2] }, "row 3: signed by " + stranger + ", not by " + row},
		"a signature of coin":    {func(s *plan.Signed) { s.Rows[2] = s.Rows[1] }, "row 3: it has not the signature of the way own"},
		"a transaction of token": {func(s *plan.Signed) { s.Rows[1] = s.Rows[2] }, "row 2: it has not the signature of the way authorization"},
		"another transaction":    {func(s *plan.Signed) { s.Rows[2].Transaction = s.Payer[0] }, "row 3: the transaction is not that of the plan"},
		"another payer":          {func(s *plan.Signed) { s.Payer = other.Payer }, "payer 1: the transaction is not that of the plan"},
		"more transactions":      {func(s *plan.Signed) { s.Payer = append(s.Payer, s.Payer[0]) }, "payer: the signed file has 2 transactions, the plan 1"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s := right
			s.Rows = append([]plan.SignedRow(nil), right.Rows...)
			tt.change(&s)
			if err := s.Check(p); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

// The payer of the signed file signed, but for the rows of another key.
func TestCheck_refuses_transactions_of_another_payer(t *testing.T) {
	t.Parallel()
	p := owned(t)
	if err := signWith(t, p, privateKey(1), privateKey(1)).Check(p); err == nil || !strings.HasPrefix(err.Error(), "payer 1: signed by") {
		t.Errorf("error = %v, want one about the payer", err)
	}
}

func TestReadSigned_refuses_a_wrong_file(t *testing.T) {
	t.Parallel()
	content := encodeSigned(t, signWith(t, owned(t), privateKey(1), privateKey(2)))
	for name, tt := range map[string]struct{ old, replacement, want string }{
		"another format":           {`"chequer-sweep-signed"`, `"chequer-sweep-plan"`, "this is a plan, which is not signed"},
		"a newer version":          {`"version":1`, `"version":2`, "version: 2 is newer than 1"},
		"an unknown field":         {`"plan":`, `"words":"","plan":`, `unknown field "words"`},
		"a field twice":            {`"to":`, `"to":"","to":`, "to is given twice"},
		"a signature twice":        {`"n":2,`, `"n":2,"n":2,`, "rows 2.n is given twice"},
		"no plan":                  {`"plan":"swp_`, `"plan":"`, `plan: "9fK2example" is not the ID of a plan`},
		"a hash":                   {`"plan_sha256":"`, `"plan_sha256":"0`, "plan_sha256: it is not 64 hex digits in lower case"},
		"a destination":            {`"to":"0x7a`, `"to":"0x7A`, "to:"},
		"a number":                 {`"n":2`, `"n":1`, "row 2: n: 1 is not the number of the row"},
		"a signature":              {`"n":1,"signature":"0x`, `"n":1,"signature":"0x00`, "row 1: signature: a signature is 0x and 130 hex digits"},
		"capitals":                 {`"n":1,"signature":"0x`, `"n":1,"signature":"0X`, "row 1: signature: a signature is 0x and 130 hex digits"},
		"neither":                  {`"n":1,"signature":`, `"n":1,"transaction":"","signature":"","x":`, `unknown field "x"`},
		"no signature":             {`"rows":[`, `"rows":[{"n":1},`, "row 1: it must have either a signature or a transaction"},
		"both":                     {`"n":1,`, `"n":1,"transaction":"0x02",`, "row 1: it must have either a signature or a transaction"},
		"a transaction":            {`"transaction":"0x02`, `"transaction":"0x03`, "row 3: transaction: not a signed transaction of type 2"},
		"a transaction of a payer": {`"payer":["0x02`, `"payer":["0x01`, "payer 1: not a signed transaction of type 2"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(content, tt.old) {
				t.Fatalf("the file does not contain %s", tt.old)
			}
			_, err := plan.ReadSigned([]byte(strings.Replace(content, tt.old, tt.replacement, 1)))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

// FuzzReadSigned checks that a signed file that is accepted is accepted again when it is encoded, with equal content.
func FuzzReadSigned(f *testing.F) {
	f.Add([]byte(encodeSigned(f, signWith(f, owned(f), privateKey(1), privateKey(2)))))
	p := owned(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := plan.ReadSigned(content)
		if err != nil {
			return
		}
		again, err := plan.ReadSigned([]byte(encodeSigned(t, s)))
		if err != nil {
			t.Fatalf("read an encoded file: %v", err)
		}
		if diff := cmp.Diff(s.Rows, again.Rows); diff != "" {
			t.Errorf("rows (-first +again):\n%s", diff)
		}
		if err := s.Check(p); err == nil && s.To != p.To {
			t.Error("a file with another destination is accepted")
		}
	})
}
