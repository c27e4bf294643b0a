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
	"chequer/internal/notify"
	"chequer/internal/storage/storagetest"
)

// wantStates fails unless the messages of the owner have the states, each a prefix.
func (l *lab) wantStates(want ...string) {
	l.t.Helper()
	got := l.states()
	for i := range got {
		if i < len(want) && strings.HasPrefix(got[i], want[i]) {
			got[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Fatalf("messages (-want +got):\n%s\n%v", diff, l.states())
	}
}

func TestSend_gives_up_a_refused_recipient(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.choose("shop", byMail(notify.Sold)...)
		l.mail.Refuse(email, "550 5.1.1 no such mailbox")
		l.pay("inv1", "shop", "1047")
		l.run()
		l.minute()
		l.wantStates("mail sold failed ")
		if got := l.states()[0]; !strings.Contains(got, "550") {
			t.Errorf("the fault %q does not have the answer", got)
		}
		if !l.log.Contains("notification given up") || strings.Contains(l.log.String(), "pass") || strings.Contains(l.log.String()+l.states()[0], email) {
			t.Errorf("log %q", l.log.String())
		}
		failed, err := l.storage.FailedMessages(t.Context(), l.clock.Now().Add(-time.Hour), 10)
		if err != nil || len(failed) != 1 {
			t.Errorf("got %d failed messages, error %v", len(failed), err)
		}
		l.clock.Pass(48 * time.Hour)
		l.run()
		if n := len(l.mail.Messages()); n != 0 {
			t.Errorf("%d messages arrived", n)
		}
	})
}

// The fault of a message is shown to other accounts, so it has no address, in whichever case a server repeats it.
func TestSend_hides_addresses_in_faults(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.must(l.service.SetDestinations(t.Context(), l.owner, notify.Destinations{Email: email, PushURL: "https://push.nord.invalid/topic"}))
		l.must(l.service.Choose(t.Context(), l.owner, "shop", append(byMail(notify.Sold), notify.Choice{Kind: notify.Sold, Channel: notify.Push})))
		l.mail.Refuse(email, "550 5.1.1 <"+strings.ToUpper(email)+"> no such mailbox")
		l.pay("inv1", "shop", "1047")
		l.run()
		l.minute()
		for _, state := range l.states() {
			if text := strings.ToLower(state); strings.Contains(text, email) || strings.Contains(text, "nord.invalid") {
				t.Errorf("message %q", state)
			}
		}
		if n := len(l.states()); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}
	})
}

func TestSend_retries_while_the_server_refuses_for_now(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.choose("shop", byMail(notify.Sold)...)
		l.mail.Refuse(email, "450 4.2.1 try again later")
		l.pay("inv1", "shop", "1047")
		l.run()
		l.minute()
		l.wantStates("mail sold pending ")
		l.mail.Refuse(email, "")
		l.minute()
		l.minute()
		l.wantStates("mail sold sent")
	})
}

func TestSend_survives_a_server_that_is_down(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.choose("shop", byMail(notify.Sold)...)
		l.mail.Stop()
		l.pay("inv1", "shop", "1047")
		l.run()
		l.minute()
		l.wantStates("mail sold pending dial")
		l.pay("inv2", "shop", "1048") // a later message is not added to one that was tried
		l.run()
		l.minute()
		l.wantStates("mail sold pending dial", "mail sold pending dial")
		l.mail.Start()
		restarted := l.newWorker(storagetest.Open(t, l.url), l.server()) // the outbox outlives the program
		for range 10 {
			l.clock.Pass(time.Minute)
			l.must(restarted.Send(t.Context()))
			restarted.Wait()
		}
		l.wantStates("mail sold sent", "mail sold sent")
		if n := len(l.mail.Messages()); n != 2 {
			t.Errorf("got %d messages, want 2", n)
		}
	})
}

func TestSend_gives_up_after_a_day(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.choose("shop", byMail(notify.Sold)...)
		l.mail.Stop()
		l.pay("inv1", "shop", "1047")
		l.run()
		for range 60 {
			l.clock.Pass(30 * time.Minute)
			l.send()
		}
		l.wantStates("mail sold failed dial")
		messages, err := l.storage.Messages(t.Context(), l.owner.ID, 1)
		if err != nil || messages[0].Tries < 8 || messages[0].Tries > 15 {
			t.Errorf("got %d tries in a day, error %v", messages[0].Tries, err)
		}
	})
}

func TestSend_refuses_a_server_that_it_cannot_trust(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.choose("shop", byMail(notify.Sold)...)
		plain := smtpServer(t, true, false)
		implicit := smtpServer(t, false, true)
		server := l.server()
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
			w := l.newWorker(l.storage, s)
			l.pay(fmt.Sprint("inv", i), "shop", "1047")
			l.collect()
			l.clock.Pass(time.Minute)
			l.must(w.Send(t.Context()))
			w.Wait()
			got := l.states()
			if last := got[len(got)-1]; !strings.HasPrefix(last, "mail sold pending ") || !strings.Contains(last, test.fault) || strings.Contains(last, "hunter2") {
				t.Errorf("%s: got %q, want a retry because of %q", test.name, last, test.fault)
			}
			storagetest.Exec(t, l.url, "DELETE FROM messages")
		}
		if n := len(l.mail.Messages()) + len(plain.Messages()) + len(implicit.Messages()); n != 0 {
			t.Errorf("%d messages were sent", n)
		}
	})
}

func TestSend_uses_each_mode_of_TLS(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.choose("shop", byMail(notify.Sold)...)
		implicit, plain := smtpServer(t, false, true), smtpServer(t, true, false)
		plain.User = ""
		s := l.server()
		s.Port, s.TLS, s.Roots = implicit.Port(), notify.ImplicitTLS, implicit.Roots()
		l.worker = l.newWorker(l.storage, s)
		l.pay("inv1", "shop", "1047")
		l.run()
		l.minute()
		s.Port, s.TLS, s.User, s.Password = plain.Port(), notify.NoTLS, "", ""
		l.worker = l.newWorker(l.storage, s)
		l.pay("inv2", "shop", "1048")
		l.run()
		l.minute()
		l.wantStates("mail sold sent", "mail sold sent")
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
	onBoth(t, func(t *testing.T, l *lab) {
		l.mail.Stop()
		l.mail.Abrupt = true
		l.mail.Start()
		l.choose("shop", byMail(notify.Sold)...)
		l.pay("inv1", "shop", "1047")
		l.run()
		l.minute()
		l.wantStates("mail sold sent")
		l.minute()
		l.minute()
		if n := len(l.mail.Messages()); n != 1 {
			t.Errorf("the message was sent %d times", n)
		}
	})
}

// An event that is collected while the message of its minute is sent, by the clock of another machine, is in the
// next message.
func TestSend_loses_no_event_at_the_end_of_a_minute(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.choose("shop", byMail(notify.Sold)...)
		l.pay("inv1", "shop", "1047")
		l.collect()
		l.clock.Pass(time.Minute)
		release := l.mail.Hold()
		l.must(l.worker.Send(t.Context()))
		<-l.mail.Arrived()
		l.clock.Pass(-time.Second)
		l.pay("inv2", "shop", "1048")
		l.collect()
		release()
		l.worker.Wait()
		l.pay("inv3", "shop", "1049")
		l.collect()
		l.minute()
		l.minute()
		got := l.letters()
		if len(got) != 2 || count(got[0], "1047", "1048", "1049") != 1 || count(got[1], "1048", "1049") != 2 {
			t.Errorf("got %q, want two messages with one and two payments", got)
		}
	})
}

// A server that does not answer does not hold an attempt longer than its timeout.
func TestSend_ends_an_attempt_without_an_answer(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.choose("shop", byMail(notify.Sold)...)
		notify.SetTimeout(l.worker, 50*time.Millisecond)
		release := l.mail.Hold()
		defer release()
		l.pay("inv1", "shop", "1047")
		l.run()
		l.minute()
		l.wantStates("mail sold pending no answer within")
	})
}

// Two processes on one database report each event once and send each message once.
func TestProcesses_share_the_work(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.choose("shop", byMail(notify.Sold)...)
		workers := []*notify.Worker{l.worker, l.newWorker(storagetest.Open(t, l.url), l.server()), l.newWorker(storagetest.Open(t, l.url), l.server())}
		const rounds = 6
		for i := range rounds {
			l.pay(fmt.Sprint("inv", i), "shop", fmt.Sprint("order-", i))
			var group sync.WaitGroup
			for _, w := range workers {
				group.Go(func() {
					if err := w.Collector.Collect(context.WithoutCancel(t.Context())); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			l.clock.Pass(time.Minute)
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
		got := l.letters()
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
	onBoth(t, func(t *testing.T, l *lab) {
		l.choose("shop", byMail(notify.Sold)...)
		l.pay("inv1", "shop", "1047")
		l.collect()
		l.clock.Pass(time.Minute)
		release := l.mail.Hold()
		ctx, kill := context.WithCancel(t.Context())
		l.must(l.worker.Send(ctx))
		<-l.mail.Arrived()
		kill()
		release()
		l.worker.Wait()
		l.wantStates("mail sold pending")
		other := l.newWorker(storagetest.Open(t, l.url), l.server())
		l.must(other.Send(t.Context()))
		other.Wait()
		if n := len(l.mail.Messages()); n != 1 {
			t.Fatalf("a claimed message was sent again after %d", n)
		}
		l.clock.Pass(time.Minute)
		l.must(other.Send(t.Context()))
		other.Wait()
		l.wantStates("mail sold sent")
		got := l.mail.Messages()
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
	onBoth(t, func(t *testing.T, l *lab) {
		ctx := t.Context()
		jonas := l.join("Jonas", map[string]account.Role{"shop": account.Manager, "bakery": account.Seller})
		l.must(l.service.SetDestinations(ctx, jonas, notify.Destinations{Email: "jonas@nord.example"}))
		l.must(l.service.Choose(ctx, jonas, "shop", byMail(notify.Sold, notify.Attention)))
		l.must(l.service.Choose(ctx, jonas, "bakery", byMail(notify.Sold))) // a seller may not
		if got, err := l.service.Choices(ctx, jonas.ID, "bakery"); err != nil || len(got) != 0 {
			t.Errorf("a seller has chosen %v, error %v", got, err)
		}
		l.pay("inv1", "shop", "1047")
		l.pay("inv2", "bakery", "7")
		l.collect()
		l.must(l.storage.ChangeTeam(ctx, "", func(_ account.Ticket, all []account.Account) ([]account.Account, account.Outcome, error) {
			for i := range all {
				if all[i].ID == jonas.ID {
					all[i].Roles["shop"] = account.Seller
				}
			}
			return all, account.Outcome{}, nil
		}))
		l.minute()
		if got := l.mail.Messages(); len(got) != 0 {
			t.Errorf("a seller got %v", got)
		}
		if got, err := l.storage.Messages(ctx, jonas.ID, 10); err != nil || len(got) != 1 || got[0].State != notify.Dropped {
			t.Errorf("messages of a seller: %v, error %v, want one that was dropped", got, err)
		}
		l.must(l.storage.ChangeTeam(ctx, "", func(_ account.Ticket, all []account.Account) ([]account.Account, account.Outcome, error) {
			return slices.DeleteFunc(all, func(a account.Account) bool { return a.ID == jonas.ID }), account.Outcome{}, nil
		}))
		for _, table := range []string{"notification_settings", "notification_choices", "messages"} {
			if got := storagetest.Rows(t, l.url, "SELECT account_id FROM "+table); len(got) != 0 {
				t.Errorf("%s of a removed account: %v", table, got)
			}
		}
	})
}

// Settings that were changed in the database are an error of their account, and hold back no other account.
func TestCollect_skips_settings_that_cannot_be_read(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.choose("shop", byMail(notify.Sold, notify.Broken, notify.Summary)...)
		jonas := l.join("Jonas", map[string]account.Role{"shop": account.Manager})
		l.must(l.service.SetDestinations(t.Context(), jonas, notify.Destinations{Email: "jonas@nord.example"}))
		l.must(l.service.Choose(t.Context(), jonas, "shop", byMail(notify.Sold, notify.Broken, notify.Summary)))
		l.pay("inv1", "shop", "1047")
		l.collect()
		storagetest.Exec(t, l.url, "UPDATE notification_settings SET settings = (SELECT settings FROM notification_settings WHERE account_id = 'acc_Maren') WHERE account_id = 'acc_Jonas'")
		l.pay("inv2", "shop", "1048")
		collect := func(step func(context.Context) error) {
			t.Helper()
			if err := step(t.Context()); err == nil || !strings.Contains(err.Error(), "acc_Jonas") {
				t.Errorf("error %v, want one about the account", err)
			}
		}
		collect(l.worker.Collector.Collect)
		collect(l.worker.Collector.CollectSummaries)
		l.faults = []notify.Fault{{Key: "backup", Text: "The last backup is 9 days old"}}
		collect(l.worker.Collector.CollectFaults)
		l.clock.Pass(6 * time.Minute)
		collect(l.worker.Collector.CollectFaults)
		l.clock.Pass(time.Minute)
		l.send()
		l.wantStates("mail sold sent", "mail broken sent")
		for _, m := range l.mail.Messages() {
			if m.To != email {
				t.Errorf("a message to %s", m.To)
			}
		}
		messages, err := l.storage.Messages(t.Context(), jonas.ID, 10)
		if err != nil || len(messages) != 1 || messages[0].State != notify.Pending || messages[0].Tries != 0 || messages[0].Fault != "" {
			t.Errorf("messages of the other account: %+v, error %v, want one that waits", messages, err)
		}
	})
}

// Events from before the first choice of a shop are not reported.
func TestChoose_begins_with_the_present(t *testing.T) {
	onBoth(t, func(t *testing.T, l *lab) {
		l.pay("inv1", "shop", "1047")
		l.choose("shop", byMail(notify.Sold)...)
		l.run()
		l.must(l.service.Choose(t.Context(), l.owner, "shop", nil))
		l.pay("inv2", "shop", "1048")
		l.run()
		l.must(l.service.Choose(t.Context(), l.owner, "shop", byMail(notify.Sold)))
		l.pay("inv3", "shop", "1049")
		l.run()
		l.minute()
		if got := l.letters(); len(got) != 1 || !strings.Contains(got[0], "1049") || strings.Contains(got[0], "1047") || strings.Contains(got[0], "1048") {
			t.Errorf("got %q, want only the payment after the choice", got)
		}
	})
}
