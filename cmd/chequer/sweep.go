package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/chain"
	"chequer/internal/console"
	"chequer/internal/evm"
	"chequer/internal/prices"
	"chequer/internal/sweep"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
)

// sweep returns the group of commands about moving received coins from many addresses to one.
func (s *shell) sweep() *cobra.Command {
	return console.Group("sweep", "Move received coins from many addresses to one: plan, sign offline, send",
		s.sweepPlan(), s.sweepSend(), s.sweepList(), s.sweepShow(), s.sweepStop())
}

// planFlags are the flags of the command that makes a plan.
type planFlags struct {
	network, to, payer, out string
	days                    int
	request                 sweep.Request
}

// planned is a new plan as it is printed.
type planned struct {
	ID          string   `json:"id"`
	File        string   `json:"file"`
	Fingerprint string   `json:"fingerprint"`
	Text        string   `json:"text"`
	Rows        int      `json:"rows"`
	Skipped     int      `json:"skipped"`
	Left        int      `json:"left"`
	Unseen      []string `json:"unseen"`
	ValidUntil  string   `json:"valid_until"`
	next        string   // sentences about the next step
}

func (s *shell) sweepPlan() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan --network NETWORK --to ADDRESS",
		Short: "Make the plan of a sweep, which chequer sign signs on a computer that is offline",
		Long: `Reads what the addresses of former payments hold, and writes a plan that moves it to one address. It moves nothing: the
server cannot spend. Only amounts are included that are as deep as the payment policy requires, and whose share of the
fee is small. With --payer the signed file has the transactions that carry the authorizations of tokens. With --fund the
payer first sends the coin for the fee to each address that holds a token without authorizations; what the fee does not
use stays there.`,
		Example: `  chequer sweep plan --network base --to 0x… --payer 0x…
  chequer sweep plan --network base --to 0x… --assets EURC-BASE --skip-above 1 --out eurc.json
  chequer sweep plan --network ethereum --to 0x… --assets USDT --fund --payer 0x…`,
		Args: cobra.NoArgs,
		RunE: answer(s, f.run, func(w io.Writer, made planned) {
			fmt.Fprintf(w, "%s Fingerprint %s.\n", made.Text, made.Fingerprint)
			if len(made.Unseen) > 0 {
				fmt.Fprintf(w, "Coins that come later to %d of these addresses will not be seen.\n", len(made.Unseen))
			}
			if made.Left > 0 {
				fmt.Fprintf(w, "%d amounts are left for the next plan.\n", made.Left)
			}
			fmt.Fprint(w, made.next)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&f.network, "network", "", "ethereum, base or another watched network")
	flags.StringVar(&f.to, "to", "", "destination, with the checksum of its letters")
	flags.StringSliceVar(&f.request.Assets, "assets", nil, "payment methods, such as EURC-BASE (default all of the network)")
	flags.StringVar(&f.request.SkipAbove, "skip-above", "2", "highest share of the fee in an amount, in per cent")
	flags.StringVar(&f.out, "out", "plan.json", "file of the plan")
	flags.StringVar(&f.payer, "payer", "", "address of an account that pays the fees of tokens; it belongs to the words that sign")
	flags.StringVar(&f.request.Wallet, "wallet", "", "ID of the wallet, if several have holdings")
	flags.IntVar(&f.days, "days", 7, "days for which the signatures are valid, at most 30")
	flags.BoolVar(&f.request.Fund, "fund", false, "include tokens without authorizations, such as USDT: the payer sends the coin for the fees to their addresses")
	flags.BoolVar(&f.request.AlsoWatched, "also-watched", false, "include coins at addresses that are watched for later payments")
	flags.BoolVar(&f.request.AcceptFee, "anyway", false, "accept a fee of more than 5 %, and a destination that is a contract")
	for _, name := range []string{"network", "to"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	return c
}

// run makes, records and writes the plan.
func (f *planFlags) run(call invocation) (planned, error) {
	r := f.request
	r.MerchantID, r.AcceptContract, r.Validity = call.shop.ID, r.AcceptFee, time.Duration(f.days)*24*time.Hour
	if f.days < 1 || r.Validity > plan.MaxValidity {
		return planned{}, fmt.Errorf("--days %d is not from 1 to 30", f.days)
	}
	var err error
	if r.To, err = evm.ParseChecksummed(f.to); err != nil {
		return planned{}, fmt.Errorf("--to: %w", err)
	}
	if f.payer != "" {
		payer, err := evm.ParseChecksummed(f.payer)
		if err != nil {
			return planned{}, fmt.Errorf("--payer: %w", err)
		}
		r.Payer = &payer
	}
	rates, err := prices.Fetch(call.Context(), call.cfg, false, call.core.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return planned{}, err
	}
	planner, err := sweep.NewPlanner(call.cfg, chain.ID(f.network), call.core.Storage, rates, call.core.Now)
	if err != nil {
		return planned{}, err
	}
	draft, err := planner.Draft(call.Context(), r)
	if err != nil {
		return planned{}, err
	}
	if err := f.write(call, planner, draft); err != nil {
		return planned{}, err
	}
	return f.describe(draft), nil
}

// write records a plan and writes its file. A file that exists is not overwritten.
func (f *planFlags) write(call invocation, planner *sweep.Planner, draft sweep.Draft) error {
	file, err := os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--out: %s exists already: name another file, or remove it", f.out)
	}
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err = planner.Record(call.Context(), call.shop.ID, draft); err == nil {
		_, err = file.Write(draft.Plan.Bytes())
	}
	if err = cmp.Or(err, file.Sync(), file.Close()); err != nil {
		return cmp.Or(err, os.Remove(f.out))
	}
	return nil
}

// describe returns a new plan as it is printed.
func (f *planFlags) describe(draft sweep.Draft) planned {
	p := draft.Plan
	made := planned{
		ID: p.ID, File: f.out, Fingerprint: p.Fingerprint(), Text: p.Text(), Rows: len(p.Rows), Skipped: len(p.Skipped), Left: draft.Left, Unseen: []string{},
		ValidUntil: console.Stamp(p.ValidUntil),
	}
	for _, a := range draft.Unseen {
		made.Unseen = append(made.Unseen, a.String())
	}
	signing := fmt.Sprintf("chequer sign %s --to %s", f.out, p.To)
	if p.Payer != nil {
		signing += " --payer PATH"
	}
	made.next = fmt.Sprintf("\nTake %s to a computer that is offline, compare the fingerprint, and sign there:\n  %s\n", f.out, signing)
	if p.Payer != nil || p.HasTransactions() {
		made.next += fmt.Sprintf("Then send the signed file from here:\n  chequer sweep send %s.signed.json\n", strings.TrimSuffix(f.out, ".json"))
	}
	if p.Payer == nil && p.HasAuthorizations() {
		made.next += "The plan has no payer: a wallet in the browser sends its tokens at the desk, under Wallets, Sweeps. With --payer ADDRESS chequer sweep send does.\n"
	}
	if slices.ContainsFunc(p.Skipped, func(s plan.Skipped) bool { return s.Why == plan.NoWay }) {
		made.next += "Tokens without authorizations are skipped. With --fund and --payer ADDRESS the payer sends the coin for the fees to their addresses.\n"
	}
	return made
}

// sweepSummary is a recorded plan in a list as it is printed.
type sweepSummary struct {
	ID          string         `json:"id"`
	Network     string         `json:"network"`
	To          string         `json:"to"`
	State       string         `json:"state"`
	Rows        int            `json:"rows"`
	States      map[string]int `json:"states"` // numbers of rows
	Sum         string         `json:"sum"`
	Moved       string         `json:"moved"`
	Fingerprint string         `json:"fingerprint"`
	MadeAt      string         `json:"made_at"`
	ValidUntil  string         `json:"valid_until"`
	StoppedAt   string         `json:"stopped_at,omitempty"`
}

func newSweepSummary(r recorded.Sweep) sweepSummary {
	p := r.Plan
	row := sweepSummary{
		ID: p.ID, Network: p.Network.ID, To: p.To.String(), State: string(r.Phase()), Rows: len(p.Rows), States: map[string]int{}, Sum: p.SumText(),
		Moved: r.MovedText(), Fingerprint: p.Fingerprint(), MadeAt: console.Stamp(p.MadeAt), ValidUntil: console.Stamp(p.ValidUntil), StoppedAt: console.Stamp(r.StoppedAt),
	}
	for _, state := range recorded.States {
		if n := r.Count(state); n > 0 {
			row.States[string(state)] = n
		}
	}
	return row
}

// statesText returns the numbers of rows by state, such as "44 moved, 6 blocked".
func (r sweepSummary) statesText() string {
	var parts []string
	for _, state := range recorded.States {
		if n := r.States[string(state)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}

func (s *shell) sweepList() *cobra.Command {
	var limit int
	c := list(s, "list", "List the plans of sweeps, newest first", func(call invocation) ([]sweepSummary, error) {
		all, err := call.core.Storage.Sweeps(call.Context(), call.shop.ID, max(limit, 0))
		return convertAll(all, newSweepSummary), err
	}, "SWEEP\tNETWORK\tMADE\tSTATE\tROWS\tSUM\tMOVED\tTO", func(r sweepSummary) []any {
		return []any{r.ID, r.Network, s.Time(r.MadeAt), r.State, r.statesText(), r.Sum, cmp.Or(r.Moved, "–"), r.To}
	})
	c.Flags().IntVar(&limit, "limit", 50, "number of plans")
	return c
}

// sweepDetail is a recorded plan with its rows as it is printed.
type sweepDetail struct {
	sweepSummary
	Text    string           `json:"text"`
	RowList []sweepRow       `json:"row_list"`
	Skipped []sweepSkipped   `json:"skipped"`
	Sent    []sweepSentTotal `json:"transactions"`
}

// sweepRow is the row of a plan as it is printed.
type sweepRow struct {
	Number    int    `json:"n"`
	Path      string `json:"path"`
	From      string `json:"from"`
	Way       string `json:"way"`
	Asset     string `json:"asset"`
	Amount    string `json:"amount"`
	State     string `json:"state"`
	Tx        string `json:"tx,omitempty"`
	ChangedAt string `json:"changed_at"`
}

// sweepSkipped is an amount that a plan does not move as it is printed.
type sweepSkipped struct {
	From   string `json:"from"`
	Asset  string `json:"asset"`
	Amount string `json:"amount"`
	Why    string `json:"why"`
}

// sweepSentTotal is a transaction with the number of its rows.
type sweepSentTotal struct {
	Tx   string `json:"tx"`
	Rows int    `json:"rows"`
}

func newSweepDetail(r recorded.Sweep) sweepDetail {
	p := r.Plan
	d := sweepDetail{sweepSummary: newSweepSummary(r), Text: p.Summary(), RowList: []sweepRow{}, Skipped: []sweepSkipped{}, Sent: []sweepSentTotal{}}
	for i, row := range p.Rows {
		d.RowList = append(d.RowList, sweepRow{
			Number: i + 1, Path: p.PathText(row), From: row.From.String(), Way: string(row.Way), Asset: row.Asset, Amount: p.AmountText(row.Asset, row.Amount),
			State: string(r.Rows[i].State), Tx: r.Rows[i].Tx, ChangedAt: console.Stamp(r.Rows[i].ChangedAt),
		})
		d.count(r.Rows[i].Tx)
	}
	for _, skipped := range p.Skipped {
		d.Skipped = append(d.Skipped, sweepSkipped{From: skipped.From.String(), Asset: skipped.Asset, Amount: skippedText(p, skipped.Asset, skipped.Amount), Why: string(skipped.Why)})
	}
	return d
}

// skippedText returns a skipped amount: in smallest units if no row of the plan has its asset.
func skippedText(p plan.Plan, asset string, units *big.Int) string {
	isAsset := func(s plan.Sum) bool { return s.Asset == asset }
	if !slices.ContainsFunc(p.Sums, isAsset) {
		return units.String() + " units"
	}
	return p.AmountText(asset, units)
}

// count adds a row to its transaction.
func (d *sweepDetail) count(tx string) {
	if tx == "" {
		return
	}
	i := slices.IndexFunc(d.Sent, func(t sweepSentTotal) bool { return t.Tx == tx })
	if i < 0 {
		d.Sent = append(d.Sent, sweepSentTotal{Tx: tx})
		i = len(d.Sent) - 1
	}
	d.Sent[i].Rows++
}

func (s *shell) sweepShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show SWEEP",
		Short: "Show a plan with the state of each row",
		Long: `Shows a plan with the recorded state of each row: planned, sent, moved, nothing_there, blocked, expired or refused.
chequer sweep send reads them from the network, and so does "Look again" at the desk.`,
		Args: console.Arguments,
		RunE: answer(s, func(call invocation) (sweepDetail, error) {
			found, err := call.core.Storage.Sweep(call.Context(), call.shop.ID, call.args[0])
			if err != nil {
				return sweepDetail{}, err
			}
			return newSweepDetail(found), nil
		}, s.writeSweep),
	}
}

// writeSweep prints a plan with its rows.
func (s *shell) writeSweep(w io.Writer, d sweepDetail) {
	fmt.Fprintf(w, "%s\n\n", d.Text)
	fields := [][2]string{{"state", d.State}, {"rows", d.statesText()}, {"moved", cmp.Or(d.Moved, "nothing")}}
	if d.StoppedAt != "" {
		fields = append(fields, [2]string{"stopped", s.Time(d.StoppedAt)})
	}
	console.WriteFields(w, fields)
	fmt.Fprintln(w)
	console.WriteTable(w, "N\tPATH\tFROM\tAMOUNT\tSTATE\tTRANSACTION", d.RowList, func(r sweepRow) []any {
		return []any{r.Number, r.Path, r.From, r.Amount, r.State, r.Tx}
	})
}

// stopped is a plan that was stopped as it is printed.
type stopped struct {
	Stopped         string `json:"stopped"`
	ValidUntil      string `json:"valid_until"`
	To              string `json:"to"`
	hasTransactions bool
	until           string
}

func (s *shell) sweepStop() *cobra.Command {
	return &cobra.Command{
		Use:   "stop SWEEP",
		Short: "Stop a plan: the server sends nothing of it any more",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (stopped, error) {
			if err := call.core.Storage.StopSweep(call.Context(), call.shop.ID, call.args[0], call.core.Now()); err != nil {
				return stopped{}, err
			}
			found, err := call.core.Storage.Sweep(call.Context(), call.shop.ID, call.args[0])
			if err != nil {
				return stopped{}, err
			}
			p := found.Plan
			return stopped{p.ID, console.Stamp(p.ValidUntil), p.To.String(), p.HasTransactions(), p.Until()}, nil
		}, func(w io.Writer, r stopped) {
			fmt.Fprintf(w, "stopped %s\nSignatures work until %s, and can only pay %s.\n", r.Stopped, r.until, r.To)
			if r.hasTransactions {
				fmt.Fprintln(w, "The transactions of addresses work until these send another one.")
			}
		}),
	}
}
