package notify_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/notify"
	"chequer/internal/storage/storagetest"
)

func TestSetDestinations_refuses_wrong_addresses_and_keeps_tokens_secret(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for _, test := range []struct {
			set   notify.Destinations
			field string
		}{
			{notify.Destinations{Email: "maren"}, "email"},
			{notify.Destinations{Email: "maren@nord.example, thief@evil.example"}, "email"},
			{notify.Destinations{Email: "maren@nord.example\r\nBcc: thief@evil.example"}, "email"},
			{notify.Destinations{Email: "Maren <maren@nord.example>"}, "email"},
			{notify.Destinations{Email: strings.Repeat("m", 250) + "@nord.example"}, "email"},
			{notify.Destinations{PushURL: "ftp://ntfy.example/topic"}, "push_url"},
			{notify.Destinations{PushURL: "http://127.0.0.1/t", PushToken: "a\r\nX: b"}, "push_token"},
			{notify.Destinations{PushToken: "tk"}, "push_token"},
		} {
			err := f.service.SetDestinations(ctx, f.owner, test.set)
			if wrong, ok := errors.AsType[*notify.FieldError](err); !ok || wrong.Field != test.field {
				t.Errorf("%+v: error %v, want one about %s", test.set, err, test.field)
			}
		}
		f.confirm(f.owner, email)
		f.must(f.service.SetDestinations(ctx, f.owner, notify.Destinations{Email: " " + email + " ", PushURL: "http://127.0.0.1/topic", PushToken: "tk_1"}))
		f.must(f.service.SetDestinations(ctx, f.owner, notify.Destinations{Email: email, PushURL: "http://127.0.0.1/topic"}))
		f.wantSettings(notify.Settings{Email: email, PushURL: "http://127.0.0.1/topic", PushToken: "tk_1"})
		f.must(f.service.SetDestinations(ctx, f.owner, notify.Destinations{PushURL: "http://127.0.0.1/other"}))
		f.wantSettings(notify.Settings{PushURL: "http://127.0.0.1/other"}) // the token goes to no other address
		f.must(f.service.SetDestinations(ctx, f.owner, notify.Destinations{PushURL: "http://127.0.0.1/other", PushToken: "tk_2"}))
		f.must(f.service.SetDestinations(ctx, f.owner, notify.Destinations{PushURL: "http://127.0.0.1/other", NoToken: true}))
		f.wantSettings(notify.Settings{PushURL: "http://127.0.0.1/other"})
		log, err := f.storage.AuditLog(ctx, 0, 100)
		f.must(err)
		text := ""
		for _, e := range log {
			text += e.Change.Action + " " + e.Change.Before["mail"] + e.Change.After["mail"] + e.Change.After["push"] + e.Change.After["push_token"] + "\n"
		}
		if strings.Count(text, "notifications.set") != 4 || count(text, "notifications.set 127.0.0.1set") != 1 || count(text, "notifications.set …@nord.example") != 1 || strings.Contains(text, "maren@") || strings.Contains(text, "topic") || strings.Contains(text, "tk_") {
			t.Errorf("audit log:\n%s", text)
		}
	})
}

func (f *fixture) wantSettings(want notify.Settings) {
	f.t.Helper()
	got, err := f.service.Settings(f.t.Context(), f.owner.ID)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		f.t.Errorf("settings: error %v\n%s", err, diff)
	}
}

// Settings are sealed for their account: those of another account are refused.
func TestSettings_cannot_be_exchanged(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.confirm(f.owner, email)
		if got := storagetest.Rows(t, f.url, "SELECT settings FROM notification_settings"); len(got) != 1 || strings.Contains(got[0], "nord") {
			t.Errorf("stored settings %q", got)
		}
		storagetest.Exec(t, f.url, "UPDATE notification_settings SET account_id = 'acc_thief'")
		if set, err := f.service.Settings(t.Context(), "acc_thief"); err == nil {
			t.Errorf("got %+v, want an error", set)
		}
	})
}

func TestSetTimes_requires_a_known_zone_and_both_times(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, test := range []struct {
			set   notify.Times
			field string
		}{
			{notify.Times{Zone: "Europe/Atlantis"}, "zone"},
			{notify.Times{Zone: "Local"}, "zone"},
			{notify.Times{Zone: "../../etc/passwd"}, "zone"},
			{notify.Times{QuietFrom: "22:00"}, "quiet_to"},
			{notify.Times{QuietFrom: "25:00", QuietTo: "07:00"}, "quiet_from"},
		} {
			err := f.service.SetTimes(t.Context(), f.owner, test.set)
			if wrong, ok := errors.AsType[*notify.FieldError](err); !ok || wrong.Field != test.field {
				t.Errorf("%+v: error %v, want one about %s", test.set, err, test.field)
			}
		}
		f.must(f.service.SetTimes(t.Context(), f.owner, notify.Times{Zone: "Europe/Berlin", QuietFrom: "22:00", QuietTo: "07:00"}))
		f.wantSettings(notify.Settings{Zone: "Europe/Berlin", Quiet: notify.Quiet{From: 22 * 60, To: 7 * 60}})
	})
}

func TestSendTest_is_limited(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		if err := f.service.SendTest(ctx, f.owner, "shop"); !errors.Is(err, notify.ErrNoDestination) {
			t.Errorf("without a destination: error %v", err)
		}
		p := newPushServer(t)
		f.confirm(f.owner, email)
		f.must(f.service.SetDestinations(ctx, f.owner, notify.Destinations{Email: email, PushURL: p.URL}))
		f.must(f.service.SetTimes(ctx, f.owner, notify.Times{QuietFrom: "00:00", QuietTo: "23:59"}))
		for i := range 12 {
			switch err := f.service.SendTest(ctx, f.owner, "shop"); {
			case i < 10:
				f.must(err)
			case !errors.Is(err, notify.ErrTooMany):
				t.Errorf("message %d: error %v, want too many", i, err)
			}
			if err := f.service.SendTest(ctx, f.owner, "shop"); !errors.Is(err, notify.ErrTooMany) {
				t.Errorf("a second message %d at once: error %v, want too many", i, err)
			}
			f.run() // also in quiet hours
			f.clock.Advance(2 * time.Minute)
		}
		if got := f.letters(); len(got) != 10 || !strings.HasPrefix(got[0], "shop: Test message\n") {
			t.Errorf("got %d messages, the first %q", len(got), got[0])
		}
		if got := p.messages(); len(got) != 10 {
			t.Errorf("got %d push messages, want 10", len(got))
		}
	})
}

func TestDeleteMessages_keeps_pending_messages(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold)...)
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		f.mail.Stop()
		f.pay("inv2", "shop", "1048")
		f.run()
		f.must(f.storage.DeleteMessages(t.Context(), f.clock.Now().Add(time.Hour)))
		f.wantStates("mail sold pending")
	})
}
