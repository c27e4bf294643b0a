package desk_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/notify"
	"chequer/web/desk"
)

const notifications = "/desk/" + shop + "/account/notifications"

// An account chooses its notifications, their addresses and their times.
func TestNotifications_are_chosen_with_addresses_and_times(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	b.get("/desk/"+shop+"/account").want(http.StatusOK, "Change notifications")
	p := b.get(notifications).want(http.StatusOK, "What reaches you from Atelier Nord", "No message yet.")
	if n := strings.Count(p.text(), "Nothing is sent until the address is saved below. An e-mail address must also be confirmed."); n != 2 {
		t.Errorf("%d channels are shown as without an address, want 2", n)
	}
	if n := p.find("input[name=mail], input[name=push]").Length(); n != 8 {
		t.Errorf("an owner chooses from %d boxes, want 8", n)
	}
	if n := p.find(`form[action$="/test"]`).Length(); n != 0 {
		t.Error("a test message is offered without a destination")
	}
	b.send(notifications, "mail", "sold", "mail", "attention", "push", "broken", "push", "nonsense").wantRedirect(notifications + "?done=notifications")
	b.send(notifications+"/where", "email", "maren@nord.example", "push_url", "https://ntfy.example/topic", "push_token", "tk_1").wantRedirect(notifications + "?done=notifications")
	b.send(notifications+"/times", "zone", "Europe/Berlin", "quiet_from", "22:00", "quiet_to", "07:00", "broken_passes", "yes").wantRedirect(notifications + "?done=notifications")
	p = b.get(notifications+"?done=notifications").want(http.StatusOK, "Notifications saved.", "maren@nord.example waits for its confirmation", "Send the link again")
	var got []string
	for _, e := range p.find("input:not([type=hidden]):not([type=checkbox]):not([type=search])").EachIter() {
		got = append(got, e.AttrOr("name", "")+"="+e.AttrOr("value", ""))
	}
	for _, e := range p.find("input[checked]").EachIter() {
		got = append(got, e.AttrOr("name", "")+"="+e.AttrOr("value", ""))
	}
	want := []string{
		"email=maren@nord.example", "push_url=https://ntfy.example/topic", "push_token=", "zone=Europe/Berlin", "quiet_from=22:00", "quiet_to=07:00",
		"mail=sold", "mail=attention", "push=broken", "broken_passes=yes",
	}
	got = got[len(got)-len(want):] // without the field of the search
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(p.body, "tk_1") {
		t.Error("the page shows the token")
	}
	if got := strings.Join(f.actions(), "\n"); !strings.HasSuffix(got, "Maren: notifications.chosen\nMaren: notifications.set\nMaren: notifications.set") {
		t.Errorf("audit log:\n%s", got)
	}
}

func TestNotifications_keep_the_entered_values(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for _, test := range []struct {
		path   string
		pairs  []string
		field  string
		fault  string
		values map[string]string
	}{
		{"/where", []string{"email", "maren", "push_url", "https://ntfy.example/t"}, "email", "E-mail address must be an e-mail address", map[string]string{"email": "maren", "push_url": "https://ntfy.example/t"}},
		{"/where", []string{"push_url", "https://10.0.0.1/t"}, "push_url", "Push address leads into the network of this server", map[string]string{"push_url": "https://10.0.0.1/t"}},
		{"/times", []string{"zone", "Atlantis", "quiet_from", "22:00", "quiet_to", "07:00"}, "zone", "Time zone must be a time zone", map[string]string{"zone": "Atlantis", "quiet_from": "22:00"}},
		{"/times", []string{"quiet_from", "22:00"}, "quiet_to", "Quiet until must be a time of day", map[string]string{"quiet_from": "22:00"}},
	} {
		p := b.send(notifications+test.path, test.pairs...).want(http.StatusUnprocessableEntity, test.fault)
		if got := p.find("#"+test.field+"-error").Length() + p.find("#"+test.field+"[aria-invalid=true]").Length(); got != 2 {
			t.Errorf("%v: the error is not at the field", test.pairs)
		}
		for name, want := range test.values {
			if got := p.find("#"+name).AttrOr("value", ""); got != want {
				t.Errorf("%v: %s is %q, want %q", test.pairs, name, got, want)
			}
		}
	}
}

// The addresses outlive a session, so that a stolen session cannot set them.
func TestNotifications_where_needs_a_confirmed_sign_in(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.clock.Advance(time.Hour)
	b.send(notifications+"/where", "email", "thief@evil.example").want(http.StatusForbidden)
	if p := b.get(notifications); strings.Contains(p.body, "thief") {
		t.Error("the address was set")
	}
}

func TestNotifications_test_message(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	b.send(notifications+"/test").want(http.StatusUnprocessableEntity, "Save a push address, or an e-mail address and confirm it, first.")
	f.confirmEmail("Maren", "maren@nord.example")
	b.send(notifications + "/test").wantRedirect(notifications + "?done=test-message")
	b.get(notifications).want(http.StatusOK, "Test message, by e-mail Is sent from")
	b.send(notifications+"/test").want(http.StatusTooManyRequests, "One test message or link a minute")
	claims, err := f.storage.ClaimMessages(t.Context(), notify.Mail, f.clock.Now(), f.clock.Now().Add(time.Minute), 10)
	if err != nil || len(claims) != 1 {
		t.Fatalf("got %d claims, error %v", len(claims), err)
	}
	for _, test := range []struct {
		outcome notify.Outcome
		want    string
	}{
		{notify.Outcome{State: notify.Pending, At: f.clock.Now(), NextAttemptAt: claims[0].Until, Fault: "connection <refused>"}, "Not sent yet: connection <refused>."},
		{notify.Outcome{State: notify.Failed, At: f.clock.Now(), Fault: "550 no"}, "Given up: 550 no."},
		{notify.Outcome{State: notify.Sent, At: f.clock.Now()}, "Sent. Created"},
	} {
		f.must(f.storage.SaveOutcome(t.Context(), claims[0], test.outcome))
		b.get(notifications).want(http.StatusOK, test.want)
	}
}

// Health names the notifications that were given up, without the accounts and their addresses.
func TestHealth_names_failed_notifications(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	if n := b.get("/desk/" + shop + "/health").want(http.StatusOK).find("main h2").Length(); n != 2 {
		t.Errorf("Health has %d sections without failed messages, want 2", n)
	}
	now := f.clock.Now()
	for i, fault := range []string{"550 no such mailbox", "552 mailbox full"} {
		entry := notify.Entry{AccountID: "acc_1", Channel: notify.Mail, Kind: notify.Sold, DueAt: now}
		at := now.Add(time.Duration(i) * time.Second)
		f.must(f.storage.AddTestMessage(t.Context(), notify.Request{Entries: []notify.Entry{entry}, Now: at, Since: at, DayAgo: at, MaxDay: 1}, audit.Change{}))
		claims, err := f.storage.ClaimMessages(t.Context(), notify.Mail, at, at.Add(time.Minute), 1)
		if err != nil || len(claims) != 1 {
			t.Fatalf("got %d claims, error %v", len(claims), err)
		}
		f.must(f.storage.SaveOutcome(t.Context(), claims[0], notify.Outcome{State: notify.Failed, At: at, Fault: fault}))
		now = now.Add(time.Minute)
	}
	b.get("/desk/"+shop+"/health").want(http.StatusOK, "Notifications By e-mail 2 messages were given up in the last 7 days, the newest because of: 552 mailbox full")
}

// Without a mail server the page says that the link is not sent.
func TestNotifications_without_a_mail_server(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.config.Notifications = notify.NewService(notify.ServiceConfig{Storage: f.storage, CheckURL: func(string) error { return nil }, Now: f.clock.Now})
	f.desk = desk.New(f.config)
	b := f.owner()
	b.get(notifications).want(http.StatusOK, "E-mail waits, because the server has no mail server")
	b.send(notifications+"/where", "email", "maren@nord.example").wantRedirect(notifications + "?done=notifications")
	b.get(notifications).want(http.StatusOK, "maren@nord.example waits for its confirmation. Its link cannot be sent, because the server has no mail server.")
	if text := b.get(notifications).text(); strings.Contains(text, "Send the link again") {
		t.Errorf("the page offers to send the link: %s", text)
	}
	f.confirmEmail("Maren", "maren@nord.example")
	if text := b.get(notifications).text(); strings.Contains(text, "Send a test message") {
		t.Errorf("the page offers to send a message: %s", text)
	}
}

// A seller gets no notifications. The account has no form for them, unless it has an address, which it can remove.
func TestNotifications_of_a_seller(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	team := f.team()
	b := team[account.Seller]
	page := b.get(notifications).want(http.StatusOK, "Your role in this shop gets no notifications.")
	if forms := page.find("main form, main h2"); forms.Length() != 1 {
		t.Errorf("the page has the forms and headings %q, want one", textOf(forms))
	}
	ownPage := strings.TrimSuffix(notifications, "/notifications")
	if n := b.get(ownPage).find("#notifications").Length(); n != 0 {
		t.Error("the account has a link to the notifications")
	}
	if n := team[account.Developer].get(ownPage).find("#notifications").Length(); n != 1 {
		t.Error("the account of a developer has no link to the notifications")
	}
	f.confirmEmail("Account 1", "jonas@nord.example")
	if page := b.get(notifications); page.find("#where #email").Length() != 1 || page.find("#when, #messages").Length() != 0 || b.get(ownPage).find("#notifications").Length() != 1 {
		t.Errorf("the page does not have exactly the form of the address: %s", page.text())
	}
}

// Only an account that may get messages about faults chooses whether they arrive in quiet hours.
func TestNotifications_in_quiet_hours(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for role, b := range f.team() {
		want := 1
		if role == account.Bookkeeper || role == account.Seller {
			want = 0
		}
		if got := b.get(notifications).find("input[name=broken_passes]").Length(); got != want {
			t.Errorf("%s: %d boxes, want %d", role, got, want)
		}
	}
}

// A role offers only the kinds that it may see.
func TestNotifications_of_each_role(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := map[account.Role]string{}
	for role, b := range f.team() {
		var all []string
		for _, e := range b.get(notifications).want(http.StatusOK).find("input[name=mail]").EachIter() {
			all = append(all, e.AttrOr("value", ""))
		}
		got[role] = fmt.Sprint(all)
	}
	want := map[account.Role]string{
		account.Owner: "[sold attention broken summary]", account.Manager: "[sold attention broken summary]", account.Seller: "[]",
		account.Bookkeeper: "[sold summary]", account.Developer: "[sold broken summary]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// confirmEmail sets a confirmed e-mail address of the account with a name.
func (f *fixture) confirmEmail(name, address string) {
	f.t.Helper()
	f.must(f.storage.UpdateNotificationSettings(f.t.Context(), f.idOf(name), func(set *notify.Settings) (notify.Update, error) {
		set.Email, set.Pending = address, notify.Unconfirmed{}
		return notify.Update{}, nil
	}))
}

// sendLink gives the pending address of an account a link with a token, as the worker does.
func (f *fixture) sendLink(name, token string) {
	f.t.Helper()
	f.must(f.storage.UpdateNotificationSettings(f.t.Context(), f.idOf(name), func(set *notify.Settings) (notify.Update, error) {
		set.Pending.Hash, set.Pending.ExpiresAt = account.HashToken(token), f.clock.Now().Add(time.Hour)
		return notify.Update{}, nil
	}))
}

// An address is confirmed by a form behind its link, once, and only by its account.
func TestNotifications_confirm_an_address(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b, other := f.owner(), f.as("Tove", account.Manager)
	f.confirmEmail("Maren", "maren@nord.example")
	b.send(notifications+"/where", "email", "new@nord.example").wantRedirect(notifications + "?done=notifications")
	page := b.get(notifications).want(http.StatusOK, "new@nord.example waits for its confirmation", "Until then messages go to maren@nord.example.")
	if got := page.attribute("#email", "value"); got != "new@nord.example" {
		t.Errorf("the field has the address %q", got)
	}
	b.send(notifications+"/where", "email", "new@nord.example").wantRedirect(notifications + "?done=notifications") // no second link
	b.send(notifications+"/email/link").want(http.StatusTooManyRequests, "One test message or link a minute")
	f.clock.Advance(2 * time.Minute)
	b.send(notifications + "/email/link").wantRedirect(notifications + "?done=email-link")

	f.sendLink("Maren", "secret-token")
	link := notifications + "/email?token=secret-token"
	f.browser().get(link).wantRedirect("/desk/signin?next=%2Fdesk%2Fshop%2Faccount%2Fnotifications%2Femail%3Ftoken%3Dsecret-token")
	other.get(link).want(http.StatusUnprocessableEntity, "This link confirms no address.")
	other.send(notifications+"/email", "token", "secret-token").want(http.StatusUnprocessableEntity, "This link confirms no address.")
	for range 2 { // a program that opens links changes nothing
		b.get(link).want(http.StatusOK, "Confirm your e-mail address?", "Notifications go to new@nord.example.")
	}
	b.send(notifications+"/email", "token", "another-token").want(http.StatusUnprocessableEntity, "This link confirms no address.")
	b.send(notifications+"/email", "token", "secret-token").wantRedirect(notifications + "?done=email-confirmed")
	if text := b.get(notifications+"?done=email-confirmed").want(http.StatusOK, "The e-mail address is confirmed.").text(); strings.Contains(text, "waits") {
		t.Errorf("the page says that a confirmed address waits: %q", text)
	}
	b.send(notifications+"/email", "token", "secret-token").want(http.StatusUnprocessableEntity, "This link confirms no address.")
	b.send(notifications+"/email/link").want(http.StatusUnprocessableEntity, "Save a push address")
	if got := strings.Join(f.actionsOf("notifications."), "; "); !strings.HasSuffix(got, "Maren: notifications.set; Maren: notifications.link_requested; Maren: notifications.email_confirmed") {
		t.Errorf("the audit log has %s, want the address, the link and the confirmation by Maren at its end", got)
	}
}
