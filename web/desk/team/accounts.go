package team

import (
	"net/http"
	"slices"
	"time"

	"chequer/internal/account"
	"chequer/views"
	"chequer/views/desk"
)

// accounts lists the accounts of the shop.
func (v *page) accounts() error { return v.showAccounts(http.StatusOK, nil) }

func (v *page) showAccounts(status int, problem error) error {
	f, err := v.Frame(v.Text("desk.accounts"), v.SettingsPath())
	if err != nil {
		return err
	}
	page := desk.Accounts{
		Frame: f, Tabs: v.SettingsTabs("/accounts"), Problem: v.Problem(problem),
		Invite: desk.Invite{Action: v.Below("/accounts/invite"), Role: v.roleChoice(account.Seller, problem)},
	}
	if page.Rows, err = v.accountRows(); err != nil {
		return err
	}
	if page.Invitations, err = v.invitations(); err != nil {
		return err
	}
	page.Roles, page.Permissions = v.permissions()
	return v.Show(status, desk.AccountsPage(page))
}

// accountRows returns the accounts with a role in the shop.
func (v *page) accountRows() ([]desk.AccountRow, error) {
	team, err := v.team()
	if err != nil {
		return nil, err
	}
	var rows []desk.AccountRow
	for _, a := range team {
		used, err := v.lastUsed(a)
		if err != nil {
			return nil, err
		}
		rows = append(rows, desk.AccountRow{
			Name: a.Name, URL: v.Below("/accounts/" + a.ID), Role: v.RoleName(a.Role(v.Shop.ID)), Owner: a.Role(v.Shop.ID) == account.Owner,
			SignIn: v.signInText(a), LastUsed: v.Ago(used),
		})
	}
	return rows, nil
}

// team returns the accounts with a role in the shop.
func (v *page) team() ([]account.Account, error) {
	all, err := v.Accounts.Team(v.Request().Context())
	return slices.DeleteFunc(all, func(a account.Account) bool { return a.Role(v.Shop.ID) == "" }), err
}

// lastUsed returns the time of the last use of an account's sessions; the zero time if it has none.
func (v *page) lastUsed(a account.Account) (time.Time, error) {
	sessions, err := v.Accounts.Sessions(v.Request().Context(), a.ID)
	if err != nil || len(sessions) == 0 {
		return time.Time{}, err
	}
	return sessions[0].UsedAt, nil
}

// invitations returns the invitations to the shop that were not used.
func (v *page) invitations() ([]desk.Invitation, error) {
	all, err := v.Accounts.Invitations(v.Request().Context())
	var list []desk.Invitation
	for _, t := range all {
		role := t.Roles[v.Shop.ID]
		if role == "" {
			continue
		}
		list = append(list, desk.Invitation{
			Name: v.RoleName(role), Text: v.Text("desk.invitation.text", "By", t.CreatedBy, "Time", v.Clock(t.ExpiresAt)),
			Revoke: desk.Button{Action: v.Below("/accounts/withdraw"), Text: v.Text("desk.invitation.withdraw"), Subject: v.RoleName(role), Hidden: []desk.Hidden{{Name: "id", Value: t.ID}}},
		})
	}
	return list, err
}

func (v *page) roleChoice(chosen account.Role, problem error) desk.Choice {
	c := desk.Choice{Name: "role", Label: v.Text("desk.role"), Error: v.FieldProblem(problem, "role")}
	for _, r := range account.Roles {
		c.Options = append(c.Options, desk.Option{Value: string(r), Text: v.RoleName(r), Chosen: r == chosen})
	}
	return c
}

// permissionRows are all permissions, in the order of the table, with the keys of their names.
var permissionRows = []struct {
	permission account.Permission
	name       string
}{
	{account.ViewPayments, "desk.permission.payments"},
	{account.ViewOwnTerminals, "desk.permission.own"},
	{account.Sell, "desk.permission.sell"},
	{account.Decide, "desk.permission.decide"},
	{account.DecideHighRisk, "desk.permission.risk"},
	{account.RemoveNotes, "desk.permission.notes"},
	{account.Export, "desk.permission.export"},
	{account.Configure, "desk.permission.configure"},
	{account.ManageKeys, "desk.permission.keys"},
	{account.ViewWallets, "desk.permission.wallets.view"},
	{account.ManageWallets, "desk.permission.wallets"},
	{account.ManageAccounts, "desk.permission.accounts"},
	{account.ManageShops, "desk.permission.shops"},
	{account.BackUp, "desk.permission.backup"},
	{account.ManageSignIn, "desk.permission.signin"},
	{account.ViewHealth, "desk.permission.health"},
	{account.ViewLog, "desk.permission.log"},
	{account.ExportLog, "desk.permission.log.export"},
}

// permissions returns the table of what each role may do.
func (v *page) permissions() (roles []string, rows []desk.Permission) {
	for _, r := range account.Roles {
		roles = append(roles, v.RoleName(r))
	}
	for _, p := range permissionRows {
		row := desk.Permission{Name: v.Text(p.name)}
		for _, r := range account.Roles {
			row.Grants = append(row.Grants, v.grantText(r.Grant(p.permission)))
		}
		rows = append(rows, row)
	}
	return roles, rows
}

func (v *page) grantText(g account.Grant) desk.Grant {
	switch g {
	case account.Allowed:
		return desk.Grant{Text: v.Text("desk.grant.yes")}
	case account.StepUp:
		return desk.Grant{Text: v.Text("desk.grant.stepup")}
	}
	return desk.Grant{Text: v.Text("desk.grant.no"), Denied: true}
}

// invite creates an invitation and shows its link, once.
func (v *page) invite() error {
	role := account.Role(v.FormValue("role"))
	link, err := v.Accounts.Invite(v.Request().Context(), map[string]account.Role{v.Shop.ID: role})
	if v.IsShownInForm(err) {
		return v.showAccounts(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	address, err := v.Accounts.URL(link)
	if err != nil {
		return err
	}
	f, err := v.Frame(v.Text("desk.invite.done"), v.SettingsPath())
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, desk.InvitedPage(desk.Invited{
		Frame: f, Heading: v.Text("desk.invite.done"), Intro: v.Text("desk.invite.done.text", "Role", v.RoleName(role), "Time", v.Clock(link.Ticket.ExpiresAt)),
		Link: address, Copy: v.CopyButton("link"), Done: views.Link{Text: v.Text("desk.accounts"), URL: v.Below("/accounts")},
	}))
}

// withdraw removes an invitation to the shop.
func (v *page) withdraw() error {
	id := v.FormValue("id")
	all, err := v.Accounts.Invitations(v.Request().Context())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(t account.Ticket) bool { return t.ID == id && t.Roles[v.Shop.ID] != "" }) {
		return account.ErrNotFound
	}
	return v.answerTeamChange(v.Accounts.Withdraw(v.Request().Context(), id), "withdrawn")
}

// answerTeamChange answers a change of the accounts of the shop, which returned err.
func (v *page) answerTeamChange(err error, result string) error {
	if v.IsShownInForm(err) {
		return v.showAccounts(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	return v.Done(v.Below("/accounts"), result)
}

// member returns the account in the path, which must have a role in the shop.
func (v *page) member() (account.Account, error) {
	a, err := v.Accounts.Account(v.Request().Context(), v.Param("account"))
	if err == nil && a.Role(v.Shop.ID) == "" {
		err = account.ErrNotFound
	}
	return a, err
}

// otherAccount shows one account.
func (v *page) otherAccount() error {
	a, err := v.member()
	if err != nil {
		return err
	}
	return v.showMember(http.StatusOK, a, nil)
}

func (v *page) showMember(status int, a account.Account, problem error) error {
	f, err := v.Frame(a.Name, v.SettingsPath())
	if err != nil {
		return err
	}
	used, err := v.lastUsed(a)
	if err != nil {
		return err
	}
	return v.Show(status, desk.MemberPage(desk.Member{
		Frame: f, Back: views.Link{Text: v.Text("desk.accounts"), URL: v.Below("/accounts")}, Problem: v.Problem(problem), Member: a.Name,
		Facts: []desk.Fact{
			{Name: v.Text("desk.signin.method"), Value: v.signInText(a)},
			{Name: v.Text("desk.accounts.active"), Value: v.Ago(used)},
			{Name: v.Text("desk.accounts.created"), Value: v.Clock(a.CreatedAt)},
		},
		SetRole: v.Below("/accounts/" + a.ID + "/role"), Role: v.roleChoice(a.Role(v.Shop.ID), problem),
		Remove: v.Below("/accounts/" + a.ID + "/remove"), RemoveAsk: v.Text("desk.accounts.remove", "Name", a.Name),
		RemoveDo: v.Text("desk.accounts.remove.button", "Name", a.Name),
		Result:   []string{v.Text("desk.accounts.remove.sessions"), v.Text("desk.accounts.remove.log")},
	}))
}

// setRole sets the role of an account in the shop.
func (v *page) setRole() error {
	a, err := v.member()
	if err != nil {
		return err
	}
	role := account.Role(v.FormValue("role"))
	err = v.Accounts.ChangeRoles(v.Request().Context(), a.ID, func(roles map[string]account.Role) error {
		if roles[v.Shop.ID] == "" { // removed meanwhile
			return account.ErrNotFound
		}
		roles[v.Shop.ID] = role
		return nil
	})
	if v.IsShownInForm(err) {
		return v.showMember(http.StatusUnprocessableEntity, a, err)
	}
	return v.answerTeamChange(err, "role")
}

// removeAccount removes the role of an account in the shop. It removes the whole account if that has no role in another
// shop.
func (v *page) removeAccount() error {
	a, err := v.member()
	if err != nil {
		return err
	}
	removed, err := v.Accounts.RemoveFrom(v.Request().Context(), a.ID, v.Shop.ID)
	if v.IsShownInForm(err) {
		return v.showMember(http.StatusUnprocessableEntity, a, err)
	}
	if removed && a.ID == v.Account.ID {
		v.ForgetSession()
		return v.Redirect(http.StatusSeeOther, v.Address("/desk"))
	}
	return v.answerTeamChange(err, "gone")
}
