package notify_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/notify"
	"chequer/internal/storage/storagetest"
)

// wantStates fails unless the messages of the owner have the states, each a prefix.
func (f *fixture) wantStates(want ...string) {
	f.t.Helper()
	got := f.states()
	for i := range got {
		if i < len(want) && strings.HasPrefix(got[i], want[i]) {
			got[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Fatalf("messages (-want +got):\n%s\n%v", diff, f.states())
	}
}

func TestSend_gives_up_a_refused_recipient(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		f.mail.Refuse(email, "550 5.1.1 no such mailbox")
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		f.wantStates("mail sold failed ")
		if got := f.states()[0]; !strings.Contains(got, "550") {
			t.Errorf("the fault %q does not have the answer", got)
		}
		if !f.log.Contains("notification given up") || strings.Contains(f.log.String(), "pass") || strings.Contains(f.log.String()+f.states()[0], email) {
			t.Errorf("log %q", f.log.String())
		}
		failed, err := f.storage.FailedMessages(t.Context(), f.clock.Now().Add(-time.Hour), 10)
		if err != nil || len(failed) != 1 {
			t.Errorf("got %d failed messages, error %v", len(failed), err)
		}
		f.clock.Advance(48 * time.Hour)
		f.run()
		if n := len(f.mail.Messages()); n != 0 {
			t.Errorf("%d messages arrived", n)
		}
	})
}

// The fault of a message is shown to other accounts, so it has no address, in whichever case a server repeats it.
func TestSend_hides_addresses_in_faults(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.confirm(f.owner, email)
		f.must(f.service.SetDestinations(t.Context(), f.owner, notify.Destinations{Email: email, PushURL: "https://push.nord.invalid/topic"}))
		f.must(f.service.Choose(t.Context(), f.owner, "shop", append(byMail(notify.Sold), notify.Choice{Kind: notify.Sold, Channel: notify.Push})))
		f.mail.Refuse(email, "550 5.1.1 <"+strings.ToUpper(email)+"> no such mailbox")
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		for _, state := range f.states() {
			if text := strings.ToLower(state); strings.Contains(text, email) || strings.Contains(text, "nord.invalid") {
				t.Errorf("message %q", state)
			}
		}
		if n := len(f.states()); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}
	})
}

func TestSend_retries_while_the_server_refuses_for_now(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		f.mail.Refuse(email, "450 4.2.1 try again later")
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		f.wantStates("mail sold pending ")
		f.mail.Refuse(email, "")
		f.minute()
		f.minute()
		f.wantStates("mail sold sent")
	})
}

func TestSend_survives_a_server_that_is_down(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		f.mail.Stop()
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		f.wantStates("mail sold pending dial")
		f.pay("inv2", "shop", "1048") // a later message is not added to one that was tried
		f.run()
		f.minute()
		f.wantStates("mail sold pending dial", "mail sold pending dial")
		f.mail.Start()
		restarted := f.newWorker(storagetest.Open(t, f.url), f.server()) // the outbox outlives the program
		for range 10 {
			f.clock.Advance(time.Minute)
			f.must(restarted.Send(t.Context()))
			restarted.Wait()
		}
		f.wantStates("mail sold sent", "mail sold sent")
		if n := len(f.mail.Messages()); n != 2 {
			t.Errorf("got %d messages, want 2", n)
		}
	})
}

func TestSend_gives_up_after_a_day(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		f.mail.Stop()
		f.pay("inv1", "shop", "1047")
		f.run()
		for range 60 {
			f.clock.Advance(30 * time.Minute)
			f.send()
		}
		f.wantStates("mail sold failed dial")
		messages, err := f.storage.Messages(t.Context(), f.owner.ID, 1)
		if err != nil || messages[0].Attempts < 8 || messages[0].Attempts > 15 {
			t.Errorf("got %d tries in a day, error %v", messages[0].Attempts, err)
		}
	})
}

func TestSend_refuses_a_server_that_it_cannot_trust(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		plain := smtpServer(t, true, false)
		implicit := smtpServer(t, false, true)
		server := f.server()
		for i, test := range []struct {
			name   string
			change func(*notify.MailServer)
			fault  string
		}{
			{"an unknown authority", func(s *notify.MailServer) { s.Roots = x509.NewCertPool() }, "certificate"},
			{"a certificate of another name", func(s *notify.MailServer) { s.Host = "localhost" }, "certificate"},
			{"no STARTTLS", func(s *notify.MailServer) { s.Port = plain.Port() }, "STARTTLS"},
			{"an unknown authority of implicit TLS", func(s *notify.MailServer) {
				s.Port, s.TLS, s.Roots = implicit.Port(), notify.ImplicitTLS, x509.NewCertPool()
			}, "certificate"},
			{"a wrong password", func(s *notify.MailServer) { s.Password = "hunter2" }, "535"},
			{"no server", func(s *notify.MailServer) { *s = notify.MailServer{} }, "CHEQUER_SMTP_URL"},
		} {
			s := server
			test.change(&s)
			w := f.newWorker(f.storage, s)
			f.pay(fmt.Sprint("inv", i), "shop", "1047")
			f.collect()
			f.clock.Advance(time.Minute)
			f.must(w.Send(t.Context()))
			w.Wait()
			got := f.states()
			if last := got[len(got)-1]; !strings.HasPrefix(last, "mail sold pending ") || !strings.Contains(last, test.fault) || strings.Contains(last, "hunter2") {
				t.Errorf("%s: got %q, want a retry because of %q", test.name, last, test.fault)
			}
			storagetest.Exec(t, f.url, "DELETE FROM messages")
		}
		if n := len(f.mail.Messages()) + len(plain.Messages()) + len(implicit.Messages()); n != 0 {
			t.Errorf("%d messages were sent", n)
		}
	})
}

func TestSend_uses_each_mode_of_TLS(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		implicit, plain := smtpServer(t, false, true), smtpServer(t, true, false)
		plain.User = ""
		s := f.server()
		s.Port, s.TLS, s.Roots = implicit.Port(), notify.ImplicitTLS, implicit.Roots()
		f.worker = f.newWorker(f.storage, s)
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		s.Port, s.TLS, s.User, s.Password = plain.Port(), notify.NoTLS, "", ""
		f.worker = f.newWorker(f.storage, s)
		f.pay("inv2", "shop", "1048")
		f.run()
		f.minute()
		f.wantStates("mail sold sent", "mail sold sent")
		if got := implicit.Messages(); len(got) != 1 || !got[0].Protected || got[0].User == "" {
			t.Errorf("implicit TLS: got %v", got)
		}
		if got := plain.Messages(); len(got) != 1 || got[0].Protected {
			t.Errorf("no TLS: got %v", got)
		}
	})
}

// A server that ends the connection as soon as it has accepted a message has the message.
func TestSend_accepts_an_abrupt_end(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.mail.Stop()
		f.mail.Abrupt = true
		f.mail.Start()
		f.choose("shop", byMail(notify.Sold)...)
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		f.wantStates("mail sold sent")
		f.minute()
		f.minute()
		if n := len(f.mail.Messages()); n != 1 {
			t.Errorf("the message was sent %d times", n)
		}
	})
}

// An event that is collected while the message of its minute is sent, by the clock of another machine, is in the
// next message.
func TestSend_loses_no_event_at_the_end_of_a_minute(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		f.pay("inv1", "shop", "1047")
		f.collect()
		f.clock.Advance(time.Minute)
		release := f.mail.Hold()
		f.must(f.worker.Send(t.Context()))
		<-f.mail.Arrived()
		f.clock.Advance(-time.Second)
		f.pay("inv2", "shop", "1048")
		f.collect()
		release()
		f.worker.Wait()
		f.pay("inv3", "shop", "1049")
		f.collect()
		f.minute()
		f.minute()
		got := f.letters()
		if len(got) != 2 || count(got[0], "1047", "1048", "1049") != 1 || count(got[1], "1048", "1049") != 2 {
			t.Errorf("got %q, want two messages with one and two payments", got)
		}
	})
}

// A server that does not answer does not hold an attempt longer than its timeout.
func TestSend_ends_an_attempt_without_an_answer(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		notify.SetTimeout(f.worker, 50*time.Millisecond)
		release := f.mail.Hold()
		defer release()
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		f.wantStates("mail sold pending no answer within")
	})
}

// Two processes on one database report each event once and send each message once.
func TestProcesses_share_the_work(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		workers := []*notify.Worker{f.worker, f.newWorker(storagetest.Open(t, f.url), f.server()), f.newWorker(storagetest.Open(t, f.url), f.server())}
		const rounds = 6
		for i := range rounds {
			f.pay(fmt.Sprint("inv", i), "shop", fmt.Sprint("order-", i))
			var group sync.WaitGroup
			for _, w := range workers {
				group.Go(func() {
					if err := w.Collector.Collect(context.WithoutCancel(t.Context())); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			f.clock.Advance(time.Minute)
			for _, w := range workers {
				group.Go(func() {
					if err := w.Send(context.WithoutCancel(t.Context())); err != nil {
						t.Error(err)
					}
					w.Wait()
				})
			}
			group.Wait()
		}
		got := f.letters()
		if len(got) != rounds {
			t.Fatalf("got %d messages, want %d", len(got), rounds)
		}
		for i, text := range got {
			if !strings.Contains(text, fmt.Sprintf("Order order-%d:", i)) || strings.Count(text, "Order ") != 1 {
				t.Errorf("message %d: %q", i, text)
			}
		}
	})
}

// A process that ends after the mail server has the message and before this is recorded leaves a claim. The
// message is sent again with the same Message-ID, and never lost.
func TestProcess_that_ends_between_sending_and_recording(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		f.pay("inv1", "shop", "1047")
		f.collect()
		f.clock.Advance(time.Minute)
		release := f.mail.Hold()
		ctx, kill := context.WithCancel(t.Context())
		f.must(f.worker.Send(ctx))
		<-f.mail.Arrived()
		kill()
		release()
		f.worker.Wait()
		f.wantStates("mail sold pending")
		other := f.newWorker(storagetest.Open(t, f.url), f.server())
		f.must(other.Send(t.Context()))
		other.Wait()
		if n := len(f.mail.Messages()); n != 1 {
			t.Fatalf("a claimed message was sent again after %d", n)
		}
		f.clock.Advance(time.Minute)
		f.must(other.Send(t.Context()))
		other.Wait()
		f.wantStates("mail sold sent")
		got := f.mail.Messages()
		if len(got) != 2 || messageID(got[0].Text) == "" || messageID(got[0].Text) != messageID(got[1].Text) {
			t.Errorf("got %d messages with the identifiers %q", len(got), []string{messageID(got[0].Text), messageID(got[len(got)-1].Text)})
		}
	})
}

func messageID(text string) string {
	_, rest, _ := strings.Cut(text, "Message-ID: ")
	id, _, _ := strings.Cut(rest, "\r\n")
	return id
}

// What an account gets follows its role and its settings at the time of sending.
func TestSend_checks_the_account_again(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		jonas := f.join("Jonas", map[string]account.Role{"shop": account.Manager, "bakery": account.Seller})
		f.confirm(jonas, "jonas@nord.example")
		f.must(f.service.Choose(ctx, jonas, "shop", byMail(notify.Sold, notify.Attention)))
		f.must(f.service.Choose(ctx, jonas, "bakery", byMail(notify.Sold))) // a seller may not
		if got, err := f.service.Choices(ctx, jonas.ID, "bakery"); err != nil || len(got) != 0 {
			t.Errorf("a seller has chosen %v, error %v", got, err)
		}
		f.pay("inv1", "shop", "1047")
		f.pay("inv2", "bakery", "7")
		f.collect()
		f.must(f.storage.ChangeTeam(ctx, "", func(_ account.Ticket, all []account.Account) ([]account.Account, account.Outcome, error) {
			for i := range all {
				if all[i].ID == jonas.ID {
					all[i].Roles["shop"] = account.Seller
				}
			}
			return all, account.Outcome{}, nil
		}))
		f.minute()
		if got := f.mail.Messages(); len(got) != 0 {
			t.Errorf("a seller got %v", got)
		}
		if got, err := f.storage.Messages(ctx, jonas.ID, 10); err != nil || len(got) != 1 || got[0].State != notify.Dropped {
			t.Errorf("messages of a seller: %v, error %v, want one that was dropped", got, err)
		}
		f.must(f.storage.ChangeTeam(ctx, "", func(_ account.Ticket, all []account.Account) ([]account.Account, account.Outcome, error) {
			return slices.DeleteFunc(all, func(a account.Account) bool { return a.ID == jonas.ID }), account.Outcome{}, nil
		}))
		for _, table := range []string{"notification_settings", "notification_choices", "messages"} {
			if got := storagetest.Rows(t, f.url, "SELECT account_id FROM "+table); len(got) != 0 {
				t.Errorf("%s of a removed account: %v", table, got)
			}
		}
	})
}

// Settings that were changed in the database are an error of their account, and hold back no other account.
func TestCollect_skips_settings_that_cannot_be_read(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold, notify.Broken, notify.Summary)...)
		jonas := f.join("Jonas", map[string]account.Role{"shop": account.Manager})
		f.confirm(jonas, "jonas@nord.example")
		f.must(f.service.Choose(t.Context(), jonas, "shop", byMail(notify.Sold, notify.Broken, notify.Summary)))
		f.pay("inv1", "shop", "1047")
		f.collect()
		storagetest.Exec(t, f.url, "UPDATE notification_settings SET settings = (SELECT settings FROM notification_settings WHERE account_id = 'acc_Maren') WHERE account_id = 'acc_Jonas'")
		f.pay("inv2", "shop", "1048")
		collect := func(step func(context.Context) error) {
			t.Helper()
			if err := step(t.Context()); err == nil || !strings.Contains(err.Error(), "acc_Jonas") {
				t.Errorf("error %v, want one about the account", err)
			}
		}
		collect(f.worker.Collector.Collect)
		collect(f.worker.Collector.CollectSummaries)
		f.faults = []notify.Fault{{Key: "backup", Text: "The last backup is 9 days old"}}
		collect(f.worker.Collector.CollectFaults)
		f.clock.Advance(6 * time.Minute)
		collect(f.worker.Collector.CollectFaults)
		f.clock.Advance(time.Minute)
		f.send()
		f.wantStates("mail sold sent", "mail broken sent")
		for _, m := range f.mail.Messages() {
			if m.To != email {
				t.Errorf("a message to %s", m.To)
			}
		}
		messages, err := f.storage.Messages(t.Context(), jonas.ID, 10)
		if err != nil || len(messages) != 1 || messages[0].State != notify.Pending || messages[0].Attempts != 0 || messages[0].Fault != "" {
			t.Errorf("messages of the other account: %+v, error %v, want one that waits", messages, err)
		}
	})
}

// Events from before the first choice of a shop are not reported.
func TestChoose_begins_with_the_present(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.pay("inv1", "shop", "1047")
		f.choose("shop", byMail(notify.Sold)...)
		f.run()
		f.must(f.service.Choose(t.Context(), f.owner, "shop", nil))
		f.pay("inv2", "shop", "1048")
		f.run()
		f.must(f.service.Choose(t.Context(), f.owner, "shop", byMail(notify.Sold)))
		f.pay("inv3", "shop", "1049")
		f.run()
		f.minute()
		if got := f.letters(); len(got) != 1 || !strings.Contains(got[0], "1049") || strings.Contains(got[0], "1047") || strings.Contains(got[0], "1048") {
			t.Errorf("got %q, want only the payment after the choice", got)
		}
	})
}

// An invoice whose stored row is damaged is skipped with one fault; later invoices are reported.
func TestCollect_skips_an_invoice_that_cannot_be_read(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		f.pay("inv1", "shop", "1047")
		f.pay("inv2", "shop", "1048")
		storagetest.Exec(t, f.url, "UPDATE invoices SET quotes = '{' WHERE id = 'inv1'")
		if err := f.worker.Collector.Collect(t.Context()); err == nil || strings.Count(err.Error(), "stored invoice inv1 is unreadable") != 1 {
			t.Errorf("error %v, want one about the invoice", err)
		}
		f.change("inv2", invoice.EventPaid, func(*invoice.Invoice) {})
		f.run()
		f.minute()
		if got := f.letters(); len(got) != 1 || !strings.Contains(got[0], "Order 1048") || strings.Contains(got[0], "1047") {
			t.Errorf("got %q, want a message of the other invoice", got)
		}
		if got, err := f.storage.Unreadable(t.Context()); err != nil || len(got) != 1 || got[0] != "inv1" {
			t.Errorf("unreadable: %q, %v", got, err)
		}
		storagetest.Exec(t, f.url, "UPDATE invoices SET quotes = (SELECT quotes FROM invoices WHERE id = 'inv2') WHERE id = 'inv1'")
		if got, err := f.storage.Unreadable(t.Context()); err != nil || len(got) != 0 {
			t.Errorf("after the repair unreadable: %q, %v", got, err)
		}
	})
}
