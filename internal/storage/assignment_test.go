package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/merchant"
	"chequer/internal/storage"
)

// addTeam writes accounts in place of all others.
func addTeam(t *testing.T, s *storage.Storage, accounts ...account.Account) {
	t.Helper()
	err := s.ChangeTeam(t.Context(), "", func(account.Ticket, []account.Account) ([]account.Account, account.Outcome, error) {
		return accounts, account.Outcome{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// newSeller returns an account with the role seller in the shop.
func newSeller(id, name string) account.Account {
	a := newDeskAccount(id, name)
	a.Roles = map[string]account.Role{"shop": account.Seller, "other": account.Owner}
	return a
}

func newAssignment(terminalID, accountID string) merchant.Assignment {
	return merchant.Assignment{MerchantID: "shop", TerminalID: terminalID, AccountID: accountID, Secret: "secret of " + terminalID + accountID, CreatedAt: noon}
}

func TestAssignments_end_with_the_role_account_or_terminal(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		bar := merchant.Terminal{ID: "bar", MerchantID: "shop", Mode: merchant.Live, Name: "Bar", Currency: "EUR", CreatedAt: noon}
		door := merchant.Terminal{ID: "door", MerchantID: "shop", Mode: merchant.Test, Name: "Door", Currency: "EUR", CreatedAt: noon.Add(time.Second)}
		for _, terminal := range []merchant.Terminal{bar, door} {
			if err := s.CreateTerminal(ctx, terminal, "hash of "+terminal.ID); err != nil {
				t.Fatal(err)
			}
		}
		addTeam(t, s, newDeskAccount("owner", "Maren"), newSeller("jonas", "Jonas"), newSeller("ida", "Ida"))
		for _, a := range []merchant.Assignment{newAssignment("bar", "owner"), newAssignment("bar", "absent"), newAssignment("absent", "jonas"),
			{MerchantID: "other", TerminalID: "bar", AccountID: "jonas", CreatedAt: noon}} {
			if err := s.AddAssignment(ctx, a, "hash"); !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("%+v: error %v, want ErrNotFound", a, err)
			}
		}
		for _, a := range []merchant.Assignment{newAssignment("bar", "jonas"), newAssignment("door", "jonas"), newAssignment("bar", "ida")} {
			if err := s.AddAssignment(ctx, a, "hash of "+a.TerminalID+a.AccountID); err != nil {
				t.Fatal(err)
			}
		}
		before, err := s.VerifyAuditLog(ctx)
		if err != nil {
			t.Fatal(err)
		}
		again := newAssignment("bar", "jonas")
		again.Secret = "another secret"
		if err := s.AddAssignment(ctx, again, "another hash"); err != nil {
			t.Errorf("the second assignment: %v", err)
		}
		if after, err := s.VerifyAuditLog(ctx); err != nil || after != before {
			t.Errorf("the second assignment is in the audit log, error %v", err)
		}
		if secret, err := s.AssignmentSecret(ctx, "shop", "bar", "jonas"); err != nil || secret != "secret of barjonas" {
			t.Errorf("the secret is %q, error %v", secret, err)
		}
		if stored := rows(t, url, "SELECT secret FROM terminal_assignments WHERE secret LIKE '%secret of%'"); len(stored) != 0 {
			t.Errorf("the secrets are stored as %q", stored)
		}
		if found, err := s.Terminal(ctx, "hash of barjonas"); err != nil || !cmp.Equal(found, bar) {
			t.Errorf("the terminal of an assignment is %+v, error %v", found, err)
		}
		if own, err := s.AssignedTerminals(ctx, "shop", "jonas"); err != nil || !cmp.Equal(own, []merchant.Terminal{bar, door}) {
			t.Errorf("the terminals are %+v, error %v", own, err)
		}
		if own, err := s.AssignedTerminals(ctx, "other", "jonas"); err != nil || len(own) != 0 {
			t.Errorf("the terminals in another shop are %+v, error %v", own, err)
		}
		pairs := func() (all []string) {
			t.Helper()
			assignments, err := s.Assignments(ctx, "shop")
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range assignments {
				all = append(all, a.TerminalID+" "+a.AccountID)
			}
			return all
		}
		if diff := cmp.Diff([]string{"bar ida", "bar jonas", "door jonas"}, pairs()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if err := s.RemoveAssignment(ctx, "shop", "door", "ida"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("removal of an absent assignment: %v", err)
		}
		if err := s.RemoveAssignment(ctx, "shop", "door", "jonas"); err != nil {
			t.Error(err)
		}
		entries, err := s.AuditLog(ctx, 0, 1)
		want := audit.Change{MerchantID: "shop", Action: "terminal.unassigned", Subject: "door", Before: audit.Fields{"account": "Jonas"}}
		if err != nil || !cmp.Equal(entries[0].Change, want) {
			t.Errorf("the entry is %+v, error %v, want %+v", entries, err, want)
		}

		manager := newSeller("ida", "Ida")
		manager.Roles["shop"] = account.Manager
		addTeam(t, s, newDeskAccount("owner", "Maren"), newSeller("jonas", "Jonas"), manager)
		if diff := cmp.Diff([]string{"bar jonas"}, pairs()); diff != "" {
			t.Errorf("after the change of a role (-want +got):\n%s", diff)
		}
		if err := s.RemoveTerminal(ctx, "other", "bar"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("removal by another shop: %v", err)
		}
		if err := s.RemoveTerminal(ctx, "shop", "bar"); err != nil {
			t.Fatal(err)
		}
		for _, hash := range []string{"hash of bar", "hash of barjonas"} {
			if found, err := s.Terminal(ctx, hash); !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("%s: the removed terminal is %+v, error %v", hash, found, err)
			}
		}
		if err := s.AddAssignment(ctx, newAssignment("door", "jonas"), "hash"); err != nil {
			t.Fatal(err)
		}
		addTeam(t, s, newDeskAccount("owner", "Maren"))
		if got := pairs(); len(got) != 0 {
			t.Errorf("after the removal of the account: %q", got)
		}
	})
}

// An assignment that is written while its terminal, its role or its account is removed does not outlive them.
func TestAddAssignment_while_others_remove(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		for i := range 10 {
			id := fmt.Sprint("pos", i)
			if err := s.CreateTerminal(ctx, merchant.Terminal{ID: id, MerchantID: "shop", Mode: merchant.Live, Currency: "EUR", CreatedAt: noon}, "hash of "+id); err != nil {
				t.Fatal(err)
			}
			addTeam(t, s, newDeskAccount("owner", "Maren"), newSeller("jonas", "Jonas"))
			var group errgroup.Group
			group.Go(func() error {
				err := s.AddAssignment(ctx, newAssignment(id, "jonas"), "secret of "+id)
				if errors.Is(err, merchant.ErrNotFound) {
					return nil
				}
				return err
			})
			if i%2 == 0 {
				group.Go(func() error { return s.RemoveTerminal(ctx, "shop", id) })
			}
			group.Go(func() error {
				return s.ChangeTeam(ctx, "", func(_ account.Ticket, all []account.Account) ([]account.Account, account.Outcome, error) {
					return slices.DeleteFunc(all, func(a account.Account) bool { return a.ID == "jonas" }), account.Outcome{}, nil
				})
			})
			if err := group.Wait(); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
			if left, err := s.Assignments(ctx, "shop"); err != nil || len(left) != 0 {
				t.Fatalf("round %d: the assignments are %+v, error %v", i, left, err)
			}
		}
	})
}
