package offline_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/sweep/offline"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/sign"
)

// typed is a terminal at which these lines are typed.
type typed struct {
	lines     []string
	questions []string
	secrets   [][]byte // the secrets that were returned
}

func (t *typed) next(question string) (string, error) {
	t.questions = append(t.questions, question)
	if len(t.lines) == 0 {
		return "", io.EOF
	}
	line := t.lines[0]
	t.lines = t.lines[1:]
	return line, nil
}

func (t *typed) Line(_ context.Context, question string) (string, error) { return t.next(question) }

func (t *typed) Secret(_ context.Context, question string) ([]byte, error) {
	line, err := t.next(question)
	t.secrets = append(t.secrets, []byte(line))
	return t.secrets[len(t.secrets)-1], err
}

// right are the lines that sign a plan of package plantest.
func right() []string { return []string{plantest.Words, plantest.Passphrase, plantest.LastFour} }

// fixture is a session at a time at which a plan of package plantest is valid.
type fixture struct {
	offline.Session
	terminal *typed
	out      *strings.Builder
	folder   string
	request  offline.Request
}

// newFixture returns a fixture whose plan is in a file of a new folder.
func newFixture(t *testing.T, p plan.Plan, lines []string) *fixture {
	t.Helper()
	f := &fixture{terminal: &typed{lines: lines}, out: &strings.Builder{}, folder: t.TempDir()}
	f.Session = offline.Session{
		Terminal: f.terminal, Out: f.out, Now: func() time.Time { return plantest.MadeAt.Add(time.Hour) },
		IsConnected: func() (bool, error) { return false, nil }, Harden: func() []string { return nil },
	}
	f.request = offline.Request{Plan: filepath.Join(f.folder, "plan.json"), To: plantest.To, MaxFee: "20"}
	if err := os.WriteFile(f.request.Plan, plantest.Encoded(t, p).Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// files returns the names of the files in the folder of the plan.
func (f *fixture) files(t *testing.T) (names []string) {
	t.Helper()
	list, err := os.ReadDir(f.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

func TestRun_signs_the_plan(t *testing.T) {
	t.Parallel()
	p := plantest.Example(plantest.MadeAt)
	f := newFixture(t, p, right())
	f.Session.Harden = func() []string { return []string{"Memory may be written to the swap space."} }
	f.request.Payer = plantest.Payer
	got, err := f.Run(t.Context(), f.request)
	if err != nil {
		t.Fatal(err)
	}
	encoded := plantest.Encoded(t, p)
	name := filepath.Join(f.folder, "plan.signed.json")
	want := offline.Result{Plan: p.ID, Fingerprint: encoded.Fingerprint(), To: plantest.To, Rows: 5, Transactions: 2, Signed: name}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := plan.ReadSigned(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := signed.Check(encoded); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v; want 0600", info.Mode(), err)
	}
	if diff := cmp.Diff([]string{"plan.json", "plan.signed.json"}, f.files(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestRun_shows_the_plan_before_it_asks(t *testing.T) {
	t.Parallel()
	p := plantest.Example(plantest.MadeAt)
	f := newFixture(t, p, nil)
	f.Session.Harden = func() []string { return []string{"Memory may be written to the swap space."} }
	if _, err := f.Run(t.Context(), f.request); !errors.Is(err, io.EOF) {
		t.Errorf("error = %v, want io.EOF", err)
	}
	encoded := plantest.Encoded(t, p)
	want := encoded.Summary() + `

Compare the fingerprint with that of the server: ` + encoded.Fingerprint() + `
Sum:         12,420.899999 EURC, 0.000001 USDC and 0.017 ETH
Destination: 0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D
Fee:         at most 0.0001 ETH, which the plan values at 0.31 EUR
             That is right if 1 ETH costs no more than 3,100.00 EUR.
The plan has a payer, whose transactions are not signed without --payer PATH: no token will be moved.

Note: Memory may be written to the swap space.
`
	if diff := cmp.Diff(want, f.out.String()); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

// A plan that was changed on the server says that 5 ETH are worth 0.10 EUR. The computer that signs knows no prices.
func TestRun_shows_the_price_of_the_coin_that_a_plan_assumes(t *testing.T) {
	t.Parallel()
	for cents, want := range map[int64]string{10: "0.02", 1_234_567: "2,469.13", 0: "0.00"} {
		p := plantest.Funded(plantest.MadeAt)
		p.FeeMax = plan.Fee{Amount: plantest.Number("5000000000000000000"), Cents: cents}
		f := newFixture(t, p, nil)
		f.request.Payer, f.request.MaxFee = "m/44'/60'/0'/0/0", "20000"
		if _, err := f.Run(t.Context(), f.request); !errors.Is(err, io.EOF) {
			t.Errorf("error = %v, want io.EOF", err)
		}
		if line := "That is right if 1 ETH costs no more than " + want + " EUR."; !strings.Contains(f.out.String(), line) {
			t.Errorf("shown is %s, want %s", f.out, line)
		}
	}
}

func TestRun_clears_the_words(t *testing.T) {
	t.Parallel()
	f := newFixture(t, plantest.Tokens(plantest.MadeAt), right())
	if _, err := f.Run(t.Context(), f.request); err != nil {
		t.Fatal(err)
	}
	if len(f.terminal.secrets) != 2 {
		t.Fatalf("%d secrets were read, want 2", len(f.terminal.secrets))
	}
	for _, secret := range f.terminal.secrets {
		if strings.Trim(string(secret), "\x00") != "" {
			t.Error("a typed secret is still in memory")
		}
	}
}

// expensive returns the example with a fee of 41 EUR.
func expensive() plan.Plan {
	p := plantest.Tokens(plantest.MadeAt)
	p.Payer = plantest.Example(plantest.MadeAt).Payer
	p.FeeMax.Cents = 41_00
	return p
}

func TestRun_refuses(t *testing.T) {
	t.Parallel()
	const words = "These words do not hold 0x7db994b532805C53c29A7878a28C8d32d5AEFb89 at m/44'/60'/1'/0/0: another account, passphrase or wallet?"
	tokens := plantest.Tokens(plantest.MadeAt)
	unknown := plantest.Tokens(plantest.MadeAt)
	unknown.Account = nil
	coins := plantest.Example(plantest.MadeAt)
	coins.FeeMax.Cents = 20_01
	typing := func(lines ...string) []string { return lines }
	for name, tt := range map[string]struct {
		plan   plan.Plan
		lines  []string
		change func(*fixture)
		want   string
	}{
		"another destination": {tokens, nil, func(f *fixture) { f.request.To = "0x99b9c5DAb3F89F4E22F0F4ee5CC2A9a0d8E5e4F2" },
			"--to: its capital letters do not match, so a character is mistyped"},
		"a destination that differs": {tokens, nil, func(f *fixture) { f.request.To = strings.ToLower("0x99b9c5DAb3F89F4E22F0F4ee5CC2A9a0d8E5e4F2") },
			"The plan pays 0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D, you said 0x99B9c5Dab3F89F4e22F0f4eE5Cc2A9a0d8E5E4F2."},
		"a mistyped word":     {tokens, typing("test test test test test test tset test test test test junk", ""), nil, "Word 7 is none of the 2,048."},
		"a wrong checksum":    {tokens, typing("test test test test test test test test test test test test", ""), nil, "The checksum of the words is wrong."},
		"another passphrase":  {tokens, typing(plantest.Words, ""), nil, words},
		"a connected machine": {tokens, nil, func(f *fixture) { f.IsConnected = func() (bool, error) { return true, nil } }, "This computer is connected. Disconnect it, or say --online."},
		"unknown interfaces":  {tokens, nil, func(f *fixture) { f.IsConnected = func() (bool, error) { return false, offline.ErrUnknown } }, "Whether this computer is connected cannot be found out. Disconnect it, then say --online."},
		"an expensive payer":  {expensive(), nil, func(f *fixture) { f.request.Payer = plantest.Payer }, "The fee could be 41 EUR, more than 20. Say --max-fee 50."},
		"expensive coins":     {coins, nil, nil, "The fee could be 20.01 EUR, more than 20. Say --max-fee 30."},
		"a plan that is over": {tokens, nil, func(f *fixture) { f.Now = func() time.Time { return plantest.MadeAt.Add(7 * 24 * time.Hour) } }, "This plan is over since 5 December 2026 14:00 UTC."},
		"a plan of the future": {tokens, nil, func(f *fixture) { f.Now = func() time.Time { return plantest.MadeAt.Add(-25 * 24 * time.Hour) } },
			"This plan is valid until 5 December 2026 14:00 UTC, in more than 30 days. Is the clock of this computer right?"},
		"a funded plan without its payer": {plantest.Encoded(t, plantest.Funded(plantest.MadeAt)), nil, nil, "The payer of the plan sends the coin for fees to addresses. Say --payer PATH."},
		"a plan without a payer":          {tokens, nil, func(f *fixture) { f.request.Payer = plantest.Payer }, "The plan has no payer. Make it again with one, or leave --payer out."},
		"a plan without an account":       {unknown, nil, nil, "The plan does not show the account of its addresses. Say --account, such as m/44'/60'/0'."},
		"three wrong confirmations":       {tokens, typing(plantest.Words, plantest.Passphrase, "7a25", "", "488E"), nil, "The destination was not confirmed. Nothing was signed."},
		"no confirmation":                 {tokens, typing(plantest.Words, plantest.Passphrase), nil, "read the last characters of the destination: EOF"},
		"a missing plan":                  {tokens, nil, func(f *fixture) { f.request.Plan += "x" }, "read the plan: open "},
		"a path of the payer":             {tokens, nil, func(f *fixture) { f.request.Payer = "44/60" }, "--payer: not a derivation path such as m/44'/60'/0'/0/0"},
		"a path of the account":           {tokens, nil, func(f *fixture) { f.request.Account = "0" }, "--account: not a derivation path such as m/44'/60'/0'/0/0"},
		"a highest fee":                   {tokens, nil, func(f *fixture) { f.request.MaxFee = "1e3" }, `--max-fee: "1e3" is not an amount of euro such as 50 or 12.50`},
		"export and import":               {tokens, nil, func(f *fixture) { f.request.Export, f.request.Import = "a", "b" }, "only one of --export, --import and --payer can be given"},
		"import with a payer":             {tokens, nil, func(f *fixture) { f.request.Import, f.request.Payer = "a", plantest.Payer }, "only one of --export, --import and --payer can be given"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tt.plan, tt.lines)
			if tt.change != nil {
				tt.change(f)
			}
			_, err := f.Run(t.Context(), f.request)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
			if diff := cmp.Diff([]string{"plan.json"}, f.files(t)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if len(f.terminal.questions) > 0 && tt.lines == nil {
				t.Errorf("it asked %q", f.terminal.questions)
			}
		})
	}
}

func TestRun_refuses_a_changed_plan(t *testing.T) {
	t.Parallel()
	f := newFixture(t, plantest.Tokens(plantest.MadeAt), right())
	content, err := os.ReadFile(f.request.Plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.request.Plan, []byte(strings.Replace(string(content), `"version":1`, `"version":2`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = f.Run(t.Context(), f.request)
	if want := f.request.Plan + " is not a plan that can be signed: version: 2 is newer than 1"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestRun_accepts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		plan   plan.Plan
		lines  []string
		change func(*fixture)
	}{
		"a connected computer with online": {plantest.Tokens(plantest.MadeAt), right(), func(f *fixture) { f.request.Online, f.IsConnected = true, nil }},
		"a higher fee":                     {expensive(), right(), func(f *fixture) { f.request.Payer, f.request.MaxFee = plantest.Payer, "41" }},
		"a payer that a browser wallet is": {expensive(), right(), nil},
		"a destination in lower case":      {plantest.Tokens(plantest.MadeAt), right(), func(f *fixture) { f.request.To = strings.ToLower(plantest.To) }},
		"the third confirmation":           {plantest.Tokens(plantest.MadeAt), []string{plantest.Words, plantest.Passphrase, "", "7a25", " 488d "}, nil},
		"the last second": {plantest.Tokens(plantest.MadeAt), right(), func(f *fixture) {
			f.Now = func() time.Time { return plantest.MadeAt.Add(7*24*time.Hour - time.Second) }
		}},
		"an account that the plan has as h": {plantest.Tokens(plantest.MadeAt), right(), func(f *fixture) { f.request.Account = "m/44h/60h/1h" }},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tt.plan, tt.lines)
			if tt.change != nil {
				tt.change(f)
			}
			if _, err := f.Run(t.Context(), f.request); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRun_does_not_overwrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, plantest.Tokens(plantest.MadeAt), right())
	name := filepath.Join(f.folder, "plan.signed.json")
	if err := os.WriteFile(name, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Run(t.Context(), f.request); err == nil || err.Error() != name+" exists already: it is not overwritten" {
		t.Errorf("error = %v", err)
	}
	if content, err := os.ReadFile(name); err != nil || string(content) != "kept" {
		t.Errorf("the file is %q, %v", content, err)
	}
	if len(f.terminal.questions) > 0 {
		t.Errorf("it asked %q", f.terminal.questions)
	}
}

// A file that appears while the operator types is not overwritten either.
func TestRun_does_not_overwrite_a_file_that_appears(t *testing.T) {
	t.Parallel()
	f := newFixture(t, plantest.Tokens(plantest.MadeAt), right())
	name := filepath.Join(f.folder, "plan.signed.json")
	f.Session.Harden = func() []string {
		if err := os.WriteFile(name, []byte("kept"), 0o600); err != nil {
			t.Error(err)
		}
		return nil
	}
	if _, err := f.Run(t.Context(), f.request); err == nil || err.Error() != name+" exists already: it is not overwritten" {
		t.Errorf("error = %v", err)
	}
}

func TestRun_exports_and_imports(t *testing.T) {
	t.Parallel()
	p := plantest.Tokens(plantest.MadeAt)
	f := newFixture(t, p, []string{plantest.LastFour})
	f.IsConnected = func() (bool, error) { return true, nil } // no words are typed
	f.request.Export = filepath.Join(f.folder, "typed")
	result, err := f.Run(t.Context(), f.request)
	if err != nil {
		t.Fatal(err)
	}
	if result.Exported != f.request.Export || result.Signed != "" || result.Rows != 4 {
		t.Errorf("result = %+v", result)
	}
	encoded := plantest.Encoded(t, p)
	writeSignatures(t, encoded, f.request.Export)
	f.terminal.lines = []string{plantest.LastFour}
	f.request.Import, f.request.Export = f.request.Export, ""
	if result, err = f.Run(t.Context(), f.request); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(result.Signed)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := plan.ReadSigned(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := signed.Check(encoded); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"Type the last 4 characters of your destination: ", "Type the last 4 characters of your destination: "}, f.terminal.questions); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
}

// writeSignatures writes the signatures of the rows of a plan into a folder.
func writeSignatures(t *testing.T, p plan.Plan, folder string) {
	t.Helper()
	wallet, err := sign.Open([]byte(plantest.Words), []byte(plantest.Passphrase))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := sign.NewSigner(p, wallet, sign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"row-0001.sig", "row-0002.sig", "row-0003.sig", "row-0004.sig"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(signed.Rows[i].Signature.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
