package sweeps

import (
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"chequer/internal/evm"
	"chequer/internal/money"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
	"chequer/internal/wire"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// pageSize is the number of plans on a page of the list. Each is read with all of its rows.
const pageSize = 20

// planCommand is the command that makes a plan.
const planCommand = "chequer sweep plan --network base --to ADDRESS"

// sweeps lists the plans of the shop, newest first.
func (v *page) sweeps() error {
	after := v.QueryParam("after")
	if !visit.IsText(after) {
		after = ""
	}
	all, err := v.Storage.SweepsAfter(v.Request().Context(), v.Shop.ID, after, pageSize+1)
	if err != nil {
		return err
	}
	f, err := v.Frame(v.Text("desk.sweeps"), visit.WalletsPath)
	if err != nil {
		return err
	}
	list := desk.Sweeps{Frame: f, Tabs: v.WalletTabs(visit.SweepsPath), Command: planCommand}
	if len(all) > pageSize {
		all = all[:pageSize]
		list.Older = v.Below(visit.SweepsPath) + "?after=" + url.QueryEscape(all[pageSize-1].Plan.ID)
	}
	for _, r := range all {
		list.Rows = append(list.Rows, v.row(r))
	}
	if list.Shown = v.Words.Count("desk.sweeps.shown", len(all)); len(all) == 0 {
		list.Empty = v.Text("desk.sweeps.empty")
	}
	return v.Show(http.StatusOK, desk.SweepsPage(list))
}

// row returns a plan as a row of the list.
func (v *page) row(r recorded.Sweep) desk.SweepRow {
	p := r.Plan
	return desk.SweepRow{
		Sum: p.SumText(), URL: v.below(p, ""), Rows: v.states(r), State: v.phase(r), Fee: v.fee(p), Time: wire.Time(p.MadeAt), At: v.Clock(p.MadeAt),
		Until: v.Text("desk.sweep.until.short", "Time", v.Clock(p.ValidUntil)),
		To:    v.Text("desk.sweep.short", "Network", p.Network.Name, "Address", shortAddress(p.To), "Fingerprint", p.Fingerprint()),
	}
}

// below returns the address of a page of a plan.
func (v *page) below(p plan.Plan, path string) string {
	return v.Below(visit.SweepsPath + "/" + p.ID + path)
}

// fee returns the maximum fee of a plan in euro, at the rate of the plan.
func (v *page) fee(p plan.Plan) string {
	return v.Fiat(money.FromMinor(big.NewInt(p.FeeMax.Cents), money.EUR))
}

// shortAddress returns the first six and the last four characters of an address.
func shortAddress(a evm.Address) string {
	text := a.String()
	return text[:6] + "…" + text[len(text)-4:]
}

// phases are the texts and the symbols of the states of a plan.
var phases = map[recorded.Phase]struct{ text, shape string }{
	recorded.PhasePlanned: {"desk.sweep.phase.planned", "wait"}, recorded.PhaseSent: {"desk.sweep.phase.sent", "wait"},
	recorded.PhaseDone: {"desk.sweep.phase.done", "ok"}, recorded.PhaseStopped: {"desk.sweep.phase.stopped", "off"},
}

// phase returns the state of a plan. A plan of which nothing was sent before its end is expired.
func (v *page) phase(r recorded.Sweep) desk.State {
	phase := r.Phase()
	if phase == recorded.PhasePlanned && isOver(r, v.Now()) {
		return desk.State{Text: v.Text("desk.sweep.row.expired"), Shape: "off"}
	}
	words := phases[phase]
	if phase == recorded.PhaseDone && r.Count(recorded.Moved) < len(r.Rows) {
		words.shape = "warn"
	}
	return desk.State{Text: v.Text(words.text), Shape: words.shape}
}

// isOver reports whether the signatures of a plan have expired.
func isOver(r recorded.Sweep, now time.Time) bool { return !now.Before(r.Plan.ValidUntil) }

// rowStates are the texts and the symbols of the states of a row.
var rowStates = map[recorded.State]struct{ text, shape string }{
	recorded.Planned: {"desk.sweep.row.planned", "wait"}, recorded.Sent: {"desk.sweep.row.sent", "wait"}, recorded.Moved: {"desk.sweep.row.moved", "ok"},
	recorded.NothingThere: {"desk.sweep.row.nothing", "warn"}, recorded.Blocked: {"desk.sweep.row.blocked", "bad"},
	recorded.Expired: {"desk.sweep.row.expired", "off"}, recorded.Refused: {"desk.sweep.row.refused", "bad"},
}

// rowState returns the state of a row.
func (v *page) rowState(s recorded.State) desk.State {
	words := rowStates[s]
	return desk.State{Text: v.Text(words.text), Shape: words.shape}
}

// states returns the numbers of rows by state, such as "44 moved, 6 blocked".
func (v *page) states(r recorded.Sweep) string {
	var parts []string
	for _, s := range recorded.States {
		if n := r.Count(s); n > 0 {
			parts = append(parts, v.Text("desk.sweep.states", "Number", strconv.Itoa(n), "State", strings.ToLower(v.rowState(s).Text)))
		}
	}
	return strings.Join(parts, ", ")
}
