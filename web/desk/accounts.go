package desk

import (
	"net/http"
	"slices"
	"time"

	"chequer/internal/account"
	"chequer/views"
	"chequer/views/desk"
)

// accounts lists the accounts of the shop.
func (v *visit) accounts() error { return v.showAccounts(http.StatusOK, nil) }

func (v *visit) showAccounts(status int, problem error) error {
	f, err := v.frame(v.text("desk.accounts"), v.settings())
	if err != nil {
		return err
	}
	page := desk.Accounts{
		Frame: f, Tabs: v.tabs("/accounts"), Problem: v.problem(problem),
		Invite: desk.Invite{Action: v.below("/accounts/invite"), Role: v.roleChoice(account.Seller, problem)},
	}
	if page.Rows, err = v.accountRows(); err != nil {
		return err
	}
	if page.Invitations, err = v.invitations(); err != nil {
		return err
	}
	page.Roles, page.Permissions = v.permissions()
	return render(v, status, desk.AccountsPage(page))
}

// accountRows returns the accounts with a role in the shop.
func (v *visit) accountRows() ([]desk.AccountRow, error) {
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
			Name: a.Name, URL: v.below("/accounts/" + a.ID), Role: v.roleName(a.Role(v.shop.ID)), Owner: a.Role(v.shop.ID) == account.Owner,
			SignIn: v.signInText(a), LastUsed: v.ago(used),
		})
	}
	return rows, nil
}

// team returns the accounts with a role in the shop.
func (v *visit) team() ([]account.Account, error) {
	all, err := v.Accounts.Team(v.Request().Context())
	return slices.DeleteFunc(all, func(a account.Account) bool { return a.Role(v.shop.ID) == "" }), err
}

// lastUsed returns the last use of an account's sessions.
func (v *visit) lastUsed(a account.Account) (time.Time, error) {
	sessions, err := v.Accounts.Sessions(v.Request().Context(), a.ID)
	if err != nil || len(sessions) == 0 {
		return time.Time{}, err
	}
	return sessions[0].UsedAt, nil
}

// invitations returns the invitations to the shop that were not used.
func (v *visit) invitations() ([]desk.Invitation, error) {
	all, err := v.Accounts.Invitations(v.Request().Context())
	var list []desk.Invitation
	for _, t := range all {
		role := t.Roles[v.shop.ID]
		if role == "" {
			continue
		}
		list = append(list, desk.Invitation{
			Name: v.roleName(role), Text: v.text("desk.invitation.text", "By", t.CreatedBy, "Time", v.clock(t.ExpiresAt)),
			Revoke: desk.Button{Action: v.below("/accounts/withdraw"), Text: v.text("desk.invitation.withdraw"), Whose: v.roleName(role), Hidden: []desk.Hidden{{Name: "id", Value: t.ID}}},
		})
	}
	return list, err
}

func (v *visit) roleChoice(chosen account.Role, problem error) desk.Choice {
	c := desk.Choice{Name: "role", Label: v.text("desk.role"), Error: v.fieldProblem(problem, "role")}
	for _, r := range account.Roles {
		c.Options = append(c.Options, desk.Option{Value: string(r), Text: v.roleName(r), Chosen: r == chosen})
	}
	return c
}

// permissionRows are the permissions that the table shows, with the keys of their names.
var permissionRows = []struct {
	permission account.Permission
	name       string
}{
	{account.ViewPayments, "desk.permission.payments"},
	{account.Sell, "desk.permission.sell"},
	{account.Decide, "desk.permission.decide"},
	{account.DecideHighRisk, "desk.permission.risk"},
	{account.Export, "desk.permission.export"},
	{account.Configure, "desk.permission.configure"},
	{account.ManageKeys, "desk.permission.keys"},
	{account.ManageWallets, "desk.permission.wallets"},
	{account.ManageAccounts, "desk.permission.accounts"},
	{account.ViewLog, "desk.permission.log"},
}

// permissions returns the table of what each role may do.
func (v *visit) permissions() (roles []string, rows []desk.Permission) {
	for _, r := range account.Roles {
		roles = append(roles, v.roleName(r))
	}
	for _, p := range permissionRows {
		row := desk.Permission{Name: v.text(p.name)}
		for _, r := range account.Roles {
			row.Grants = append(row.Grants, v.grant(r.Grant(p.permission)))
		}
		rows = append(rows, row)
	}
	return roles, rows
}

func (v *visit) grant(g account.Grant) desk.Grant {
	switch g {
	case account.Allowed:
		return desk.Grant{Text: v.text("desk.grant.yes")}
	case account.StepUp:
		return desk.Grant{Text: v.text("desk.grant.stepup")}
	}
	return desk.Grant{Text: v.text("desk.grant.no"), Denied: true}
}

// invite creates an invitation and shows its link, once.
func (v *visit) invite() error {
	role := account.Role(v.FormValue("role"))
	link, err := v.Accounts.Invite(v.Request().Context(), map[string]account.Role{v.shop.ID: role})
	if v.known(err) {
		return v.showAccounts(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	address, err := v.Accounts.URL(link)
	if err != nil {
		return err
	}
	f, err := v.frame(v.text("desk.invite.done"), v.settings())
	if err != nil {
		return err
	}
	return render(v, http.StatusOK, desk.InvitedPage(desk.Invited{
		Frame: f, Heading: v.text("desk.invite.done"), Lede: v.text("desk.invite.done.text", "Role", v.roleName(role), "Time", v.clock(link.Ticket.ExpiresAt)),
		Link: address, Done: views.Link{Text: v.text("desk.accounts"), URL: v.below("/accounts")},
	}))
}

// withdraw removes an invitation to the shop.
func (v *visit) withdraw() error {
	id := v.FormValue("id")
	all, err := v.Accounts.Invitations(v.Request().Context())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(t account.Ticket) bool { return t.ID == id && t.Roles[v.shop.ID] != "" }) {
		return account.ErrNotFound
	}
	return v.changedTeam(v.Accounts.Withdraw(v.Request().Context(), id), "withdrawn")
}

// changedTeam answers a change of the accounts.
func (v *visit) changedTeam(err error, result string) error {
	if v.known(err) {
		return v.showAccounts(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	return v.done(v.below("/accounts"), result)
}

// member returns the account in the path, which must have a role in the shop.
func (v *visit) member() (account.Account, error) {
	a, err := v.Accounts.Account(v.Request().Context(), v.Param("account"))
	if err == nil && a.Role(v.shop.ID) == "" {
		err = account.ErrNotFound
	}
	return a, err
}

// otherAccount shows one account.
func (v *visit) otherAccount() error {
	a, err := v.member()
	if err != nil {
		return err
	}
	return v.showMember(http.StatusOK, a, nil)
}

func (v *visit) showMember(status int, a account.Account, problem error) error {
	f, err := v.frame(a.Name, v.settings())
	if err != nil {
		return err
	}
	used, err := v.lastUsed(a)
	if err != nil {
		return err
	}
	return render(v, status, desk.MemberPage(desk.Member{
		Frame: f, Back: views.Link{Text: v.text("desk.accounts"), URL: v.below("/accounts")}, Problem: v.problem(problem), Member: a.Name,
		Facts: []desk.Fact{
			{Name: v.text("desk.signin.method"), Value: v.signInText(a)},
			{Name: v.text("desk.accounts.active"), Value: v.ago(used)},
			{Name: v.text("desk.accounts.created"), Value: v.clock(a.CreatedAt)},
		},
		SetRole: v.below("/accounts/" + a.ID + "/role"), Role: v.roleChoice(a.Role(v.shop.ID), problem),
		Remove: v.below("/accounts/" + a.ID + "/remove"), RemoveAsk: v.text("desk.accounts.remove", "Name", a.Name),
		RemoveDo: v.text("desk.accounts.remove.button", "Name", a.Name),
		Result:   []string{v.text("desk.accounts.remove.sessions"), v.text("desk.accounts.remove.log")},
	}))
}

// setRole sets the role of an account in the shop.
func (v *visit) setRole() error {
	a, err := v.member()
	if err != nil {
		return err
	}
	role := account.Role(v.FormValue("role"))
	err = v.Accounts.ChangeRoles(v.Request().Context(), a.ID, func(roles map[string]account.Role) error {
		if roles[v.shop.ID] == "" { // removed meanwhile
			return account.ErrNotFound
		}
		roles[v.shop.ID] = role
		return nil
	})
	if v.known(err) {
		return v.showMember(http.StatusUnprocessableEntity, a, err)
	}
	return v.changedTeam(err, "role")
}

// removeAccount removes an account from the shop: the whole account if it has no role elsewhere.
func (v *visit) removeAccount() error {
	a, err := v.member()
	if err != nil {
		return err
	}
	removed, err := v.Accounts.RemoveFrom(v.Request().Context(), a.ID, v.shop.ID)
	if v.known(err) {
		return v.showMember(http.StatusUnprocessableEntity, a, err)
	}
	if removed && a.ID == v.account.ID {
		v.forgetSession(v)
		return v.Redirect(seeOther, v.path("/desk"))
	}
	return v.changedTeam(err, "gone")
}
