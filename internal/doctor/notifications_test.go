package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/audit"
	"chequer/internal/config"
	"chequer/internal/notify"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

func TestExamineNotifications_reports_missing_servers_and_failed_messages(t *testing.T) {
	storagetest.OnBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		now := storagetest.Noon
		var got []string
		examine := func(smtp string) {
			t.Helper()
			e := &examination{Config: Config{Settings: config.Config{SMTPURL: smtp, SMTPFrom: "shop@nord.example"}, Storage: s, Now: func() time.Time { return now }}}
			if err := e.examineNotifications(t.Context()); err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.Join(e.lines(), "\n"))
		}
		const smtp = "smtps://u:hunter2@mail.nord.example"
		examine("")
		examine(smtp)
		err := s.SaveNotificationChoices(t.Context(), "acc_1", "shop", []notify.Choice{{Kind: notify.Sold, Channel: notify.Mail}}, 1, audit.Change{})
		if err != nil {
			t.Fatal(err)
		}
		examine("")
		examine(smtp)
		err = s.AddTestMessage(t.Context(), notify.Request{
			Entries: []notify.Entry{{AccountID: "acc_1", Channel: notify.Mail, Kind: notify.Sold, DueAt: now}}, Now: now, Since: now, DayAgo: now, MaxDay: 1,
		}, audit.Change{})
		if err != nil {
			t.Fatal(err)
		}
		claims, err := s.ClaimMessages(t.Context(), notify.Mail, now, now.Add(time.Minute), 1)
		if err != nil || len(claims) != 1 {
			t.Fatalf("got %d claims, error %v", len(claims), err)
		}
		if err := s.SaveOutcome(t.Context(), claims[0], notify.Outcome{State: notify.Failed, At: now, Fault: "550 no such mailbox"}); err != nil {
			t.Fatal(err)
		}
		examine(smtp)
		now = now.AddDate(0, 0, 8)
		examine(smtp)
		want := []string{
			"",
			"ok notifications: e-mail is sent by mail.nord.example",
			"fail notifications: an account has chosen e-mail, and no mail server is set: CHEQUER_SMTP_URL",
			"ok notifications: e-mail is sent by mail.nord.example",
			"warn notifications: messages given up in the last 7 days: 1; the newest, by mail: 550 no such mailbox",
			"ok notifications: e-mail is sent by mail.nord.example",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
