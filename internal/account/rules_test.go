package account_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
)

// The columns are the roles owner, manager, seller, bookkeeper and developer; s means that the role needs a step-up.
func TestRole_grants_the_permissions_of_the_table(t *testing.T) {
	t.Parallel()
	want := strings.TrimSpace(`
view payments:      yes yes no yes yes
sell:               yes yes no no yes
decide:             yes yes no no no
decide high risk:   s s no no no
export:             yes yes no yes no
configure:          yes yes no no no
manage keys:        s no no no s
view wallets:       yes yes no no no
manage wallets:     s no no no no
manage accounts:    s no no no no
manage shops:       s no no no no
back up:            s no no no no
manage sign-in:     s s s s s
view health:        yes yes no no yes
view audit log:     yes yes no yes yes
export audit log:   s s no s s
remove notes:       yes no no no no
view own terminals: no no yes no no`)
	var got []string
	for _, p := range account.Permissions {
		line := string(p) + ":"
		line += strings.Repeat(" ", 20-len(line))
		var cells []string
		for _, r := range account.Roles {
			cells = append(cells, map[account.Grant]string{account.Allowed: "yes", account.StepUp: "s", account.Denied: "no"}[r.Grant(p)])
		}
		got = append(got, line+strings.Join(cells, " "))
	}
	if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, r := range []account.Role{"", "root"} {
		for _, p := range account.Permissions {
			if r.Grant(p) != account.Denied {
				t.Errorf("role %q may %s", r, p)
			}
		}
	}
	if got := account.ManageWallets.Holders(); !slices.Equal(got, []account.Role{account.Owner}) {
		t.Errorf("wallets are managed by %v", got)
	}
}

func TestCheckName_normalizes_names_and_refuses_invisible_characters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"  Maren ": "Maren", "Zoë": "Zoë", "Zoe\u0308": "Zoë", "李 明": "李 明"} {
		if got, err := account.CheckName(text); err != nil || got != want {
			t.Errorf("CheckName(%q) = %q, error %v", text, got, err)
		}
	}
	for _, text := range []string{"", " ", "a\nb", "a\u202eb", "a\u200bb", "\xff", strings.Repeat("x", 41)} {
		if _, err := account.CheckName(text); err == nil {
			t.Errorf("CheckName(%q) accepted it", text)
		}
	}
	if account.NameKey("Straße") != account.NameKey("STRASSE") || account.NameKey("a") == account.NameKey("b") {
		t.Error("NameKey distinguishes the case of names, or does not distinguish names")
	}
}

func TestCheckPassword_refuses_passwords_that_are_easy_to_guess(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"correct horse battery", "vlieger-zon-markt", "πατάτες και ψάρι", "x7#kQ!92mvTz"} {
		if err := account.CheckPassword(password, "Maren"); err != nil {
			t.Errorf("%q: %v", password, err)
		}
	}
	for _, password := range []string{
		"", "short", "elevenchars", "aaaaaaaaaaaaaaaa", "123456789012", "abcdefghijklmnop", "987654321098", "password1234", "PASSWORD1234",
		"passwordpassword", "!!password!!!", "qwertyuiop123", "maren1234567", "marenmarenmaren", "1234567password", strings.Repeat("ab1 ", 200),
	} {
		err := account.CheckPassword(password, "Maren")
		if _, ok := errors.AsType[*account.FieldError](err); !ok {
			t.Errorf("%q was accepted", password)
		}
	}
}

func TestHash_matches_only_its_password(t *testing.T) {
	t.Parallel()
	hashOf := func(password string) string {
		t.Helper()
		hash, err := account.HashDefault(t.Context(), password)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	fits := func(hash, password string) bool {
		t.Helper()
		fits, err := account.CheckHash(t.Context(), hash, password)
		if err != nil {
			t.Error(err)
		}
		return fits
	}
	hash := hashOf("correct horse battery")
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("got %s", hash)
	}
	if !fits(hash, "correct horse battery") || fits(hash, "correct horse batterY") {
		t.Error("the hash does not distinguish passwords")
	}
	// The same text in another normal form, as another keyboard enters it.
	if !fits(hashOf("zo\u00eb zo\u00eb zo\u00eb"), "zoe\u0308 zoe\u0308 zoe\u0308") {
		t.Error("the hash depends on the normal form")
	}
	for _, malformed := range []string{"", "x", "$argon2id$", "$argon2i$v=19$m=64,t=1,p=1$AAAA$AAAA", "$argon2id$v=19$m=x,t=1,p=1$AAAA$AAAA"} {
		if fits(malformed, "") {
			t.Errorf("hash %q fits", malformed)
		}
	}
	// The comparison for an unknown name takes as long, because its hash has the same parameters.
	prefix := func(hash string) string { return hash[:strings.LastIndex(hash[:strings.LastIndex(hash, "$")], "$")] }
	if prefix(account.DefaultAbsent()) != prefix(hash) || len(account.DefaultAbsent()) != len(hash) {
		t.Errorf("names without an account are compared with %s, want the parameters and the length of %s", account.DefaultAbsent(), hash)
	}
}

// A caller whose context has ended does not wait for other calculations.
func TestHash_waits_until_the_context_ends(t *testing.T) {
	release := account.Hashing()
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := account.HashDefault(ctx, password); !errors.Is(err, context.Canceled) {
		t.Errorf("new hash: got error %v", err)
	}
	if _, err := account.CheckHash(ctx, account.DefaultAbsent(), password); !errors.Is(err, context.Canceled) {
		t.Errorf("comparison: got error %v", err)
	}
}

func TestAttempts_double_their_delay_until_disabled(t *testing.T) {
	t.Parallel()
	var attempts account.Attempts
	now := noon
	var waits []time.Duration
	for range 9 {
		if err := attempts.Begin(now); err != nil {
			t.Fatal(err)
		}
		waits = append(waits, 0)
		for err := attempts.Begin(now); err != nil; err = attempts.Begin(now) {
			wait, ok := errors.AsType[*account.WaitError](err)
			if !ok {
				t.Fatal(err)
			}
			waits[len(waits)-1] += wait.Wait
			now = now.Add(wait.Wait)
		}
		attempts.Undo()
		if attempts.Disable(now) {
			t.Errorf("disabled after %d failures", attempts.Failures)
		}
	}
	s := time.Second
	if want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s, 60 * s}; !slices.Equal(waits, want) {
		t.Errorf("waits are %v, want %v", waits, want)
	}
	if err := attempts.Begin(now); err != nil || !attempts.Disable(now) || attempts.Disable(now) {
		t.Errorf("the tenth failure does not disable once, error %v", err)
	}
	if err := attempts.Begin(now.Add(time.Hour - 1)); err == nil {
		t.Error("an attempt was made while disabled")
	}
	if err := attempts.Begin(now.Add(time.Hour)); err != nil {
		t.Error(err)
	}
}

func TestNewSite_requires_https_outside_this_machine(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]account.Site{
		"https://shop.example":            {Origin: "https://shop.example", Host: "shop.example", Secure: true},
		"https://shop.example:8443/pay/":  {Origin: "https://shop.example:8443", Host: "shop.example", Path: "/pay", Secure: true},
		"http://127.0.0.1:8080":           {Origin: "http://localhost:8080", Host: "localhost"},
		"http://[::1]:8080":               {Origin: "http://localhost:8080", Host: "localhost"},
		"http://localhost:8080":           {Origin: "http://localhost:8080", Host: "localhost"},
		"https://192.0.2.1":               {Origin: "https://192.0.2.1", Host: "192.0.2.1", Secure: true},
		"https://[2001:db8::1]:8443/shop": {Origin: "https://[2001:db8::1]:8443", Host: "2001:db8::1", Path: "/shop", Secure: true},
	} {
		got, err := account.NewSite(base)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", base, err, diff)
		}
	}
	for _, base := range []string{"http://shop.example", "http://192.168.1.5:8080", "http://localhost.example"} {
		if _, err := account.NewSite(base); !errors.Is(err, account.ErrInsecure) {
			t.Errorf("%s: got error %v", base, err)
		}
	}
	if s, _ := account.NewSite("https://192.0.2.1"); s.Passkeys() {
		t.Error("a site without a name has passkeys")
	}
}
