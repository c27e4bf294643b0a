// Package offline is the dialogue of chequer sign: it shows a plan, reads the words of the operator, and writes the
// signed file. It imports nothing that reaches a network.
package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"chequer/internal/durable"
	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/sign"
)

// Terminal reads what the operator types.
type Terminal interface {
	// Secret asks for a line and does not show it. The caller overwrites the line.
	Secret(ctx context.Context, question string) ([]byte, error)
	// Line asks for a line.
	Line(ctx context.Context, question string) (string, error)
}

// Session signs one plan.
type Session struct {
	Terminal Terminal
	Out      io.Writer // shows the plan and notes
	Now      func() time.Time
	// IsConnected reports whether the computer is connected. The error is ErrUnknown if it cannot be found out.
	IsConnected func() (bool, error)
	// Harden protects the memory of the process, and returns a sentence for each protection that was refused.
	Harden func() []string
}

// Request is the command line of chequer sign.
type Request struct {
	Plan    string // name of the file of the plan
	To      string // destination
	Payer   string // derivation path of the payer; empty if its transactions are not signed
	Account string // derivation path of the account; empty for that of the plan
	Export  string // folder into which typed data is written; empty to sign
	Import  string // folder from which signatures are read; empty to sign
	MaxFee  string // highest fee in euro
	Online  bool   // sign on a connected computer
}

// Result says what was written.
type Result struct {
	Plan        string `json:"plan"`
	Fingerprint string `json:"fingerprint"`
	To          string `json:"to"`
	Rows        int    `json:"rows"`
	// Transactions is the number of transactions of the payer.
	Transactions int    `json:"transactions"`
	Signed       string `json:"signed,omitempty"`   // name of the signed file
	Exported     string `json:"exported,omitempty"` // folder of the typed data
}

// order is a request whose values are parsed.
type order struct {
	Request
	plan    plan.Plan
	to      evm.Address
	options sign.Options
	maxFee  int64  // in cents
	signed  string // name of the signed file
}

// Run signs the plan of a request, or exports it or imports its signatures. Without an error the result is complete;
// with an error no file was written.
func (s Session) Run(ctx context.Context, r Request) (Result, error) {
	o, err := parse(r)
	if err != nil {
		return Result{}, err
	}
	if err := s.check(o); err != nil {
		return Result{}, err
	}
	s.show(o)
	if r.Export != "" {
		return s.export(ctx, o)
	}
	signed, err := s.sign(ctx, o)
	if err != nil {
		return Result{}, err
	}
	content, err := signed.Encode()
	if err != nil {
		return Result{}, err
	}
	if err := write(o.signed, content); err != nil {
		return Result{}, err
	}
	result := o.result()
	result.Signed, result.Transactions = o.signed, len(signed.Payer)
	return result, nil
}

// result returns the result of an order, without the names of files.
func (o order) result() Result {
	return Result{Plan: o.plan.ID, Fingerprint: o.plan.Fingerprint(), To: o.plan.To.String(), Rows: len(o.plan.Rows)}
}

// parse parses a request and reads its plan.
func parse(r Request) (order, error) {
	o := order{Request: r, signed: signedName(r.Plan)}
	if r.Export != "" && r.Import != "" || r.Payer != "" && r.Export+r.Import != "" {
		return o, errors.New("only one of --export, --import and --payer can be given: a hardware wallet does not sign the transactions of the payer")
	}
	var err error
	if o.to, err = evm.ParseAddress(r.To); err != nil {
		return o, fmt.Errorf("--to: %w", err)
	}
	if r.Payer != "" {
		if o.options.Payer, err = plan.ParsePath(r.Payer); err != nil {
			return o, fmt.Errorf("--payer: %w", err)
		}
	}
	if r.Account != "" {
		if o.options.Account, err = plan.ParsePath(r.Account); err != nil {
			return o, fmt.Errorf("--account: %w", err)
		}
	}
	if o.maxFee, err = parseMaxFee(r.MaxFee); err != nil {
		return o, fmt.Errorf("--max-fee: %w", err)
	}
	o.plan, err = readPlan(r.Plan)
	return o, err
}

// maxPlan bounds the size of the file of a plan, in bytes; package plan refuses larger ones.
const maxPlan = 1<<20 + 1

// readPlan reads the file of a plan.
func readPlan(name string) (plan.Plan, error) {
	f, err := os.Open(name)
	if err != nil {
		return plan.Plan{}, fmt.Errorf("read the plan: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxPlan))
	if err != nil {
		return plan.Plan{}, fmt.Errorf("read the plan: %w", err)
	}
	p, err := plan.Read(content)
	if err != nil {
		return plan.Plan{}, fmt.Errorf("%s is not a plan that can be signed: %w", name, err)
	}
	return p, nil
}

// signedName returns the name of the signed file of a plan: plan.signed.json for plan.json.
func signedName(name string) string { return strings.TrimSuffix(name, ".json") + ".signed.json" }

// euro matches an amount of euro with or without cents.
var euro = regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{2}))?$`)

// parseMaxFee parses an amount of euro as cents.
func parseMaxFee(text string) (int64, error) {
	parts := euro.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is not an amount of euro such as 50 or 12.50", text)
	}
	if parts[2] == "" {
		parts[2] = "00"
	}
	return strconv.ParseInt(parts[1]+parts[2], 10, 64)
}

// clockTolerance is the largest error of the clock of an offline computer that is accepted.
const clockTolerance = 24 * time.Hour

// check returns a Refusal if the plan must not be signed here and now.
func (s Session) check(o order) error {
	now := s.Now()
	switch {
	case o.to != o.plan.To:
		return sign.Refusal(fmt.Sprintf("The plan pays %s, you said %s.", o.plan.To, o.to))
	case !now.Before(o.plan.ValidUntil):
		return sign.Refusal(fmt.Sprintf("This plan is over since %s.", o.plan.Until()))
	case o.plan.ValidUntil.Sub(now) > plan.MaxValidity+clockTolerance:
		return sign.Refusal(fmt.Sprintf("This plan is valid until %s, in more than 30 days. Is the clock of this computer right?", o.plan.Until()))
	}
	if err := o.checkFee(); err != nil {
		return err
	}
	if o.Export != "" {
		return nil // nothing is signed
	}
	if err := refuseExisting(o.signed); err != nil {
		return err
	}
	if o.Import != "" {
		return nil // no words are typed
	}
	if err := o.options.Check(o.plan); err != nil || o.Online {
		return err
	}
	connected, err := s.IsConnected()
	switch {
	case errors.Is(err, ErrUnknown):
		return sign.Refusal("Whether this computer is connected cannot be found out. Disconnect it, then say --online.")
	case err != nil:
		return fmt.Errorf("read the network interfaces: %w", err)
	case connected:
		return sign.Refusal("This computer is connected. Disconnect it, or say --online.")
	}
	return nil
}

// checkFee returns a Refusal if the transactions that are signed could cost more than the highest fee.
func (o order) checkFee() error {
	if !o.signsTransactions() || o.plan.FeeMax.Cents <= o.maxFee {
		return nil
	}
	const step = 10_00 // the suggested limit is a multiple of 10 EUR
	suggested := (o.plan.FeeMax.Cents + step - 1) / step * step
	return sign.Refusal(fmt.Sprintf("The fee could be %s EUR, more than %s. Say --max-fee %s.",
		euroText(o.plan.FeeMax.Cents), euroText(o.maxFee), euroText(suggested)))
}

// signsTransactions reports whether transactions are signed: those of the payer, or those of the addresses.
func (o order) signsTransactions() bool {
	return o.plan.HasTransactions() || o.Payer != ""
}

// euroText returns cents as euro, such as 41 and 41.30.
func euroText(cents int64) string {
	if cents%100 == 0 {
		return strconv.FormatInt(cents/100, 10)
	}
	return fmt.Sprintf("%d.%02d", cents/100, cents%100)
}

// maxConfirmations is the number of rows up to which a hardware wallet is practical: each row is confirmed on it.
const maxConfirmations = 20

// show shows the plan.
func (s Session) show(o order) {
	fmt.Fprintf(s.Out, "%s\n\n", o.plan.Summary())
	fmt.Fprintf(s.Out, "Compare the fingerprint with that of the server: %s\n", o.plan.Fingerprint())
	fmt.Fprintf(s.Out, "Sum:         %s\n", o.plan.SumText())
	fmt.Fprintf(s.Out, "Destination: %s\n", o.plan.To)
	if o.signsTransactions() {
		fmt.Fprintf(s.Out, "Fee:         at most %s, which the plan values at %s EUR\n", o.plan.CoinText(o.plan.FeeMax.Amount), euroText(o.plan.FeeMax.Cents))
		if price := o.plan.FeeMax.CoinPrice(); price != "" { // this computer knows no prices, and a changed plan may state less
			fmt.Fprintf(s.Out, "             That is right if 1 %s costs no more than %s EUR.\n", o.plan.Network.Coin, price)
		}
	}
	if o.plan.Payer != nil && o.Payer == "" {
		fmt.Fprintln(s.Out, "The plan has a payer, whose transactions are not signed without --payer PATH: no token will be moved.")
	}
	if o.Export != "" && len(o.plan.Rows) > maxConfirmations {
		fmt.Fprintf(s.Out, "The hardware wallet asks for %d confirmations. Plans of up to %d rows are practical.\n", len(o.plan.Rows), maxConfirmations)
	}
	fmt.Fprintln(s.Out)
}

// export writes the typed data of the plan.
func (s Session) export(ctx context.Context, o order) (Result, error) {
	if err := s.confirm(ctx, o); err != nil {
		return Result{}, err
	}
	result := o.result()
	result.Exported = o.Export
	return result, sign.Export(o.plan, o.Export)
}

// sign returns the signed file: with the signatures of a hardware wallet, or with those of words.
func (s Session) sign(ctx context.Context, o order) (plan.Signed, error) {
	if o.Import != "" {
		signed, err := sign.Import(o.plan, o.Import)
		if err != nil {
			return plan.Signed{}, err
		}
		return signed, s.confirm(ctx, o)
	}
	for _, note := range s.Harden() {
		fmt.Fprintln(s.Out, "Note:", note)
	}
	signer, err := s.signer(ctx, o)
	if err != nil {
		return plan.Signed{}, err
	}
	defer signer.Close()
	if err := s.confirm(ctx, o); err != nil {
		return plan.Signed{}, err
	}
	return signer.Sign()
}

// signer asks for the words and the passphrase and derives the keys of the plan.
func (s Session) signer(ctx context.Context, o order) (*sign.Signer, error) {
	words, err := s.Terminal.Secret(ctx, "Recovery words, separated by spaces (they are not shown): ")
	if err != nil {
		return nil, fmt.Errorf("read the words: %w", err)
	}
	defer clear(words)
	passphrase, err := s.Terminal.Secret(ctx, "Passphrase of the wallet, or Enter if it has none (it is not shown): ")
	if err != nil {
		return nil, fmt.Errorf("read the passphrase: %w", err)
	}
	defer clear(passphrase)
	wallet, err := sign.Open(words, passphrase)
	if err != nil {
		return nil, err
	}
	defer wallet.Close()
	return sign.NewSigner(o.plan, wallet, o.options)
}

// Confirmation of the destination.
const (
	lastCharacters = 4
	attempts       = 3
)

// confirm asks for the last characters of the destination.
func (s Session) confirm(ctx context.Context, o order) error {
	to := o.plan.To.String()
	want := to[len(to)-lastCharacters:]
	for range attempts {
		got, err := s.Terminal.Line(ctx, fmt.Sprintf("Type the last %d characters of your destination: ", lastCharacters))
		if err != nil {
			return fmt.Errorf("read the last characters of the destination: %w", err)
		}
		if strings.EqualFold(strings.TrimSpace(got), want) {
			return nil
		}
		fmt.Fprintln(s.Out, "These are not the last characters of the destination.")
	}
	return sign.Refusal("The destination was not confirmed. Nothing was signed.")
}

// write writes a file that only its owner can read: completely or not at all. It refuses to overwrite a file.
func write(name string, content []byte) error {
	if err := refuseExisting(name); err != nil {
		return err
	}
	if err := durable.Replace(name, content); err != nil {
		return fmt.Errorf("write the signed file: %w", err)
	}
	return nil
}

// refuseExisting returns an error if a file exists.
func refuseExisting(name string) error {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already: it is not overwritten", name)
	}
	return nil
}
