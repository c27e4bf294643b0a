package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/config"
)

func TestSMTP_requires_TLS_and_hides_the_password(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		url, from string
		want      config.SMTP
		fault     string
	}{
		{"", "", config.SMTP{}, ""},
		{"smtp://shop%40nord.example:p%2Fss%40@mail.nord.example", "", config.SMTP{Host: "mail.nord.example", Port: 587, TLS: config.StartTLS, User: "shop@nord.example", Password: "p/ss@", From: "shop@nord.example"}, ""},
		{"smtps://u:hunter2@mail.nord.example", "shop@nord.example", config.SMTP{Host: "mail.nord.example", Port: 465, TLS: config.ImplicitTLS, User: "u", Password: "hunter2", From: "shop@nord.example"}, ""},
		{"smtps://u:hunter2@mail.nord.example:8465/", "shop@nord.example", config.SMTP{Host: "mail.nord.example", Port: 8465, TLS: config.ImplicitTLS, User: "u", Password: "hunter2", From: "shop@nord.example"}, ""},
		{"smtp://127.0.0.1:25?tls=off", "shop@nord.example", config.SMTP{Host: "127.0.0.1", Port: 25, TLS: config.NoTLS, From: "shop@nord.example"}, ""},
		{"smtp://mail.nord.example:25?tls=off", "shop@nord.example", config.SMTP{}, "only for smtp and an IP address of this machine"},
		{"smtps://127.0.0.1?tls=off", "shop@nord.example", config.SMTP{}, "only for smtp and an IP address of this machine"},
		{"smtp://mail.nord.example?tls=maybe", "shop@nord.example", config.SMTP{}, "must be smtp://"},
		{"smtp://u:hunter2@mail.nord.example", "", config.SMTP{}, "CHEQUER_SMTP_FROM: is not an e-mail address"},
		{"smtp://mail.nord.example", "shop@nord.example\r\nBcc: a@b.example", config.SMTP{}, "CHEQUER_SMTP_FROM: is not an e-mail address"},
		{"smtp://u@mail.nord.example", "shop@nord.example", config.SMTP{}, "a user without a password"},
		{"http://u:hunter2@mail.nord.example", "shop@nord.example", config.SMTP{}, "must be smtp://"},
		{"smtp://u:hunter2/@mail.nord.example", "shop@nord.example", config.SMTP{}, "must be smtp://"},
		{"smtp://u:hunter2@mail.nord.example:0", "shop@nord.example", config.SMTP{}, "must be smtp://"},
		{"smtp://u:hunter2@mail.nord.example:99999", "shop@nord.example", config.SMTP{}, "must be smtp://"},
		{"", "shop@nord.example", config.SMTP{}, "goes together with CHEQUER_SMTP_URL"},
	} {
		c, err := config.Load([]string{"CHEQUER_SMTP_URL=" + test.url, "CHEQUER_SMTP_FROM=" + test.from})
		if test.fault == "" && err != nil || test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)) {
			t.Errorf("%q from %q: error %v, want %q", test.url, test.from, err, test.fault)
			continue
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error contains the password: %v", test.url, err)
		}
		if diff := cmp.Diff(c.SMTP(), test.want); diff != "" {
			t.Errorf("%q from %q: %s", test.url, test.from, diff)
		}
		for _, s := range c.Settings() {
			if strings.Contains(s.Value, "hunter2") || strings.Contains(s.Value, "p%2Fss") {
				t.Errorf("%s shows the password: %q", s.Name, s.Value)
			}
		}
	}
}
