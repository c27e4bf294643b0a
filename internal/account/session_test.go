package account_test

import (
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/storage/storagetest"
)

func TestSession_ends_after_14_days_or_12_idle_hours(t *testing.T) {
	t.Parallel()
	desk := newDesk(t)
	ctx := t.Context()
	in, _ := desk.owner()
	s, a, err := desk.Session(ctx, in.Token)
	if err != nil || a.Name != "Maren" || s.Client != browser {
		t.Errorf("got %+v of %s, error %v", s, a.Name, err)
	}
	if raw := strings.Join(storagetest.Rows(t, desk.url, "SELECT token_hash FROM desk_sessions"), ""); strings.Contains(raw, in.Token) {
		t.Error("the token is stored")
	}
	_, _, err = desk.Session(ctx, s.Hash)
	wantErr(t, "hash as a token", err, account.ErrNotFound)

	next, err := desk.SignInPassword(ctx, "Maren", password, desk.code("Maren"), browser, s.Hash)
	if err != nil || next.Token == in.Token {
		t.Fatalf("sign-in: error %v", err)
	}
	_, _, err = desk.Session(ctx, in.Token)
	wantErr(t, "session before the sign-in", err, account.ErrNotFound)

	desk.clock.Advance(10*time.Minute - 1)
	if s, _, _ := desk.Session(ctx, next.Token); !s.SteppedUp(desk.clock.Now()) {
		t.Error("the confirmation ended early")
	}
	desk.clock.Advance(1)
	if s, _, _ := desk.Session(ctx, next.Token); s.SteppedUp(desk.clock.Now()) {
		t.Error("the confirmation is still valid after 10 minutes")
	}
	for range 27 { // 13.5 days, used every 12 hours
		desk.clock.Advance(12*time.Hour - time.Minute)
		if _, _, err := desk.Session(ctx, next.Token); err != nil {
			t.Fatal(err)
		}
	}
	desk.clock.Advance(11 * time.Hour)
	if _, _, err := desk.Session(ctx, next.Token); err != nil {
		t.Fatal(err)
	}
	desk.clock.Advance(2 * time.Hour)
	_, _, err = desk.Session(ctx, next.Token)
	wantErr(t, "after 14 days", err, account.ErrNotFound)

	idle, _ := desk.SignInPassword(ctx, "Maren", password, desk.code("Maren"), browser, "")
	desk.clock.Advance(12 * time.Hour)
	_, _, err = desk.Session(ctx, idle.Token)
	wantErr(t, "after 12 idle hours", err, account.ErrNotFound)
}

func TestEndSessions_ends_only_other_sessions_of_the_account(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	first, _ := d.owner()
	second, _ := d.SignInPassword(ctx, "Maren", password, d.code("Maren"), browser, "")
	other := d.invite("Tove", account.Manager)
	wantErr(t, "a session of another account", d.EndSession(ctx, other.Account, first.Session.ID()), account.ErrNotFound)
	if n, err := d.EndSessions(ctx, first.Account, second.Session.Hash); n != 1 || err != nil {
		t.Errorf("ended %d, error %v", n, err)
	}
	if sessions, err := d.Sessions(ctx, first.Account.ID); err != nil || len(sessions) != 1 || sessions[0].Hash != second.Session.Hash {
		t.Errorf("left %+v, error %v", sessions, err)
	}
	wantErr(t, "no session", d.EndSession(ctx, first.Account, ""), account.ErrNotFound)
	if sessions, err := d.Sessions(ctx, first.Account.ID); err != nil || len(sessions) != 1 {
		t.Errorf("without a session's ID %d of 1 sessions are left, error %v", len(sessions), err)
	}
	if err := d.EndSession(ctx, first.Account, second.Session.ID()); err != nil {
		t.Error(err)
	}
}

func TestStepUpPassword_refuses_recovery_codes_without_using_them(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	in, codes := d.owner()
	d.clock.Advance(time.Hour)
	wantErr(t, "a recovery code", d.StepUpPassword(ctx, in.Account, in.Session, password, codes[0]), account.ErrSignIn)
	d.clock.Advance(2 * time.Minute)
	if err := d.StepUpPassword(ctx, in.Account, in.Session, password, d.code("Maren")); err != nil {
		t.Fatal(err)
	}
	if s, _, err := d.Session(ctx, in.Token); err != nil || !s.SteppedUp(d.clock.Now()) {
		t.Errorf("got %+v, error %v", s, err)
	}
	d.clock.Advance(2 * time.Minute)
	if _, err := d.SignInPassword(ctx, "Maren", password, codes[0], browser, ""); err != nil {
		t.Errorf("the recovery code was used up by a refused confirmation: %v", err)
	}
}
