package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/account"
	"chequer/internal/app"
	"chequer/internal/console"
)

// account returns the group of commands about the accounts of the desk.
func (s *shell) account() *cobra.Command {
	return console.Group("account", "List, invite, recover and remove accounts of the desk",
		s.addShopFlag(list(s, "list", "List the accounts and the invitations that were not used", listAccounts,
			"NAME\tROLE\tSIGN-IN\tCREATED\tINVITATION ENDS", func(r accountRow) []any {
				return []any{cmp.Or(r.Name, "(invited)"), r.Role, strings.Join(r.SignIn, ", "), s.Time(r.CreatedAt), s.Time(r.ExpiresAt)}
			})),
		s.addShopFlag(s.accountInvite()), s.addShopFlag(s.accountRole()), s.accountRecover(), s.accountSessions(),
		s.change("remove NAME", "Remove an account and end its sessions; its entries of the audit log stay", "removed", func(call invocation, name string) error {
			a, err := call.namedAccount(name)
			if err != nil {
				return err
			}
			if err := call.core.Desk.Remove(call.Context(), a.ID); err != nil {
				return fmt.Errorf("remove %s: %w", a.Name, err)
			}
			return nil
		}))
}

// accountRow is an account, or an invitation, as it is listed.
type accountRow struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"` // "" of an invitation
	Role      account.Role `json:"role"`
	SignIn    []string     `json:"sign_in"`
	CreatedAt string       `json:"created_at"`
	ExpiresAt string       `json:"expires_at,omitempty"` // only of an invitation
}

// listAccounts returns the accounts with a role in the shop, then the open invitations to it.
func listAccounts(call invocation) ([]accountRow, error) {
	accounts, err := call.core.Desk.Team(call.Context())
	if err != nil {
		return nil, err
	}
	accounts = slices.DeleteFunc(accounts, func(a account.Account) bool { return a.Role(call.shop.ID) == "" })
	rows := convertAll(accounts, func(a account.Account) accountRow {
		return accountRow{ID: a.ID, Name: a.Name, Role: a.Role(call.shop.ID), SignIn: signInNames(a.SignIn), CreatedAt: console.Stamp(a.CreatedAt)}
	})
	invitations, err := call.core.Desk.Invitations(call.Context())
	for _, t := range invitations {
		if t.Roles[call.shop.ID] == "" {
			continue
		}
		rows = append(rows, accountRow{
			ID: t.ID, Role: t.Roles[call.shop.ID], SignIn: []string{}, CreatedAt: console.Stamp(t.CreatedAt), ExpiresAt: console.Stamp(t.ExpiresAt),
		})
	}
	return rows, err
}

// signInNames returns the sign-in methods of an account.
func signInNames(s account.SignIn) []string {
	names := []string{}
	for _, p := range s.Passkeys {
		names = append(names, fmt.Sprintf("passkey %s (%s)", p.Name, p.Host))
	}
	if s.Password != nil {
		names = append(names, "password and code")
	}
	return names
}

// namedAccount returns the account with a name.
func (call invocation) namedAccount(name string) (account.Account, error) {
	a, err := call.core.Desk.Named(call.Context(), name)
	if errors.Is(err, account.ErrNotFound) {
		err = fmt.Errorf("there is no account %q: chequer account list shows all", name)
	}
	return a, err
}

func (s *shell) accountInvite() *cobra.Command {
	var role string
	c := &cobra.Command{
		Use:     "invite",
		Short:   "Create a link with which a person creates an account with a role",
		Long:    "Creates a link that is valid for 48 hours and works once. It is shown once.\n\nThe roles are owner, manager, seller, bookkeeper and developer.",
		Example: "  chequer account invite --role bookkeeper",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) (app.DeskLink, error) {
			if err := checkWord("role", role, account.Roles); err != nil {
				return app.DeskLink{}, err
			}
			return call.deskLink(func() (account.Link, error) {
				return call.core.Desk.Invite(call.Context(), map[string]account.Role{call.shop.ID: account.Role(role)})
			})
		}, s.writeDeskLink),
	}
	c.Flags().StringVar(&role, "role", "", "what the account may do: owner, manager, seller, bookkeeper, developer")
	_ = c.MarkFlagRequired("role")
	return c
}

func (s *shell) accountRole() *cobra.Command {
	var none bool
	c := &cobra.Command{
		Use:   "role NAME [ROLE]",
		Short: "Give an account a role in a shop",
		Long:  "Gives an account another role in a shop, or its first one there. --none removes its role in the shop;\nan account without any role is removed.\n\nThe roles are owner, manager, seller, bookkeeper and developer.",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (accountRoleRow, error) {
			if none == (len(call.args) > 1) {
				return accountRoleRow{}, errors.New("give either a role or --none")
			}
			a, err := call.namedAccount(call.args[0])
			if err != nil {
				return accountRoleRow{}, err
			}
			row := accountRoleRow{Account: a.Name, Shop: call.shop.ID}
			if !none {
				row.Role = account.Role(call.args[1])
			}
			if err := call.setRole(a, row.Role); err != nil {
				return row, fmt.Errorf("change the role of %s: %w", a.Name, err)
			}
			return row, nil
		}, func(w io.Writer, r accountRoleRow) {
			fmt.Fprintf(w, "%s has the role %s in %s\n", r.Account, cmp.Or(string(r.Role), "none"), r.Shop)
		}),
	}
	c.Flags().BoolVar(&none, "none", false, "take the role in the shop away")
	return c
}

// setRole gives an account a role in the shop, or removes its role if role is "".
func (call invocation) setRole(a account.Account, role account.Role) error {
	if role == "" {
		_, err := call.core.Desk.RemoveFrom(call.Context(), a.ID, call.shop.ID)
		return err
	}
	if err := checkWord("role", string(role), account.Roles); err != nil {
		return err
	}
	return call.core.Desk.ChangeRoles(call.Context(), a.ID, func(roles map[string]account.Role) error {
		roles[call.shop.ID] = role
		return nil
	})
}

// accountRoleRow is the role of an account in a shop.
type accountRoleRow struct {
	Account string       `json:"account"`
	Shop    string       `json:"shop_id"`
	Role    account.Role `json:"role"`
}

func (s *shell) accountRecover() *cobra.Command {
	return &cobra.Command{
		Use:   "recover NAME",
		Short: "Create a link with which an account gets a new sign-in method; ends its sessions",
		Long:  "Creates a link that is valid for 30 minutes and works once. It is shown once.\nEvery session of the account ends. Its other sign-in methods stay.",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (app.DeskLink, error) {
			a, err := call.namedAccount(call.args[0])
			if err != nil {
				return app.DeskLink{}, err
			}
			return call.deskLink(func() (account.Link, error) { return call.core.Desk.Recover(call.Context(), a.Name) })
		}, s.writeDeskLink),
	}
}

// deskLink returns the address of the link that create returns. If the desk has no site, it does not call create
// and returns account.ErrInsecure.
func (call invocation) deskLink(create func() (account.Link, error)) (app.DeskLink, error) {
	if call.core.Desk.Site == (account.Site{}) {
		return app.DeskLink{}, account.ErrInsecure
	}
	link, err := create()
	if err != nil {
		return app.DeskLink{}, err
	}
	url, err := call.core.Desk.URL(link)
	return app.DeskLink{URL: url, ExpiresAt: link.Ticket.ExpiresAt}, err
}

// writeDeskLink prints a link.
func (s *shell) writeDeskLink(w io.Writer, l app.DeskLink) {
	fmt.Fprintf(w, "%s\nThe link works once, until %s. It is not shown again.\n", l.URL, s.Time(console.Stamp(l.ExpiresAt)))
}

// sessionRow is a session as it is listed.
type sessionRow struct {
	ID        string `json:"id"`
	Account   string `json:"account"`
	Method    string `json:"method"`
	Browser   string `json:"browser"`
	Address   string `json:"address"`
	CreatedAt string `json:"created_at"`
	UsedAt    string `json:"used_at"`
}

// accountSessions returns the command that lists sessions. With --end it first ends those of one account.
func (s *shell) accountSessions() *cobra.Command {
	var end bool
	c := list(s, "sessions [NAME]", "List the sessions of all accounts or of one, or end those of one", func(call invocation) ([]sessionRow, error) {
		team, err := call.core.Desk.Team(call.Context())
		if err != nil {
			return nil, err
		}
		if len(call.args) > 0 {
			a, err := call.namedAccount(call.args[0])
			if err != nil {
				return nil, err
			}
			team = slices.DeleteFunc(team, func(other account.Account) bool { return other.ID != a.ID })
		}
		if end {
			if len(call.args) == 0 {
				return nil, errors.New("--end needs the name of an account")
			}
			if _, err := call.core.Desk.EndSessions(call.Context(), team[0], ""); err != nil {
				return nil, err
			}
		}
		return listSessions(call, team)
	}, "ACCOUNT\tSIGN-IN\tBROWSER\tADDRESS\tCREATED\tLAST USED\tSESSION", func(r sessionRow) []any {
		return []any{r.Account, r.Method, r.Browser, r.Address, s.Time(r.CreatedAt), s.Time(r.UsedAt), r.ID}
	})
	c.Flags().BoolVar(&end, "end", false, "end every session of the account first")
	return c
}

func listSessions(call invocation, team []account.Account) ([]sessionRow, error) {
	rows := []sessionRow{}
	for _, a := range team {
		sessions, err := call.core.Desk.Sessions(call.Context(), a.ID)
		if err != nil {
			return nil, err
		}
		for _, session := range sessions {
			rows = append(rows, sessionRow{
				ID: session.ID(), Account: a.Name, Method: string(session.Method), Browser: session.Client.Browser, Address: session.Client.Address,
				CreatedAt: console.Stamp(session.CreatedAt), UsedAt: console.Stamp(session.UsedAt),
			})
		}
	}
	return rows, nil
}

// desk returns the group of commands about the desk.
func (s *shell) desk() *cobra.Command {
	return console.Group("desk", "Set up the desk, the merchant's web interface", &cobra.Command{
		Use:   "link",
		Short: "Create the link with which the first account of the desk is created",
		Long:  "Creates a link that is valid for 30 minutes and works once, while the desk has no account. chequer serve\nprints one at every start.",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (app.DeskLink, error) {
			link, err := call.core.DeskLink(call.Context())
			if errors.Is(err, account.ErrSetUp) {
				err = fmt.Errorf("%w: chequer account invite creates a link for another one, chequer account recover for a person who cannot sign in", err)
			}
			return link, err
		}, s.writeDeskLink),
	})
}

// writeFirstRun prints the link that creates the first account, or the reason why there is none.
func writeFirstRun(w io.Writer, link app.DeskLink, err error) {
	switch {
	case errors.Is(err, account.ErrSetUp):
	case err != nil:
		fmt.Fprintf(w, "No desk account exists, and no link was created: %v\n", err)
	default:
		fmt.Fprintf(w, "No desk account exists. Open this link within 30 minutes; it works once:\n  %s\nA new link: chequer desk link\n", link.URL)
	}
}

// deskAddress returns the address of the desk in the output of the demo: the link that creates the first
// account, or the sign-in page if there is an account.
func deskAddress(base string, newLink func() (app.DeskLink, error)) (string, error) {
	site, err := account.NewSite(base)
	if errors.Is(err, account.ErrInsecure) {
		return "needs https, or http://localhost on this machine", nil
	}
	if err != nil {
		return "", err
	}
	link, err := newLink()
	switch {
	case errors.Is(err, account.ErrSetUp):
		return site.URL("/desk"), nil
	case err != nil:
		return "", err
	}
	return link.URL + " (creates your account, works once)", nil
}
