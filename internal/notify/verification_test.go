package notify_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/notify"
	"chequer/internal/storage/storagetest"
)

// linkPattern matches the link in a message, with its token.
var linkPattern = regexp.MustCompile(`https://shop\.example/desk/bakery/account/notifications/email\?token=([A-Za-z0-9]{32})\n`)

// link returns the token of the newest message, which must be to an address.
func (f *fixture) link(to string) string {
	f.t.Helper()
	messages := f.mail.Messages()
	if len(messages) == 0 {
		f.t.Fatal("no message arrived")
	}
	last := messages[len(messages)-1]
	found := linkPattern.FindStringSubmatch(letterOf(f.t, last.Text))
	if last.To != to || found == nil {
		f.t.Fatalf("the newest message is to %s, want %s with a link:\n%s", last.To, to, last.Text)
	}
	return found[1]
}

// set sets the e-mail address of the owner, and sends what is due.
func (f *fixture) set(address string) {
	f.t.Helper()
	f.clock.Advance(time.Second)
	f.must(f.service.SetDestinations(f.t.Context(), f.owner, notify.Destinations{Email: address}))
	f.send()
}

// wantRefused fails unless a token confirms no address of an account.
func (f *fixture) wantRefused(what string, a account.Account, token string) {
	f.t.Helper()
	if err := f.service.Verify(f.t.Context(), a, token); !errors.Is(err, notify.ErrLink) {
		f.t.Errorf("%s: error %v, want ErrLink", what, err)
	}
	if _, err := f.service.Pending(f.t.Context(), a, token); !errors.Is(err, notify.ErrLink) {
		f.t.Errorf("%s: the page has error %v, want ErrLink", what, err)
	}
}

// An address receives nothing but its link until the account has confirmed it.
func TestVerify_is_required_before_other_messages(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.must(f.service.SetTimes(ctx, f.owner, notify.Times{QuietFrom: "00:00", QuietTo: "23:59"})) // a link does not wait
		f.set(email)
		f.must(f.service.SetTimes(ctx, f.owner, notify.Times{}))
		f.must(f.service.Choose(ctx, f.owner, "shop", byMail(notify.Sold)))
		token := f.link(email)
		if err := f.service.SendTest(ctx, f.owner, "shop"); !errors.Is(err, notify.ErrNoDestination) {
			t.Errorf("a test message to an unconfirmed address: error %v", err)
		}
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		if got := f.letters(); len(got) != 1 {
			t.Errorf("%d messages to an unconfirmed address: %q", len(got), got)
		}
		for _, query := range []string{"SELECT items FROM messages", "SELECT settings FROM notification_settings", "SELECT new_values FROM audit_log"} {
			if stored := strings.Join(storagetest.Rows(t, f.url, query), "\n"); strings.Contains(stored, token) {
				t.Errorf("%s returns the token:\n%s", query, stored)
			}
		}
		jonas := f.join("Jonas", map[string]account.Role{"shop": account.Owner})
		f.wantRefused("another account", jonas, token)
		f.wantRefused("another token", f.owner, strings.Repeat("x", 32))
		f.wantRefused("no token", f.owner, "")
		if address, err := f.service.Pending(ctx, f.owner, token); err != nil || address != email {
			t.Errorf("the link confirms %q, error %v", address, err)
		}
		f.must(f.service.Verify(ctx, f.owner, token))
		f.wantSettings(notify.Settings{Email: email})
		f.wantRefused("a used token", f.owner, token)
		f.pay("inv2", "shop", "1048")
		f.run()
		f.minute()
		if got := f.letters(); len(got) != 2 || !strings.Contains(got[1], "1048") {
			t.Errorf("the messages are %q, want a second one about order 1048", got)
		}
	})
}

// Until a new address is confirmed, the former one receives the messages.
func TestVerify_keeps_the_former_address(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.choose("shop", byMail(notify.Sold)...)
		f.set("new@nord.example")
		first := f.link("new@nord.example")
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		if got := f.mail.Messages(); len(got) != 2 || got[1].To != email {
			t.Errorf("the messages are %+v, want two, the second to %s", got, email)
		}
		f.clock.Advance(time.Minute)
		f.must(f.service.SendLink(ctx, f.owner))
		f.send()
		second := f.link("new@nord.example")
		f.wantRefused("a link that a newer one replaces", f.owner, first)
		f.set("other@nord.example")
		f.wantRefused("the link of a replaced address", f.owner, second)
		third := f.link("other@nord.example")
		f.clock.Advance(24*time.Hour + time.Second)
		f.wantRefused("an expired link", f.owner, third)
		f.must(f.service.SendLink(ctx, f.owner))
		f.send()
		f.must(f.service.Verify(ctx, f.owner, f.link("other@nord.example")))
		f.pay("inv2", "shop", "1048")
		f.run()
		f.minute()
		if got := f.mail.Messages(); got[len(got)-1].To != "other@nord.example" {
			t.Errorf("the newest message is to %s", got[len(got)-1].To)
		}
		// The confirmed address again, and none, need no link.
		f.set("third@nord.example")
		n := len(f.mail.Messages())
		f.set("other@nord.example")
		f.wantSettings(notify.Settings{Email: "other@nord.example"})
		f.set("")
		f.wantSettings(notify.Settings{})
		if got := len(f.mail.Messages()); got != n {
			t.Errorf("%d messages, want %d", got, n)
		}
		if err := f.service.SendLink(ctx, f.owner); !errors.Is(err, notify.ErrNoDestination) {
			t.Errorf("a link without an address: error %v", err)
		}
	})
}

// Links are limited, whichever addresses they go to. A refused change changes nothing.
func TestSendLink_is_limited(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.set(email)
		if err := f.service.SendLink(ctx, f.owner); !errors.Is(err, notify.ErrTooMany) {
			t.Errorf("a second link at once: error %v", err)
		}
		for range 9 {
			f.clock.Advance(2 * time.Minute)
			f.must(f.service.SendLink(ctx, f.owner))
		}
		f.clock.Advance(2 * time.Minute)
		before, err := f.service.Settings(ctx, f.owner.ID)
		f.must(err)
		for _, err := range []error{f.service.SendLink(ctx, f.owner), f.service.SetDestinations(ctx, f.owner, notify.Destinations{Email: "victim@evil.example"})} {
			if !errors.Is(err, notify.ErrTooMany) {
				t.Errorf("one more link: error %v, want ErrTooMany", err)
			}
		}
		f.wantSettings(before)
		f.clock.Advance(24 * time.Hour)
		f.must(f.service.SendLink(ctx, f.owner))
	})
}

// A link is tried again while the mail server is out of reach, with a token of its own for each attempt.
func TestSendLink_is_tried_again(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.mail.Stop()
		f.set(email)
		f.wantStates("mail verification pending")
		f.mail.Start()
		f.clock.Advance(2 * time.Minute)
		f.send()
		f.wantStates("mail verification sent")
		f.must(f.service.Verify(t.Context(), f.owner, f.link(email)))
		f.set("gone@nord.example")
		f.mail.Refuse("bad@nord.example", "550 5.1.1 <bad@nord.example> no such mailbox")
		f.set("bad@nord.example")
		for _, state := range f.states() {
			if strings.Contains(state, "bad@") {
				t.Errorf("a fault names the address: %q", state)
			}
		}
		f.wantSettings(notify.Settings{Email: email, Pending: f.pending()})
	})
}

// A link that is tried again after a later one was sent does not replace the later one.
func TestSendLink_keeps_the_newest_link(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.mail.Stop()
		f.set(email)
		f.clock.Advance(2 * time.Minute)
		f.send() // the second attempt; the third follows later
		f.must(f.service.SendLink(t.Context(), f.owner))
		f.mail.Start()
		f.send()
		newest := f.link(email)
		if n := len(f.mail.Messages()); n != 1 {
			t.Fatalf("%d messages arrived, want that of the later request alone", n)
		}
		for range 60 {
			f.clock.Advance(time.Minute)
			f.send()
		}
		f.wantStates("mail verification dropped", "mail verification sent")
		if n := len(f.mail.Messages()); n != 1 {
			t.Errorf("%d messages arrived, want 1", n)
		}
		f.must(f.service.Verify(t.Context(), f.owner, newest))
	})
}

// pending returns the pending address of the owner.
func (f *fixture) pending() notify.Unconfirmed {
	f.t.Helper()
	set, err := f.service.Settings(f.t.Context(), f.owner.ID)
	f.must(err)
	if set.Pending.Email != "bad@nord.example" {
		f.t.Errorf("the pending address is %q, want bad@nord.example", set.Pending.Email)
	}
	return set.Pending
}
