package app_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"chequer/internal/account"
	"chequer/internal/app"
	"chequer/internal/notify"
	"chequer/internal/notify/smtptest"
)

// A running server sends the messages of the outbox by the mail server of its settings.
func TestApp_sends_notifications(t *testing.T) {
	t.Parallel()
	mail := smtptest.New(t)
	mail.NoTLS, mail.User, mail.Password = true, "shop@nord.example", "p/w@1"
	mail.Start()
	p := demo(t, fmt.Sprintf("CHEQUER_SMTP_URL=smtp://shop%%40nord.example:p%%2Fw%%401@127.0.0.1:%d?tls=off", mail.Port()), "CHEQUER_BASE_URL=https://nord.example/pay")
	core, err := app.OpenCore(t.Context(), p.config, app.Options{Log: slog.New(slog.DiscardHandler)}) // as a command does
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	shop, err := core.FirstShop(t.Context(), p.config, app.Options{Demo: true})
	if err != nil {
		t.Fatal(err)
	}
	maren := account.Account{ID: "acc_1", Name: "Maren", Roles: map[string]account.Role{shop.ID: account.Owner}}
	err = core.Storage.ChangeTeam(t.Context(), "", func(account.Ticket, []account.Account) ([]account.Account, account.Outcome, error) {
		return []account.Account{maren}, account.Outcome{}, nil
	})
	if err == nil {
		err = core.Storage.UpdateNotificationSettings(t.Context(), maren.ID, func(set *notify.Settings) (notify.Update, error) {
			set.Email = "maren@nord.example"
			return notify.Update{}, nil
		})
	}
	if err == nil {
		err = core.Notifications.SendTest(t.Context(), maren, shop.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	<-mail.Arrived()
	got := mail.Messages()[0]
	if got.To != "maren@nord.example" || got.From != "shop@nord.example" || !strings.Contains(got.Text, "Subject: Demo shop: Test message\r\n") ||
		!strings.Contains(got.Text, "\r\nhttps://nord.example/pay/desk/"+shop.ID+"/account/notifications") {
		t.Errorf("got a message from %s to %s:\n%s", got.From, got.To, got.Text)
	}
}
