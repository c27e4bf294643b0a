package storage_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/storage"
)

func newDeskAccount(id, name string) account.Account {
	return account.Account{
		ID: id, Name: name, Roles: map[string]account.Role{"shop": account.Owner}, CreatedAt: noon,
		SignIn: account.SignIn{Password: &account.Password{Hash: "hash", Seed: "seed", RecoveryCodes: []string{"code"}}},
	}
}

func newTicket(hash string, kind account.TicketKind) account.Ticket {
	return account.Ticket{
		Hash: hash, ID: "id of " + hash, Kind: kind, Roles: map[string]account.Role{"shop": account.Owner},
		CreatedBy: "system", CreatedAt: noon, ExpiresAt: noon.Add(time.Hour),
	}
}

// addAccount writes an account without a ticket.
func addAccount(t *testing.T, s *storage.Storage, a account.Account) {
	t.Helper()
	err := s.ChangeTeam(t.Context(), "", func(_ account.Ticket, accounts []account.Account) ([]account.Account, account.Outcome, error) {
		return append(accounts, a), account.Outcome{Entry: audit.Change{Action: "account.created", Subject: a.Name}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAccount_is_read_back(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		want := newDeskAccount("acc_1", "Maren")
		addAccount(t, s, want)
		for name, read := range map[string]func() (account.Account, error){
			"by_id":   func() (account.Account, error) { return s.Account(ctx, "acc_1") },
			"by_name": func() (account.Account, error) { return s.AccountNamed(ctx, account.NameKey(" MAREN ")) },
			"listed":  func() (account.Account, error) { accounts, err := s.Accounts(ctx); return accounts[0], err },
		} {
			got, err := read()
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
			}
		}
		if _, err := s.Account(ctx, "acc_2"); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("another account: got error %v", err)
		}
		addAccount(t, s, newDeskAccount("acc_2", "Tove"))
		err := s.ChangeTeam(ctx, "", func(_ account.Ticket, accounts []account.Account) ([]account.Account, account.Outcome, error) {
			return append(accounts, newDeskAccount("acc_3", "ＴＯＶＥ")), account.Outcome{}, nil
		})
		if !errors.Is(err, account.ErrExists) {
			t.Errorf("the same name in another width: got error %v", err)
		}
		execSQL(t, url, `UPDATE desk_accounts SET roles = '{"shop":"owner","bakery":"owner"}' WHERE id = 'acc_2'`)
		if _, err := s.Account(ctx, "acc_2"); !errors.Is(err, account.ErrTampered) {
			t.Errorf("a row with other roles: got error %v", err)
		}
	})
}

func TestChangeTeam_removes_sessions(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		addAccount(t, s, newDeskAccount("acc_1", "Maren"))
		session := account.Session{Hash: "0123456789abcdef0", AccountID: "acc_1", Method: account.ByPasskey, CreatedAt: noon, UsedAt: noon}
		if err := s.CreateSession(ctx, session, "", audit.Change{}); err != nil {
			t.Fatal(err)
		}
		err := s.ChangeTeam(ctx, "", func(account.Ticket, []account.Account) ([]account.Account, account.Outcome, error) {
			return nil, account.Outcome{Entry: audit.Change{Action: "account.removed"}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Session(ctx, session.Hash); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("the session: got error %v", err)
		}
		if accounts, err := s.Accounts(ctx); err != nil || len(accounts) != 0 {
			t.Errorf("accounts: %v, error %v", accounts, err)
		}
	})
}

// If several tickets of the first run are used at the same time, only one creates the owner.
func TestChangeTeam_uses_a_ticket_once(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		hashes := []string{"a", "b", "c"}
		for _, hash := range hashes {
			if err := s.CreateTicket(ctx, newTicket(hash, account.StartTicket), audit.Change{}); err != nil {
				t.Fatal(err)
			}
		}
		var group sync.WaitGroup
		errs := make([]error, len(hashes))
		for i, hash := range hashes {
			group.Go(func() {
				errs[i] = s.ChangeTeam(ctx, hash, func(_ account.Ticket, accounts []account.Account) ([]account.Account, account.Outcome, error) {
					return append(accounts, newDeskAccount("acc_"+hash, "Maren "+hash)), account.Outcome{}, nil
				})
			})
		}
		group.Wait()
		created := 0
		for _, err := range errs {
			switch {
			case err == nil:
				created++
			case !errors.Is(err, account.ErrTicket):
				t.Errorf("got error %v", err)
			}
		}
		accounts, err := s.Accounts(ctx)
		if err != nil || created != 1 || len(accounts) != 1 {
			t.Errorf("%d uses succeeded and made %d accounts, error %v", created, len(accounts), err)
		}
	})
}

// Of several invitations that are used with one name at the same time, one creates the account.
func TestChangeTeam_creates_a_name_once(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		errs := make([]error, 8)
		for i := range errs {
			if err := s.CreateTicket(ctx, newTicket(fmt.Sprint(i), account.InvitationTicket), audit.Change{}); err != nil {
				t.Fatal(err)
			}
		}
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() {
				errs[i] = s.ChangeTeam(ctx, fmt.Sprint(i), func(_ account.Ticket, accounts []account.Account) ([]account.Account, account.Outcome, error) {
					time.Sleep(10 * time.Millisecond) // so that others read the accounts meanwhile
					return append(accounts, newDeskAccount(fmt.Sprint("acc_", i), "Maren")), account.Outcome{}, nil
				})
			})
		}
		group.Wait()
		created := 0
		for _, err := range errs {
			switch {
			case err == nil:
				created++
			case !errors.Is(err, account.ErrExists):
				t.Errorf("got error %v, want ErrExists", err)
			}
		}
		accounts, err := s.Accounts(ctx)
		if err != nil || created != 1 || len(accounts) != 1 {
			t.Fatalf("%d uses succeeded and made %d accounts, error %v", created, len(accounts), err)
		}
		addAccount(t, s, newDeskAccount("acc_other", "Tove"))
		_, err = s.UpdateAccount(ctx, "acc_other", func(a *account.Account) (account.Outcome, error) {
			a.Name = accounts[0].Name
			return account.Outcome{}, nil
		})
		if !errors.Is(err, account.ErrExists) {
			t.Errorf("another account with the name: got error %v, want ErrExists", err)
		}
	})
}

func TestTicket_is_read_back(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		want := newTicket("a", account.InvitationTicket)
		if err := s.CreateTicket(ctx, want, audit.Change{}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Ticket(ctx, "a")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
		if tickets, err := s.Tickets(ctx, account.InvitationTicket, noon); err != nil || len(tickets) != 1 {
			t.Errorf("list: %v, error %v", tickets, err)
		}
		if tickets, err := s.Tickets(ctx, account.InvitationTicket, want.ExpiresAt); err != nil || len(tickets) != 0 {
			t.Errorf("expired: %v, error %v", tickets, err)
		}
		execSQL(t, url, "UPDATE desk_tickets SET expires_at = expires_at + 1")
		if _, err := s.Ticket(ctx, "a"); !errors.Is(err, account.ErrTampered) {
			t.Errorf("a prolonged ticket: got error %v", err)
		}
		if err := s.RemoveTicket(ctx, want.ID, audit.Change{}); err != nil {
			t.Error(err)
		}
		if err := s.RemoveTicket(ctx, want.ID, audit.Change{}); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("removed twice: got error %v", err)
		}
		if _, err := s.Ticket(ctx, "a"); !errors.Is(err, account.ErrTicket) {
			t.Errorf("removed: got error %v", err)
		}
	})
}

func TestSession_is_read_back(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		addAccount(t, s, newDeskAccount("acc_1", "Maren"))
		want := account.Session{
			Hash: "0123456789abcdef01", AccountID: "acc_1", Method: account.ByPassword, Client: account.Client{Address: "::1", Browser: "Firefox"},
			CreatedAt: noon, UsedAt: noon,
		}
		other := want
		other.Hash = "fedcba98765432100"
		for _, session := range []account.Session{want, other} {
			if err := s.CreateSession(ctx, session, "", audit.Change{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.StepUpSession(ctx, want.Hash, noon.Add(time.Minute), audit.Change{}); err != nil {
			t.Fatal(err)
		}
		if err := s.UseSession(ctx, want.Hash, noon.Add(2*time.Minute)); err != nil {
			t.Fatal(err)
		}
		want.SteppedUpAt, want.UsedAt = noon.Add(time.Minute), noon.Add(2*time.Minute)
		got, a, err := s.Session(ctx, want.Hash)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || a.Name != "Maren" {
			t.Errorf("account %s, error %v (-want +got):\n%s", a.Name, err, diff)
		}
		sessions, err := s.Sessions(ctx, "acc_1")
		if diff := cmp.Diff([]account.Session{want, other}, sessions); diff != "" || err != nil {
			t.Errorf("list: error %v (-want +got):\n%s", err, diff)
		}
		execSQL(t, url, "UPDATE desk_sessions SET stepped_up_at = 1795780801000 WHERE token_hash = 'fedcba98765432100'")
		if _, _, err := s.Session(ctx, other.Hash); !errors.Is(err, account.ErrTampered) {
			t.Errorf("a session whose step-up was changed in the database: got error %v", err)
		}
		third := want
		third.Hash = "third"
		if err := s.CreateSession(ctx, third, want.Hash, audit.Change{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Session(ctx, want.Hash); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("the former session: got error %v", err)
		}
		if n, err := s.EndSessions(ctx, "acc_1", "third", audit.Change{}); err != nil || n != 1 {
			t.Errorf("ended %d, error %v", n, err)
		}
		if err := s.EndSession(ctx, "acc_1", other.ID(), audit.Change{}); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("ended again: error %v", err)
		}
	})
}

func TestCreateSession_removes_old_sessions(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		addAccount(t, s, newDeskAccount("acc_1", "Maren"))
		for hash, session := range map[string]account.Session{
			"idle":   {CreatedAt: noon.Add(-20 * time.Hour), UsedAt: noon.Add(-12 * time.Hour)},
			"long":   {CreatedAt: noon.Add(-14 * 24 * time.Hour), UsedAt: noon},
			"active": {CreatedAt: noon.Add(-13 * 24 * time.Hour), UsedAt: noon.Add(-11 * time.Hour)},
			"new":    {CreatedAt: noon, UsedAt: noon},
		} {
			session.Hash, session.AccountID = hash, "acc_1"
			if err := s.CreateSession(t.Context(), session, "", audit.Change{}); err != nil {
				t.Fatal(err)
			}
		}
		last := account.Session{Hash: "last", AccountID: "acc_1", CreatedAt: noon, UsedAt: noon}
		if err := s.CreateSession(t.Context(), last, "", audit.Change{}); err != nil {
			t.Fatal(err)
		}
		got := rows(t, url, "SELECT token_hash FROM desk_sessions ORDER BY token_hash")
		if diff := cmp.Diff([]string{"active", "last", "new"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Of concurrent attempts only one is made.
func TestUpdateAttempts_counts_before_the_attempt(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		errs := make([]error, 6)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() {
				errs[i] = s.UpdateAttempts(t.Context(), "name x", noon, func(a *account.Attempts) error { return a.Begin(noon) })
			})
		}
		group.Wait()
		accepted := 0
		for _, err := range errs {
			if err == nil {
				accepted++
			} else if _, waits := errors.AsType[*account.WaitError](err); !waits {
				t.Errorf("got error %v", err)
			}
		}
		if accepted != 1 {
			t.Errorf("%d of %d concurrent attempts were made, want 1", accepted, len(errs))
		}
		later := noon.Add(3 * time.Hour)
		if err := s.UpdateAttempts(t.Context(), "name y", later, func(a *account.Attempts) error { return a.Begin(later) }); err != nil {
			t.Error(err)
		}
		err := s.UpdateAttempts(t.Context(), "name x", later, func(a *account.Attempts) error {
			if a.Failures != 0 {
				t.Errorf("%d old attempts remain", a.Failures)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestVerifyAuditLog_detects_changes_in_the_database(t *testing.T) {
	t.Parallel()
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := engines[name](t)
			mark := filepath.Join(t.TempDir(), "audit.json")
			s, err := storage.Open(t.Context(), url, box(t, 1), storage.Options{Upgrade: true, AuditMark: mark, Now: func() time.Time { return noon }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			ctx := audit.WithActor(t.Context(), audit.Actor{Kind: audit.Command, Name: "key add"})
			for _, subject := range []string{"a", "b", "c", "d"} {
				err := s.Record(ctx, audit.Change{Action: "key.created", Subject: subject, After: audit.Fields{"mode": "live", "label": "x"}})
				if err != nil {
					t.Fatal(err)
				}
			}
			checkLog := func(number int64, isBroken bool) {
				t.Helper()
				head, err := s.VerifyAuditLog(t.Context())
				fault, ok := errors.AsType[*audit.BrokenError](err)
				if ok != isBroken || ok && fault.Number != number || !ok && (err != nil || head.Number != number) {
					t.Errorf("verified up to %d, error %v; want %d, broken %v", head.Number, err, number, isBroken)
				}
			}
			checkLog(4, false)
			entries, err := s.AuditLog(t.Context(), 0, 2)
			if err != nil || len(entries) != 2 || entries[0].Number != 4 || entries[0].Actor.String() != "command key add" || !entries[0].At.Equal(noon) {
				t.Errorf("newest entries: %+v, error %v", entries, err)
			}
			if entries, err = s.AuditLog(t.Context(), 3, 10); err != nil || len(entries) != 2 || entries[0].Number != 2 {
				t.Errorf("entries below 3: %+v, error %v", entries, err)
			}
			for _, step := range []struct {
				damage, undo string
				number       int64
			}{
				{"UPDATE audit_log SET subject = 'x' WHERE number = 2", "UPDATE audit_log SET subject = 'b' WHERE number = 2", 2},
				{"UPDATE audit_log SET new_values = '{' WHERE number = 3", `UPDATE audit_log SET new_values = '{"label":"x","mode":"live"}' WHERE number = 3`, 3},
				{"UPDATE audit_log SET number = 9 WHERE number = 2", "UPDATE audit_log SET number = 2 WHERE number = 9", 2},
				{"UPDATE audit_log SET number = 9 WHERE number = 4", "UPDATE audit_log SET number = 4 WHERE number = 9", 4},
			} {
				execSQL(t, url, step.damage)
				checkLog(step.number, true)
				execSQL(t, url, step.undo)
				checkLog(4, false)
			}
			execSQL(t, url, "DELETE FROM audit_log WHERE number = 4")
			checkLog(4, true)
			execSQL(t, url, "UPDATE audit_head SET number = 3, mac = (SELECT mac FROM audit_log WHERE number = 3)")
			checkLog(4, true) // the mark outside the database includes the entry
			for range 3 {     // the mark stays when the log is longer than before
				if err := s.Record(ctx, audit.Change{Action: "key.created", Subject: "replaced"}); err != nil {
					t.Fatal(err)
				}
				checkLog(4, true)
			}
		})
	}
}

func TestRecord_adds_concurrent_changes_to_one_chain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		before, err := s.VerifyAuditLog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if err := s.Record(t.Context(), audit.Change{Action: "x.changed"}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if head, err := s.VerifyAuditLog(t.Context()); err != nil || head.Number != before.Number+20 {
			t.Errorf("verified up to %d, error %v, want %d", head.Number, err, before.Number+20)
		}
	})
}

// A change that fails has no entry.
func TestRecord_is_part_of_the_transaction(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		addAccount(t, s, newDeskAccount("acc_1", "Maren"))
		before, err := s.VerifyAuditLog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		refused := errors.New("refused")
		_, err = s.UpdateAccount(t.Context(), "acc_1", func(a *account.Account) (account.Outcome, error) {
			a.Name = "Tove"
			return account.Outcome{Entry: audit.Change{Action: "account.renamed"}}, refused
		})
		if !errors.Is(err, refused) {
			t.Errorf("got error %v", err)
		}
		if head, err := s.VerifyAuditLog(t.Context()); err != nil || head != before {
			t.Errorf("got %+v, error %v, want %+v", head, err, before)
		}
	})
}

// The preferences of an account are read back, and cannot be changed or removed in the database.
func TestAccount_preferences_are_read_back_and_protected(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		want := account.Preferences{NoShortcuts: true, NoticesSeen: map[string]int64{"shop": 7}}
		addAccount(t, s, newDeskAccount("acc_1", "Maren"))
		set := func(p account.Preferences) {
			t.Helper()
			_, err := s.UpdateAccount(ctx, "acc_1", func(a *account.Account) (account.Outcome, error) { a.Preferences = p; return account.Outcome{}, nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []account.Preferences{want, {}, want} {
			set(p)
			got, err := s.Account(ctx, "acc_1")
			if diff := cmp.Diff(p, got.Preferences); err != nil || diff != "" {
				t.Errorf("preferences (-want +got), error %v:\n%s", err, diff)
			}
		}
		for _, text := range []string{"", `{"notices_seen":{"shop":8}}`} {
			execSQL(t, url, "UPDATE desk_accounts SET preferences = '"+text+"'")
			if _, err := s.Account(ctx, "acc_1"); !errors.Is(err, account.ErrTampered) {
				t.Errorf("preferences %q in the database: got error %v", text, err)
			}
		}
	})
}

// The entries about the security of a shop are found among entries about other changes and other shops.
func TestSecurityEntries_leave_out_other_changes_and_shops(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		for _, c := range []audit.Change{
			{Action: "account.created", Subject: "Maren"}, {MerchantID: "shop", Action: "wallet.added", Subject: "wlt_1"}, {MerchantID: "other", Action: "wallet.added"},
			{Action: "session.created", Subject: "Maren"}, {Action: "account.passkey_added", Subject: "Tove"}, {MerchantID: "shop", Action: "link.created"},
		} {
			if err := s.Record(ctx, c); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"account.passkey_added Tove", "wallet.added wlt_1", "account.created Maren"}
		for limit := 1; limit <= 4; limit++ {
			var got []string
			for below := int64(math.MaxInt64); ; {
				entries, err := s.SecurityEntries(ctx, "shop", below, limit)
				if err != nil || len(entries) > limit {
					t.Fatalf("%d entries of at most %d, error %v", len(entries), limit, err)
				}
				for _, e := range entries {
					got, below = append(got, e.Change.Action+" "+e.Change.Subject), e.Number
				}
				if len(entries) < limit {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
			}
		}
	})
}
