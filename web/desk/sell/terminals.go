package sell

import (
	"net/http"
	"slices"
	"strings"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// terminals lists the counter terminals of the shop.
func (v *page) terminals() error {
	mode := v.mode()
	all, err := v.Terminals.List(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(t merchant.Terminal) bool { return t.Mode != mode })
	f, err := v.listFrame(v.Text("desk.terminals"), terminalsPath, mode)
	if err != nil {
		return err
	}
	list := desk.Terminals{
		Frame: f, Tabs: v.tabs(terminalsPath, mode), Add: views.Link{Text: v.Text("desk.terminal.add"), URL: v.BelowIn(terminalsPath+"/new", mode == merchant.Test)},
		Note: v.Text("desk.terminals.note"),
	}
	if len(all) == 0 {
		list.Empty = v.Text("desk.terminals.none")
	}
	sold, err := v.soldBy(report.ByTerminal, mode)
	if err != nil {
		return err
	}
	assignments, err := v.Terminals.Assignments(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return err
	}
	for _, t := range all {
		text := v.terminalText(t, sold[t.ID])
		if n := countAssigned(assignments, t.ID); n > 0 {
			text += " · " + v.Words.Count("desk.terminal.sellers", n)
		}
		list.Rows = append(list.Rows, desk.TerminalRow{
			Name: t.DisplayName(), Text: text, Sellers: views.Link{Text: v.Text("desk.sellers"), URL: v.Below(terminalsPath + "/" + t.ID + sellersPath)}, Sales: v.salesLink(invoice.FromTerminal, t.ID, t.Mode), Remove: views.Link{Text: v.Text("desk.remove.ask"), URL: v.Below(terminalsPath + "/" + t.ID + "/remove")},
		})
	}
	return v.Show(http.StatusOK, desk.TerminalsPage(list))
}

func (v *page) terminalText(t merchant.Terminal, s sold) string {
	text := v.Text("desk.terminal.text", "Currency", t.Currency, "Time", v.Clock(t.CreatedAt))
	if t.Methods != "" {
		text += " · " + strings.Join(t.Methods.Codes(), " ")
	}
	if s.invoices > 0 {
		text += " · " + v.Words.Count("desk.terminal.sold", int(s.invoices), "Month", v.Words.Month(v.Today().Date().Month()), "Revenue", s.revenue())
	}
	return text
}

// newTerminal shows the form of a new terminal.
func (v *page) newTerminal() error {
	return v.showNewTerminal(http.StatusOK, map[string]string{"fiat_currency": v.shopCurrency()}, nil)
}

func (v *page) showNewTerminal(status int, values map[string]string, problem error) error {
	mode := v.mode()
	frame, err := v.listFrame(v.Text("desk.terminal.add"), terminalsPath+"/new", mode)
	if err != nil {
		return err
	}
	f := &form{page: v, values: values, problem: problem}
	return v.Show(status, desk.SellFormPage(desk.SellForm{
		Frame: frame, Back: views.Link{Text: v.Text("desk.terminals"), URL: v.BelowIn(terminalsPath, mode == merchant.Test)}, Heading: v.Text("desk.terminal.add"), Problem: f.problemText(),
		Action: v.BelowIn(terminalsPath+"/new", mode == merchant.Test), Inputs: [][]desk.Input{{f.field("name", v.Text("desk.name"), v.Text("desk.terminal.name.hint"))}, {f.currency()}},
		Methods: f.methodChoice(mode, v.MethodCodes(mode, "")), Button: v.Text("desk.terminal.add"),
	}))
}

// addTerminal creates a terminal and shows its secret address, once.
func (v *page) addTerminal() error {
	mode := v.mode()
	codes := v.MethodCodes(mode, "")
	values := v.typed(append(visit.PositionNames(codes), "name", "fiat_currency"))
	t := merchant.Terminal{MerchantID: v.Shop.ID, Mode: mode, Name: values["name"], Currency: values["fiat_currency"]}
	chosen, err := visit.ChosenMethods(values, codes)
	if err == nil {
		t.Methods, err = merchant.NewMethods(chosen)
	}
	if err == nil {
		t, err = v.Terminals.Create(v.Request().Context(), t)
	}
	if isShownInForm(err) {
		return v.showNewTerminal(http.StatusUnprocessableEntity, values, err)
	}
	if err != nil {
		return err
	}
	heading := v.Text("desk.terminal.added")
	f, err := v.objectFrame(heading, mode)
	if err != nil {
		return err
	}
	share, err := v.share(v.Text("desk.terminal.address"), v.BaseURL+"/pos/"+t.Secret, true)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, desk.NewTerminalPage(desk.NewTerminal{
		Frame: f, Heading: heading, Intro: v.Text("desk.terminal.added.text", "Name", t.DisplayName()), Share: share,
		Done: views.Link{Text: v.Text("desk.terminals"), URL: v.BelowIn(terminalsPath, mode == merchant.Test)},
	}))
}

// ownTerminal returns the shop's terminal in the path.
func (v *page) ownTerminal() (merchant.Terminal, error) {
	all, err := v.Terminals.List(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return merchant.Terminal{}, err
	}
	i := slices.IndexFunc(all, func(t merchant.Terminal) bool { return t.ID == v.Param("terminal") })
	if i < 0 {
		return merchant.Terminal{}, merchant.ErrNotFound
	}
	return all[i], nil
}

// askToRemoveTerminal shows the consequences before a terminal is removed.
func (v *page) askToRemoveTerminal() error {
	t, err := v.ownTerminal()
	if err != nil {
		return err
	}
	heading := v.Text("desk.sell.remove", "Name", t.DisplayName())
	f, err := v.objectFrame(heading, t.Mode)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, desk.DecisionPage(desk.Decision{
		Frame: f, Back: views.Link{Text: v.Text("desk.terminals"), URL: v.BelowIn(terminalsPath, t.Mode == merchant.Test)}, Heading: heading,
		Results: []desk.Result{
			{Shape: "warn", Text: v.Text("desk.terminal.remove.page")}, {Shape: "ok", Text: v.Text("desk.sell.invoices")}, {Shape: "warn", Text: v.Text("desk.cancel.final")},
		},
		Action: v.Below(terminalsPath + "/" + t.ID + "/remove"), Button: v.Text("desk.terminal.remove"),
	}))
}

// removeTerminal removes the terminal in the path.
func (v *page) removeTerminal() error {
	t, err := v.ownTerminal()
	if err != nil {
		return err
	}
	if err := v.Terminals.Remove(v.Request().Context(), v.Shop.ID, t.ID); err != nil {
		return err
	}
	return v.redirectToList(terminalsPath, t.Mode, "terminal-removed")
}
