package account_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"chequer/internal/account"
)

func TestSignInPassword_needs_password_and_code_each_used_once(t *testing.T) {
	t.Parallel()
	desk := newDesk(t)
	ctx := t.Context()
	_, codes := desk.owner()
	signIn := func(name, password, code string) (account.SignedIn, error) {
		t.Helper()
		desk.clock.Advance(2 * time.Minute) // longer than every delay
		if code == "now" {
			code = desk.code("Maren")
		}
		return desk.SignInPassword(ctx, name, password, code, browser, "")
	}
	for fault, credentials := range map[string][3]string{
		"password_alone":     {"Maren", password, ""},
		"wrong_password":     {"Maren", "correct horse batterY", "now"},
		"wrong_code":         {"Maren", password, "000000"},
		"unknown_name":       {"Nora", password, "now"},
		"no_name":            {"", password, "now"},
		"code_as_a_password": {"Maren", codes[0], "now"},
	} {
		_, err := signIn(credentials[0], credentials[1], credentials[2])
		wantErr(t, fault, err, account.ErrSignIn)
		if err != nil && err.Error() != account.ErrSignIn.Error() {
			t.Errorf("%s: the error is %q, want %q", fault, err, account.ErrSignIn)
		}
	}
	in, err := signIn(" MAREN ", password, "now")
	if err != nil || in.Session.Method != account.ByPassword || !in.Session.SteppedUp(desk.clock.Now()) {
		t.Fatalf("got %+v, error %v", in, err)
	}
	usedCode := desk.code("Maren")
	_, err = desk.SignInPassword(ctx, "Maren", password, usedCode, browser, "")
	wantErr(t, "code used twice", err, account.ErrSignIn)
	in, err = signIn("Maren", password, strings.ToUpper(strings.ReplaceAll(codes[3], "-", " ")))
	if err != nil || in.Session.Method != account.ByRecovery || in.Session.SteppedUp(desk.clock.Now()) {
		t.Errorf("recovery code: got %+v, error %v", in, err)
	}
	_, err = signIn("Maren", password, codes[3])
	wantErr(t, "recovery code used twice", err, account.ErrSignIn)
}

// A code is accepted at most one time step of 30 s (RFC 6238) early or late, and refused after a later code was
// used.
func TestCode_accepts_one_time_step_of_skew(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.owner()
	for _, tt := range []struct {
		skew time.Duration
		ok   bool
	}{{-60 * time.Second, false}, {-30 * time.Second, true}, {0, true}, {30 * time.Second, true}, {60 * time.Second, false}} {
		d.clock.Advance(time.Hour)
		code, _ := totp.GenerateCode(d.seeds["Maren"], d.clock.Now().Add(tt.skew))
		if _, err := d.SignInPassword(t.Context(), "Maren", password, code, browser, ""); (err == nil) != tt.ok {
			t.Errorf("code of %s later: error %v", tt.skew, err)
		}
	}
	d.clock.Advance(time.Hour)
	now := d.clock.Now()
	early, _ := totp.GenerateCode(d.seeds["Maren"], now)
	nextCode, _ := totp.GenerateCode(d.seeds["Maren"], now.Add(30*time.Second))
	if _, err := d.SignInPassword(t.Context(), "Maren", password, nextCode, browser, ""); err != nil {
		t.Fatal(err)
	}
	d.clock.Advance(2 * time.Second)
	_, err := d.SignInPassword(t.Context(), "Maren", password, early, browser, "")
	wantErr(t, "code before the last one", err, account.ErrSignIn)
}

// An attacker that tries passwords is delayed, and after ten failures stopped for an hour. Names
// without an account behave the same.
func TestSignInPassword_locks_out(t *testing.T) {
	t.Parallel()
	desk := newDesk(t)
	ctx := t.Context()
	desk.owner()
	for _, name := range []string{"Maren", "Nora"} {
		var total time.Duration
		for i := range 10 {
			client := account.Client{Address: fmt.Sprintf("2001:db8::%x", i+1)}
			_, err := desk.SignInPassword(ctx, name, "wrong password", "000000", client, "")
			wantErr(t, name, err, account.ErrSignIn)
			if i == 9 {
				break
			}
			_, err = desk.SignInPassword(ctx, name, password, "000000", account.Client{Address: fmt.Sprintf("198.51.100.%d", i+1)}, "")
			wait, ok := errors.AsType[*account.WaitError](err)
			if !ok {
				t.Fatalf("%s, failure %d from another address: got error %v", name, i+1, err)
			}
			total += wait.Wait
			desk.clock.Advance(wait.Wait)
		}
		if want := (1 + 2 + 4 + 8 + 16 + 32 + 60 + 60 + 60) * time.Second; total != want {
			t.Errorf("%s: ten attempts take %s, want %s", name, total, want)
		}
		desk.clock.Advance(2 * time.Minute)
		_, err := desk.SignInPassword(ctx, name, password, desk.code("Maren"), account.Client{Address: "203.0.113.5"}, "")
		wait, ok := errors.AsType[*account.WaitError](err)
		if !ok || wait.Wait != 58*time.Minute {
			t.Errorf("%s after ten failures: got error %v", name, err)
		}
	}
	desk.clock.Advance(time.Hour)
	if _, err := desk.SignInPassword(ctx, "Maren", password, desk.code("Maren"), browser, ""); err != nil {
		t.Errorf("after an hour: %v", err)
	}
	if got := strings.Count(strings.Join(desk.actions(), "\n"), "sign_in.disabled"); got != 2 {
		t.Errorf("the log has %d entries of disabled passwords, want 2", got)
	}
}

// One address that tries many names is delayed as well.
func TestSignInPassword_delays_an_address(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.owner()
	_, err := d.SignInPassword(t.Context(), "Nora", password, "", browser, "")
	wantErr(t, "first name", err, account.ErrSignIn)
	_, err = d.SignInPassword(t.Context(), "Maren", password, d.code("Maren"), browser, "")
	if _, ok := errors.AsType[*account.WaitError](err); !ok {
		t.Errorf("second name: got error %v", err)
	}
}
