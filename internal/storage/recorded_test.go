package storage_test

import (
	"context"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/books"
	"chequer/internal/casework"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/notify"
	"chequer/internal/proof"
	"chequer/internal/storage"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/recorded"
	"chequer/internal/theme"
)

// recordedChanges are the methods that accounts, API keys and commands call to change something, with
// the actions of their entries.
func recordedChanges(ctx context.Context, t *testing.T, s *storage.Storage) []struct {
	method, want string
	do           func() error
} {
	t.Helper()
	endpoint, link := newEndpoint("e"), merchant.Link{Slug: "tips", MerchantID: "shop", Mode: merchant.Live, CreatedAt: noon}
	product := merchant.Product{Slug: "soap", MerchantID: "shop", Mode: merchant.Live, Name: "Soap", Price: money.FromCents(500, money.EUR), CreatedAt: noon}
	exchange := merchant.ExchangeAccount{ID: "x", MerchantID: "shop", Exchange: "kraken", Key: "key", Secret: "exchange secret", CreatedAt: noon}
	team := func(accounts ...account.Account) func() error {
		return func() error {
			return s.ChangeTeam(ctx, "", func(account.Ticket, []account.Account) ([]account.Account, account.Outcome, error) {
				return accounts, account.Outcome{Entry: audit.Change{Action: "account.created"}}, nil
			})
		}
	}
	session := account.Session{Hash: "0123456789abcdef", AccountID: "acc_1", CreatedAt: noon, UsedAt: noon}
	wallet := func(change merchant.Change, id, key string) func() error {
		return func() error {
			_, err := s.ChangeWallet(ctx, "shop", merchant.Live, "BTC", func(active merchant.Wallet) (merchant.WalletChange, error) {
				w := merchant.Wallet{ID: id, MerchantID: "shop", Mode: merchant.Live, Asset: "BTC", Key: key, Counter: key, CreatedAt: noon}
				return merchant.WalletChange{Change: change, Wallet: w, At: noon, EventID: "event of " + string(change), Body: []byte("{}")}, nil
			})
			return err
		}
	}
	return []struct {
		method, want string
		do           func() error
	}{
		{"CreateShop", "shop.created", func() error {
			return s.CreateShop(ctx, merchant.NewShop{Merchant: merchant.Merchant{ID: "third", Name: "Third", CreatedAt: noon}})
		}},
		{"RenameMerchant", "shop.changed", func() error { return s.RenameMerchant(ctx, "shop", "", "Nord") }},
		{"ChangeChoices", "shop.changed", func() error {
			_, err := s.ChangeChoices(ctx, "shop", func(merchant.Choices) (merchant.Choices, error) {
				return merchant.Choices{merchant.SettingStorefront: "on"}, nil
			})
			return err
		}},
		{"CreateKey", "key.created", func() error {
			return s.CreateKey(ctx, merchant.Key{ID: "k", MerchantID: "shop", Key: "public", Secret: "key secret", Mode: merchant.Live, CreatedAt: noon})
		}},
		{"RevokeKey", "key.revoked", func() error { return s.RevokeKey(ctx, "shop", "public", noon) }},
		{"CreateWallet", "wallet.added", func() error {
			return s.CreateWallet(ctx, merchant.Wallet{ID: "w0", MerchantID: "shop", Mode: merchant.Test, Asset: "BTC", Key: "t", Counter: "t", Secret: "wallet secret", CreatedAt: noon})
		}},
		{"ChangeWallet", "wallet.added", wallet(merchant.WalletAdded, "w1", "a")},
		{"CreateEndpoint", "endpoint.created", func() error { return s.CreateEndpoint(ctx, endpoint) }},
		{"UpdateEndpoint", "endpoint.changed", func() error {
			_, err := s.UpdateEndpoint(ctx, "shop", endpoint.ID, func(e *merchant.Endpoint) error { e.Paused = true; return nil })
			return err
		}},
		{"AddTestDelivery", "endpoint.tested", func() error { return s.AddTestDelivery(ctx, endpoint, "evt_test", []byte("{}"), noon) }},
		{"Resend", "endpoint.resent", func() error { return s.Resend(ctx, endpoint, "evt_test", noon) }},
		{"ResendAfter", "endpoint.resent", func() error { _, _, err := s.ResendAfter(ctx, endpoint, 0, 10, noon); return err }},
		{"RetryPending", "endpoint.retried", func() error {
			_, err := s.RetryPending(ctx, endpoint, noon.Add(-time.Hour), noon.Add(-time.Hour), 10)
			return err
		}},
		{"CreateLink", "link.created", func() error { return s.CreateLink(ctx, link) }},
		{"UpdateLink", "link.changed", func() error {
			_, err := s.UpdateLink(ctx, "shop", merchant.Live, "tips", func(l *merchant.Link) error { l.MaxUses = 3; return nil })
			return err
		}},
		{"RemoveLink", "link.removed", func() error {
			return s.RemoveLink(ctx, "shop", merchant.Live, "tips", noon, noon, unchecked[merchant.Link])
		}},
		{"RestoreLink", "link.restored", func() error { return s.RestoreLink(ctx, "shop", merchant.Live, "tips", noon) }},
		{"CreateProduct", "product.created", func() error { return s.CreateProduct(ctx, product) }},
		{"UpdateProduct", "product.changed", func() error {
			_, err := s.UpdateProduct(ctx, "shop", merchant.Live, "soap", func(p *merchant.Product) error { p.Name = "Soaps"; return nil })
			return err
		}},
		{"RemoveProduct", "product.removed", func() error { return s.RemoveProduct(ctx, "shop", merchant.Live, "soap", unchecked[merchant.Product]) }},
		{"CreateTerminal", "terminal.created", func() error {
			return s.CreateTerminal(ctx, merchant.Terminal{ID: "pos", MerchantID: "shop", Name: "Bar", Currency: "EUR", CreatedAt: noon}, "terminal hash")
		}},
		{"SetTheme", "theme.changed", func() error { return s.SetTheme(ctx, "shop", "", theme.Theme{Name: "Nord"}, noon) }},
		{"CreateExchangeAccount", "exchange_account.created", func() error { return s.CreateExchangeAccount(ctx, exchange) }},
		{"UpdateExchangeAccount", "exchange_account.changed", func() error {
			_, err := s.UpdateExchangeAccount(ctx, "shop", func(a *merchant.ExchangeAccount) error { a.Active = true; return nil })
			return err
		}},
		{"CreateProofKey", "proof_key.created", func() error {
			return proof.NewKeyring(s, func() time.Time { return noon }).Ensure(ctx)
		}},
		{"UpdateInvoice", "invoice.changed", func() error {
			_, err := s.UpdateInvoice(ctx, "a", invoice.Lease{}, func(inv *invoice.Invoice) error { inv.AcceptedAt, inv.AcceptedBy = noon, "key"; return nil })
			return err
		}},
		{"AddNote", "note.added", func() error {
			return s.AddNote(ctx, casework.Note{ID: "n", InvoiceID: "a", MerchantID: "shop", Text: "secret note"})
		}},
		{"RemoveNote", "note.removed", func() error {
			return s.RemoveNote(ctx, casework.Note{ID: "n", InvoiceID: "a", MerchantID: "shop", Text: "secret note"})
		}},
		{"SetPluginMetadata", "invoice.changed", func() error {
			return s.SetPluginMetadata(ctx, "shop", "a", []byte(`{"buyerName":"secret buyer"}`))
		}},
		{"SetPluginArchived", "invoice.changed", func() error { return s.SetPluginArchived(ctx, "shop", "a", noon) }},
		{"Snooze", "case.snoozed", func() error {
			inv := update(t, t.Context(), s, "a", func(inv *invoice.Invoice) { inv.State.Exceptions = []invoice.Exception{invoice.Overpaid} })
			return s.Snooze(ctx, casework.Snooze{InvoiceID: "a", MerchantID: "shop", Until: noon}, inv.Version)
		}},
		{"EndSnooze", "case.snooze_ended", func() error { return s.EndSnooze(ctx, "shop", "a") }},
		{"ChangeTeam", "account.created", team(newDeskAccount("acc_1", "Maren"), newSeller("acc_2", "Jonas"))},
		{"AddAssignment", "terminal.assigned", func() error { return s.AddAssignment(ctx, newAssignment("pos", "acc_2"), "terminal hash of it") }},
		{"RemoveAssignment", "terminal.unassigned", func() error { return s.RemoveAssignment(ctx, "shop", "pos", "acc_2") }},
		{"RemoveTerminal", "terminal.removed", func() error { return s.RemoveTerminal(ctx, "shop", "pos") }},
		{"UpdateAccount", "account.changed", func() error {
			_, err := s.UpdateAccount(ctx, "acc_1", func(*account.Account) (account.Outcome, error) {
				return account.Outcome{Entry: audit.Change{Action: "account.changed"}}, nil
			})
			return err
		}},
		{"UpdateNotificationSettings", "notifications.set", func() error {
			return s.UpdateNotificationSettings(ctx, "acc_1", func(set *notify.Settings) (notify.Update, error) {
				set.PushToken = "push secret"
				return notify.Update{Change: audit.Change{Action: "notifications.set"}}, nil
			})
		}},
		{"SaveNotificationChoices", "notifications.chosen", func() error {
			return s.SaveNotificationChoices(ctx, "acc_1", "shop", []notify.Choice{{Kind: notify.Sold, Channel: notify.Mail}}, 1, audit.Change{Action: "notifications.chosen"})
		}},
		{"AddTestMessage", "notifications.tested", func() error {
			entry := notify.Entry{AccountID: "acc_1", Channel: notify.Mail, Kind: notify.Test, DueAt: noon}
			return s.AddTestMessage(ctx, notify.Request{Entries: []notify.Entry{entry}, Now: noon, Since: noon, DayAgo: noon, MaxDay: 1}, audit.Change{Action: "notifications.tested"})
		}},
		{"CreateTicket", "account.invited", func() error {
			return s.CreateTicket(ctx, newTicket("t", account.InvitationTicket), audit.Change{Action: "account.invited"})
		}},
		{"RemoveTicket", "account.withdrawn", func() error { return s.RemoveTicket(ctx, "id of t", audit.Change{Action: "account.withdrawn"}) }},
		{"CreateSession", "session.created", func() error { return s.CreateSession(ctx, session, "", audit.Change{Action: "session.created"}) }},
		{"StepUpSession", "session.stepped_up", func() error {
			return s.StepUpSession(ctx, session.Hash, noon, audit.Change{Action: "session.stepped_up"})
		}},
		{"EndSession", "session.ended", func() error { return s.EndSession(ctx, "acc_1", session.ID(), audit.Change{Action: "session.ended"}) }},
		{"CreateSession", "session.created", func() error { return s.CreateSession(ctx, session, "", audit.Change{Action: "session.created"}) }},
		{"EndSessions", "session.ended", func() error {
			_, err := s.EndSessions(ctx, "acc_1", "", audit.Change{Action: "session.ended"})
			return err
		}},
		{"AddSweep", "sweep.planned", func() error {
			return s.AddSweep(ctx, recorded.New("shop", plantest.Encoded(t, plantest.Example(noon))))
		}},
		{"RecordSweepSent", "sweep.sent", func() error { return s.RecordSweepSent(ctx, "shop", plantest.Example(noon).ID, 1) }},
		{"RecordSweepCarried", "sweep.sent", func() error {
			_, err := s.RecordSweepCarried(ctx, "shop", plantest.Example(noon).ID, "0x01", []int{1}, noon)
			return err
		}},
		{"StopSweep", "sweep.stopped", func() error { return s.StopSweep(ctx, "shop", plantest.Example(noon).ID, noon) }},
		{"SaveClosing", "books.closed", func() error {
			return s.SaveClosing(ctx, books.Closing{MerchantID: "shop", Month: "2026-11", ClosedAt: noon}, nil, nil)
		}},
		{"Record", "x.y", func() error { return s.Record(ctx, audit.Change{Action: "x.y"}) }},
	}
}

// unrecorded are the methods that change the database without an entry of the audit log.
var unrecorded = map[string]string{
	"CreateInvoice":        "an invoice is its own record",
	"UpdateSimnet":         "test network",
	"AddSimnetRequest":     "test network",
	"UpdateSimnetRequest":  "test network",
	"UseKey":               "not a change of the merchant",
	"UseNonce":             "not a change of the merchant",
	"UseSession":           "not a change of the merchant",
	"UpdateAttempts":       "failed sign-ins; the service records a lock-out",
	"SaveProgress":         "observation of a network",
	"SaveAttempt":          "attempt of a delivery",
	"SaveOutcome":          "attempt to send a message",
	"RecordFaults":         "observation of the server",
	"RecordSummary":        "message of the system",
	"RecordUnreadable":     "observation of the server",
	"RemovePersonalData":   "the end of a run has an entry",
	"RemovePluginMetadata": "a call that removes metadata has an entry",
	"RemoveBooks":          "the end of a run has an entry",
	"SaveUntrustedProxy":   "observation of the server",
	"SaveSweepRows":        "observation of a network",
}

// changingName matches names of methods that change the database.
var changingName = regexp.MustCompile(`^(Add|Change|Create|End|Record|Remove|Rename|Resend|Retry|Revoke|Save|Set|Snooze|StepUp|Update|Use)([A-Z]|$)`)

func TestChanges_are_recorded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		actor := audit.Actor{Kind: audit.Key, ID: "key_1", Name: "abc", Address: "192.0.2.1"}
		ctx := audit.WithActor(t.Context(), actor)
		var covered []string
		for _, change := range recordedChanges(ctx, t, s) {
			covered = append(covered, change.method)
			before, err := s.VerifyAuditLog(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := change.do(); err != nil {
				t.Errorf("%s: %v", change.method, err)
				continue
			}
			entries, err := s.AuditLog(ctx, 0, 1)
			if err != nil || len(entries) != 1 || entries[0].Number != before.Number+1 {
				t.Errorf("%s has no entry, error %v: the newest is %+v", change.method, err, entries)
				continue
			}
			e := entries[0]
			if e.Change.Action != change.want || e.Actor != actor {
				t.Errorf("%s: entry %q by %+v, want %q by %+v", change.method, e.Change.Action, e.Actor, change.want, actor)
			}
			for _, f := range []audit.Fields{e.Change.Before, e.Change.After} {
				for name, value := range f {
					if strings.Contains(value, "secret") || strings.Contains(value, "terminal hash") {
						t.Errorf("%s: field %s contains a secret: %q", change.method, name, value)
					}
				}
			}
		}
		for m := range reflect.TypeFor[*storage.Storage]().Methods() {
			if changingName.MatchString(m.Name) && !slices.Contains(covered, m.Name) && unrecorded[m.Name] == "" {
				t.Errorf("%s changes the database, but has no entry of the audit log", m.Name)
			}
		}
	})
}

// A change of an invoice because of a network or the time has no entry.
func TestUpdateInvoice_by_the_system_is_not_recorded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		before, err := s.VerifyAuditLog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error { inv.DelayedAt = noon; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if head, err := s.VerifyAuditLog(t.Context()); err != nil || head != before {
			t.Errorf("got %+v, error %v, want %+v", head, err, before)
		}
	})
}

func TestAuditLog_shows_values_before_and_after(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		for _, change := range recordedChanges(ctx, t, s) {
			if change.method == "CreateProduct" || change.method == "UpdateProduct" {
				if err := change.do(); err != nil {
					t.Fatal(err)
				}
			}
		}
		entries, err := s.AuditLog(ctx, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := audit.Change{
			MerchantID: "shop", Action: "product.changed", Subject: "soap",
			Before: audit.Fields{"name": "Soap"}, After: audit.Fields{"name": "Soaps"},
		}
		if diff := cmp.Diff(want, entries[0].Change); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
