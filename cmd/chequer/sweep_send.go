package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/console"
	"chequer/internal/prices"
	"chequer/internal/sweep"
	"chequer/internal/sweep/plan"
)

// sendFlags are the flags of the command that sends a signed plan.
type sendFlags struct {
	dryRun, yes bool
	wait        time.Duration
}

// sendResult is the result of the command that sends a signed plan, as it is printed.
type sendResult struct {
	sweepSummary
	DryRun       bool         `json:"dry_run"`
	Moves        int          `json:"moves"`
	Transactions int          `json:"transactions"`
	FeeMax       string       `json:"fee_max"`
	Failing      []failingRow `json:"failing"`
	Waiting      int          `json:"waiting"`
	Unsent       int          `json:"unsent"`
	Fault        string       `json:"fault,omitempty"`
}

// failingRow is an open row that would not be moved, as it is printed.
type failingRow struct {
	Number int    `json:"n"`
	From   string `json:"from"`
	Amount string `json:"amount"`
	State  string `json:"state"`
	Why    string `json:"why,omitempty"`
}

func newSendResult(sender *sweep.Sender, o sweep.Outlook) sendResult {
	r := sender.Sweep()
	result := sendResult{
		sweepSummary: newSweepSummary(r), Moves: len(o.Moves), Transactions: o.Transactions, FeeMax: r.Plan.CoinText(o.Fee), Failing: []failingRow{},
		Waiting: len(o.Waiting), Unsent: len(o.Unsent), Fault: o.Fault,
	}
	for _, f := range o.Failing {
		row := r.Plan.Rows[f.Number-1]
		result.Failing = append(result.Failing, failingRow{f.Number, row.From.String(), r.Plan.AmountText(row.Asset, row.Amount), string(f.State), f.Why})
	}
	return result
}

func (s *shell) sweepSend() *cobra.Command {
	var f sendFlags
	c := &cobra.Command{
		Use:   "send FILE",
		Short: "Send the signed file of a plan, and wait until the network has moved the amounts",
		Long: `Compares the signed file with the plan that this server recorded, and sends nothing if they differ. Reads from the network
which rows are moved already, simulates the transactions, shows what they will do and asks. Then sends them, and waits
until their blocks are final. The command can be ended at any time and started again: a row
is moved once at most.`,
		Example: "  chequer sweep send plan.signed.json --dry-run\n  chequer sweep send plan.signed.json",
		Args:    console.Arguments,
		RunE: s.withShop(func(call invocation) error {
			content, err := readSignedFile(call.args[0])
			if err != nil {
				return err
			}
			rates, err := prices.Fetch(call.Context(), call.cfg, false, call.core.Now, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			sender, err := sweep.NewSender(call.Context(), call.cfg, call.core.Storage, rates, call.shop.ID, content, call.core.Now)
			if err != nil {
				return err
			}
			return s.send(call, sender, f)
		}),
	}
	flags := c.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would happen, and send nothing")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.DurationVar(&f.wait, "wait", time.Hour, "longest time to wait until the amounts are moved; 0 to wait for none")
	return c
}

// readSignedFile reads a signed file.
func readSignedFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, plan.MaxFile+1))
	if err == nil && len(content) > plan.MaxFile {
		err = fmt.Errorf("%s is larger than a signed file can be", name)
	}
	return content, err
}

// send sends a signed plan while it holds the lease.
func (s *shell) send(call invocation, sender *sweep.Sender, f sendFlags) (err error) {
	ctx := call.Context()
	if err := sender.Acquire(ctx); err != nil {
		return err
	}
	defer func() {
		// The lease is released also after an interrupt, which ends the context.
		err = errors.Join(err, sender.Release(context.WithoutCancel(ctx)))
	}()
	outlook, err := sender.Outlook(ctx)
	if err != nil {
		return err
	}
	before := newSendResult(sender, outlook)
	if before.DryRun = f.dryRun; f.dryRun {
		return s.Print(call.Command, before, func(w io.Writer) { writeOutlook(w, sender, outlook, before) })
	}
	writeOutlook(call.ErrOrStderr(), sender, outlook, before)
	if outlook.Transactions > 0 {
		if err := f.confirm(call, outlook); err != nil {
			return err
		}
	}
	refused := (*sweep.RefusedError)(nil)
	if err := sender.Submit(ctx, outlook); err != nil && !errors.As(err, &refused) {
		return err
	}
	if refused != nil {
		fmt.Fprintf(call.ErrOrStderr(), "%s. The others are sent, except those of the payer that follow one of its own.\n", refused)
	}
	if err := sender.Wait(ctx, f.wait, func(waiting int) { reportWaiting(call.ErrOrStderr(), waiting) }); err != nil {
		return err
	}
	return s.printSent(call, sender)
}

// confirm asks whether the transactions are sent, unless --yes is given or nothing can be sent.
func (f sendFlags) confirm(call invocation, o sweep.Outlook) error {
	if f.yes || o.Fault != "" {
		return nil
	}
	p, isTerminal := console.NewPrompt(call.Command)
	if !isTerminal {
		return errors.New("nothing is sent: there is no terminal to ask. Add --yes to send")
	}
	yes, err := p.Confirm("Send?")
	if err == nil && !yes {
		err = errors.New("nothing is sent")
	}
	return err
}

// reportWaiting prints the number of rows that are sent and not final.
func reportWaiting(w io.Writer, waiting int) {
	if waiting > 0 {
		fmt.Fprintf(w, "%d rows are sent. They count as moved when their blocks are final; the command may be ended and started again.\n", waiting)
	}
}

// printSent prints the states of the rows after the plan was sent.
func (s *shell) printSent(call invocation, sender *sweep.Sender) error {
	after := newSendResult(sender, sweep.After(sender.Sweep()))
	return s.Print(call.Command, after, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s\n", after.ID, after.statesText())
		if after.Moved != "" {
			fmt.Fprintf(w, "moved %s to %s\n", after.Moved, after.To)
		}
		writeFailing(w, after.Failing, "Not moved")
		if after.Waiting > 0 {
			fmt.Fprintf(w, "%d rows are sent and not final: say the same command again.\n", after.Waiting)
		}
		if after.Unsent > 0 {
			writeUnsent(w, sender, after.Unsent)
		}
	})
}

// writeOutlook prints what sending a plan would do.
func writeOutlook(w io.Writer, sender *sweep.Sender, o sweep.Outlook, r sendResult) {
	p := sender.Sweep().Plan
	fmt.Fprintln(w, p.Summary())
	if r.Moved != "" {
		fmt.Fprintf(w, "Moved already: %s.\n", r.Moved)
	}
	if o.Transactions > 0 {
		fmt.Fprintf(w, "%d transactions move %d rows, %s, to %s. Fee at most %s%s.\n", o.Transactions, len(o.Moves), p.SumTextOf(o.Moves), p.To, r.FeeMax, dataFeeText(p))
	} else {
		fmt.Fprintln(w, "There is nothing to send.")
	}
	writeFailing(w, r.Failing, "Will not be moved")
	if r.Waiting > 0 {
		fmt.Fprintf(w, "%d rows are sent already.\n", r.Waiting)
	}
	if r.Unsent > 0 {
		writeUnsent(w, sender, r.Unsent)
	}
	if r.Fault != "" {
		fmt.Fprintf(w, "Nothing can be sent now: %s.\n", r.Fault)
	}
}

// dataFeeText returns an addition to a fee on networks whose transactions cost a fee for their data.
func dataFeeText(p plan.Plan) string {
	if sweep.HasDataFee(p.Network) {
		return " and the fee for data"
	}
	return ""
}

// writeUnsent prints that the signed file cannot move some rows.
func writeUnsent(w io.Writer, sender *sweep.Sender, unsent int) {
	if sender.Sweep().Plan.HasAuthorizations() && !sender.HasPayer() {
		fmt.Fprintf(w, "%d rows are not sent: the signed file has no transactions of a payer. Upload it at the desk, where a wallet in the browser sends them, or plan with --payer ADDRESS and sign with --payer PATH.\n", unsent)
		return
	}
	fmt.Fprintf(w, "%d rows are not sent: the account that pays for them has sent other transactions. Make a new plan.\n", unsent)
}

// writeFailing prints rows that are not moved, each with its reason.
func writeFailing(w io.Writer, rows []failingRow, heading string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "%s:\n", heading)
	for _, r := range rows {
		reason := strings.ReplaceAll(r.State, "_", " ")
		if r.Why != "" {
			reason += ": " + r.Why
		}
		fmt.Fprintf(w, "  row %d, %s, %s: %s\n", r.Number, r.From, r.Amount, reason)
	}
}
