package sweeps

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
	"chequer/internal/merchant"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// linesSize is the number of rows on a page of a plan.
const linesSize = 100

// find returns the plan of the path.
func (v *page) find() (recorded.Sweep, error) {
	found, err := v.Storage.Sweep(v.Request().Context(), v.Shop.ID, v.Param("sweep"))
	return found, notFound(err)
}

// notFound returns the error of a page that does not exist for recorded.ErrNotFound, and any other error unchanged.
func notFound(err error) error {
	if errors.Is(err, recorded.ErrNotFound) {
		return echo.ErrNotFound
	}
	return err
}

// sweep shows a plan.
func (v *page) sweep() error {
	r, err := v.find()
	if err != nil {
		return err
	}
	return v.showSweep(http.StatusOK, r, "")
}

// look settles a plan.
func (v *page) look() error {
	r, err := v.find()
	if err != nil {
		return err
	}
	if _, err := v.Network.Settle(v.Request().Context(), v.Shop.ID, r.Plan.ID); err != nil {
		problem := v.problem(r, err)
		if problem == "" {
			return notFound(err)
		}
		return v.showSweep(http.StatusServiceUnavailable, r, problem)
	}
	return v.Done(v.below(r.Plan, ""), "sweep-looked")
}

// problem returns the text of an error of Network; "" for any other error.
func (v *page) problem(r recorded.Sweep, err error) string {
	if errors.Is(err, recorded.ErrHeld) {
		return v.Text("desk.sweep.held", "Network", r.Plan.Network.Name)
	}
	if unread, ok := errors.AsType[*recorded.NetworkError](err); ok {
		v.Log.WarnContext(v.Request().Context(), "network of a sweep not read", "sweep", r.Plan.ID, "error", err)
		return v.Text("desk.sweep.unread", "Network", r.Plan.Network.Name, "Reason", unread.Error())
	}
	return ""
}

// showSweep shows a plan with a problem.
func (v *page) showSweep(status int, r recorded.Sweep, problem string) error {
	p, explorers := r.Plan, v.Explorers()
	heading := v.Text("desk.sweep.heading", "Sum", p.SumText(), "Network", p.Network.Name)
	f, err := v.Frame(heading, visit.WalletsPath)
	if err != nil {
		return err
	}
	shown := desk.Sweep{
		Frame: f, Back: views.Link{Text: v.Text("desk.sweeps"), URL: v.Below(visit.SweepsPath)}, Heading: heading, State: v.phase(r), Problem: problem, Notes: v.notes(r),
		To: views.AddressGroups(p.To.String()), ToPage: v.ExplorerLink(explorers.Address(p.Network.ID, p.To.String())), Facts: v.facts(r),
		Sent: v.transactions(r, explorers), Left: v.skipped(p),
	}
	if len(p.Skipped) > 0 {
		shown.Skipped = v.Text("desk.sweep.skipped.text", "Reasons", plan.SkippedText(p.Skipped, p.SkipAbove))
	}
	if shown.ToPage.URL != "" || slices.ContainsFunc(shown.Sent, func(t desk.SweepTransaction) bool { return t.Page.URL != "" }) {
		shown.Explorer = v.Text("desk.explorer.note")
	}
	if p.HasAuthorizations() && p.Payer == nil && r.Count(recorded.Moved) < len(r.Rows) {
		shown.Look = desk.Button{Action: v.below(p, "/look"), Text: v.Text("desk.sweep.look")}
	}
	if v.May(account.ManageWallets) {
		if v.unpayable(r) == "" {
			shown.Send = views.Link{Text: v.Text("desk.sweep.send"), URL: v.below(p, "/send")}
			if shown.Again = r.Phase() == recorded.PhaseDone; shown.Again {
				shown.Send.Text = v.Text("desk.sweep.send.again")
			}
		}
		if r.StoppedAt.IsZero() && r.Phase() != recorded.PhaseDone {
			shown.Stop = views.Link{Text: v.Text("desk.sweep.stop.ask"), URL: v.below(p, "/stop")}
		}
	}
	v.addLines(&shown, r, explorers)
	return v.Show(status, desk.SweepPage(shown))
}

// openTokens returns the number of rows with an authorization that are not sent, moved or expired. Refused and blocked rows count, because
// the network may accept them later.
func openTokens(r recorded.Sweep) (n int) {
	for i, row := range r.Rows {
		if !r.Plan.Rows[i].SendsTransaction() && row.State != recorded.Moved && row.State != recorded.Sent && row.State != recorded.Expired {
			n++
		}
	}
	return n
}

// addLines adds the rows of the page that the query selects.
func (v *page) addLines(shown *desk.Sweep, r recorded.Sweep, explorers merchant.Explorers) {
	first, err := strconv.Atoi(v.QueryParam("row"))
	if err != nil || first < 1 || first > len(r.Rows) {
		first = 1
	}
	last := min(first+linesSize-1, len(r.Rows))
	for n := first; n <= last; n++ {
		shown.Rows = append(shown.Rows, v.line(r, n, explorers))
	}
	shown.Shown = v.Text("desk.sweep.shown", "First", strconv.Itoa(first), "Last", strconv.Itoa(last), "All", strconv.Itoa(len(r.Rows)))
	if last < len(r.Rows) {
		shown.Next = v.below(r.Plan, "?row="+strconv.Itoa(last+1))
	}
}

// line returns a row of a plan with its recorded state.
func (v *page) line(r recorded.Sweep, n int, explorers merchant.Explorers) desk.SweepLine {
	p, planned, state := r.Plan, r.Plan.Rows[n-1], r.Rows[n-1]
	line := desk.SweepLine{
		Number: strconv.Itoa(n), From: planned.From.String(), Path: p.PathText(planned), Amount: p.AmountText(planned.Asset, planned.Amount), State: v.rowState(state.State),
	}
	if state.Tx != "" {
		line.Tx, line.TxPage = state.Tx[:min(10, len(state.Tx))]+"…", explorers.Transaction(p.Network.ID, state.Tx)
	}
	return line
}

// skipped returns the amounts that a plan does not move.
func (v *page) skipped(p plan.Plan) (lines []desk.SweepLine) {
	for _, s := range p.Skipped {
		amount := v.Text("desk.sweep.units", "Units", s.Amount.String(), "Asset", s.Asset)
		if slices.ContainsFunc(p.Sums, func(sum plan.Sum) bool { return sum.Asset == s.Asset }) {
			amount = p.AmountText(s.Asset, s.Amount)
		}
		lines = append(lines, desk.SweepLine{From: s.From.String(), Amount: amount, Why: plan.SkippedText([]plan.Skipped{s}, p.SkipAbove)})
	}
	return lines
}

// facts returns what a plan states.
func (v *page) facts(r recorded.Sweep) []desk.Fact {
	p := r.Plan
	moved := r.MovedText()
	if moved == "" {
		moved = v.Text("desk.sweep.moved.none")
	}
	facts := []desk.Fact{
		{Name: v.Text("desk.sweep.id"), Value: p.ID},
		{Name: v.Text("desk.sweep.fingerprint"), Value: p.Fingerprint()},
		{Name: v.Text("desk.sweep.network"), Value: p.Network.Name},
		{Name: v.Text("desk.sweep.sum"), Value: p.SumText()},
		{Name: v.Text("desk.sweep.moved"), Value: moved},
		{Name: v.Text("desk.sweep.rows"), Value: v.states(r)},
		{Name: v.Text("desk.sweep.fee"), Value: v.fee(p) + ", " + p.CoinText(p.FeeMax.Amount)},
		{Name: v.Text("desk.sweep.made"), Value: v.Clock(p.MadeAt)},
		{Name: v.Text("desk.sweep.until"), Value: v.Clock(p.ValidUntil)},
	}
	if p.Payer != nil {
		facts = append(facts, desk.Fact{Name: v.Text("desk.sweep.payer"), Value: p.Payer.Address.String()})
	}
	if !r.StoppedAt.IsZero() {
		facts = append(facts, desk.Fact{Name: v.Text("desk.sweep.stopped"), Value: v.Clock(r.StoppedAt)})
	}
	return facts
}

// notes returns what can be done about a plan.
func (v *page) notes(r recorded.Sweep) (notes []desk.Result) {
	p := r.Plan
	add := func(shape, id string, pairs ...string) {
		notes = append(notes, desk.Result{Shape: shape, Text: v.Text(id, pairs...)})
	}
	if isOver(r, v.Now()) {
		add("off", "desk.sweep.note.over", "Time", p.Until())
	} else {
		add("ok", "desk.sweep.note.until", "Time", p.Until(), "Address", shortAddress(p.To))
	}
	if r.Phase() == recorded.PhaseDone || isOver(r, v.Now()) {
		return notes
	}
	if !r.StoppedAt.IsZero() {
		add("off", "desk.sweep.note.stopped")
		return notes
	}
	switch n := openTokens(r); {
	case p.Payer != nil:
		add("wait", "desk.sweep.note.payer")
	case n > 0:
		notes = append(notes, desk.Result{Shape: "wait", Text: v.Words.Count("desk.sweep.note.wallet", n)})
	}
	if p.HasTransactions() && p.Payer == nil {
		add("wait", "desk.sweep.note.transactions")
	}
	return notes
}

// transactions returns the transactions of a plan with the numbers of their rows.
func (v *page) transactions(r recorded.Sweep, explorers merchant.Explorers) (list []desk.SweepTransaction) {
	rows := map[string]int{}
	var order []string
	for _, row := range r.Rows {
		if row.Tx == "" {
			continue
		}
		if rows[row.Tx] == 0 {
			order = append(order, row.Tx)
		}
		rows[row.Tx]++
	}
	const most = 50 // transactions of coins have one row each, and the table of rows has them too
	for _, tx := range order[:min(most, len(order))] {
		list = append(list, desk.SweepTransaction{
			Tx: views.AddressGroups(tx), Page: v.ExplorerLink(explorers.Transaction(r.Plan.Network.ID, tx)), Rows: v.Words.Count("desk.sweep.carries", rows[tx]),
		})
	}
	return list
}

// askToStop shows the consequences of stopping a plan.
func (v *page) askToStop() error {
	r, err := v.find()
	if err != nil {
		return err
	}
	p := r.Plan
	heading := v.Text("desk.sweep.stop.heading")
	f, err := v.Frame(heading, visit.WalletsPath)
	if err != nil {
		return err
	}
	results := []desk.Result{
		{Shape: "ok", Text: v.Text("desk.sweep.stop.sends")},
		{Shape: "warn", Text: v.Text("desk.sweep.stop.valid", "Time", p.Until(), "Address", p.To.String())},
	}
	if p.HasTransactions() {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.sweep.stop.transactions")})
	}
	return v.Show(http.StatusOK, desk.DecisionPage(desk.Decision{
		Frame: f, Back: views.Link{Text: v.Text("desk.sweep"), URL: v.below(p, "")}, Heading: heading, Results: results,
		Action: v.below(p, "/stop"), Button: v.Text("desk.sweep.stop"), Danger: true,
	}))
}

// stop stops a plan.
func (v *page) stop() error {
	r, err := v.find()
	if err != nil {
		return err
	}
	err = v.Storage.StopSweep(v.Request().Context(), v.Shop.ID, r.Plan.ID, v.Now())
	if errors.Is(err, recorded.ErrStopped) {
		return v.Redirect(http.StatusSeeOther, v.below(r.Plan, ""))
	}
	if err != nil {
		return notFound(err)
	}
	v.Log.WarnContext(v.Request().Context(), "sweep stopped", "sweep", r.Plan.ID, "merchant", v.Shop.ID)
	return v.Done(v.below(r.Plan, ""), "sweep-stopped")
}
