package doctor

import (
	"context"
	"time"

	"chequer/internal/notify"
)

// Notifications reads the notifications of accounts.
type Notifications interface {
	// ChoosesMail reports whether an account has chosen e-mail.
	ChoosesMail(ctx context.Context) (bool, error)
	// FailedMessages returns the messages, except test messages, that were given up since a time, newest first.
	FailedMessages(ctx context.Context, since time.Time, limit int) ([]notify.Message, error)
}

// maxFailed bounds the number of failed messages that are counted.
const maxFailed = 1000

// examineNotifications reports messages that cannot be sent or were given up.
func (e *examination) examineNotifications(ctx context.Context) error {
	mail, err := e.Storage.ChoosesMail(ctx)
	if err != nil {
		return err
	}
	if mail && e.Settings.SMTPURL == "" {
		e.fail("notifications", "an account has chosen e-mail, and no mail server is set: CHEQUER_SMTP_URL")
	}
	failed, err := e.Storage.FailedMessages(ctx, e.Now().Add(-notify.ReportedFor), maxFailed)
	if err != nil {
		return err
	}
	if len(failed) > 0 {
		e.warn("notifications", "messages given up in the last 7 days: %d; the newest, by %s: %s", len(failed), failed[0].Channel, failed[0].Fault)
	}
	if e.Settings.SMTPURL != "" && len(failed) == 0 {
		e.ok("notifications", "e-mail is sent by %s", e.Settings.SMTP().Host)
	}
	return nil
}
