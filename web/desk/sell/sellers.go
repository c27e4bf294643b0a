package sell

import (
	"net/http"
	"slices"

	"chequer/internal/account"
	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
)

// sellersPath is the path of the sellers of a terminal, below the terminal.
const sellersPath = "/sellers"

// sellers lists the sellers of the shop, and shows which of them use the terminal in the path.
func (v *page) sellers() error {
	t, err := v.ownTerminal()
	if err != nil {
		return err
	}
	heading := v.Text("desk.sellers.heading", "Name", t.DisplayName())
	f, err := v.objectFrame(heading, t.Mode)
	if err != nil {
		return err
	}
	page := desk.TerminalSellers{
		Frame: f, Back: views.Link{Text: v.Text("desk.terminals"), URL: v.BelowIn(terminalsPath, t.Mode == merchant.Test)}, Heading: heading, Intro: v.Text("desk.sellers.intro"),
	}
	if page.Rows, err = v.sellerRows(t); err != nil {
		return err
	}
	if len(page.Rows) == 0 {
		page.Empty = v.Text("desk.sellers.none")
	}
	return v.Show(http.StatusOK, desk.TerminalSellersPage(page))
}

// sellerRows returns the sellers of the shop, and whether they use a terminal.
func (v *page) sellerRows(t merchant.Terminal) (rows []desk.SellerRow, err error) {
	team, err := v.Accounts.Team(v.Request().Context())
	if err != nil {
		return nil, err
	}
	assignments, err := v.Terminals.Assignments(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return nil, err
	}
	for _, a := range team {
		if a.Allows(v.Shop.ID, account.ViewOwnTerminals) == account.Denied {
			continue
		}
		row := desk.SellerRow{
			Name: a.Name, State: desk.State{Text: v.Text("desk.sellers.unassigned"), Shape: "off"},
			Change: desk.Button{Action: v.Below(terminalsPath + "/" + t.ID + sellersPath), Text: v.Text("desk.sellers.assign"), Subject: a.Name, Hidden: []desk.Hidden{{Name: "account", Value: a.ID}, {Name: "use", Value: "yes"}}},
		}
		if slices.ContainsFunc(assignments, func(s merchant.Assignment) bool { return s.TerminalID == t.ID && s.AccountID == a.ID }) {
			row.State = desk.State{Text: v.Text("desk.sellers.assigned"), Shape: "ok"}
			row.Change.Text, row.Change.Danger, row.Change.Hidden[1].Value = v.Text("desk.sellers.unassign"), true, "no"
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// setSeller assigns the terminal in the path to a seller, or ends the assignment.
func (v *page) setSeller() error {
	t, err := v.ownTerminal()
	if err != nil {
		return err
	}
	ctx, accountID, result := v.Request().Context(), v.FormValue("account"), "assigned"
	if v.FormValue("use") == "yes" {
		err = v.Terminals.Assign(ctx, v.Shop.ID, t.ID, accountID)
	} else {
		err, result = v.Terminals.Unassign(ctx, v.Shop.ID, t.ID, accountID), "unassigned"
	}
	if err != nil {
		return err
	}
	return v.Done(v.Below(terminalsPath+"/"+t.ID+sellersPath), result)
}

// countAssigned returns the number of accounts that use a terminal.
func countAssigned(assignments []merchant.Assignment, terminalID string) (n int) {
	for _, a := range assignments {
		if a.TerminalID == terminalID {
			n++
		}
	}
	return n
}
