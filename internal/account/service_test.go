package account_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/pquerna/otp/totp"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/clocktest"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/token"
)

var noon = storagetest.Noon

const password = "correct horse battery"

// desk is a service with its storage, its clock and the authenticator app of its accounts.
type desk struct {
	*account.Service
	t       *testing.T
	storage *storage.Storage
	clock   *clocktest.Clock
	url     string
	seeds   map[string]string // by name
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, url: storagetest.File(t), clock: clocktest.At(noon), seeds: map[string]string{}}
	d.storage = storagetest.Open(t, d.url)
	d.Service = d.at("https://shop.example")
	return d
}

// at returns the service at another base URL.
func (d *desk) at(base string) *account.Service {
	d.t.Helper()
	site, err := account.NewSite(base)
	if err != nil {
		d.t.Fatal(err)
	}
	s, err := account.NewService(account.Config{
		Storage: d.storage, Box: storagetest.Box(d.t, 1), Site: site, Issuer: "Atelier Nord", Now: d.clock.Now, Token: token.New,
	})
	if err != nil {
		d.t.Fatal(err)
	}
	s.Quick()
	return s
}

var browser = account.Client{Address: "192.0.2.7", Browser: "Firefox on Linux"}

func (d *desk) code(name string) string {
	d.t.Helper()
	code, err := totp.GenerateCode(d.seeds[name], d.clock.Now())
	if err != nil {
		d.t.Fatal(err)
	}
	return code
}

// join uses a link with a password.
func (d *desk) join(token, name string) (account.SignedIn, []string) {
	d.t.Helper()
	offer, err := d.OfferJoinPassword(d.t.Context(), token, name, password)
	if err != nil {
		d.t.Fatal(err)
	}
	d.seeds[name] = offer.Seed
	in, err := d.JoinPassword(d.t.Context(), token, offer.Sealed, d.code(name), browser, "")
	if err != nil {
		d.t.Fatal(err)
	}
	d.clock.Pass(time.Minute) // so that the next code is another one
	return in, offer.Codes
}

// owner creates the first account.
func (d *desk) owner() (account.SignedIn, []string) {
	d.t.Helper()
	link, err := d.NewStart(d.t.Context(), "shop")
	if err != nil {
		d.t.Fatal(err)
	}
	return d.join(link.Token, "Maren")
}

// invite creates another account.
func (d *desk) invite(name string, role account.Role) account.SignedIn {
	d.t.Helper()
	link, err := d.Invite(d.t.Context(), map[string]account.Role{"shop": role})
	if err != nil {
		d.t.Fatal(err)
	}
	in, _ := d.join(link.Token, name)
	return in
}

func wantErr(t *testing.T, doing string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", doing, err, want)
	}
}

// actions returns the actions of the audit log with their actors, oldest first.
func (d *desk) actions() (all []string) {
	d.t.Helper()
	entries, err := d.storage.AuditLog(d.t.Context(), 0, 100)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		all = append([]string{e.Actor.String() + " " + e.Change.Action}, all...)
	}
	return all
}

func TestStart(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	if set, err := d.SetUp(ctx); set || err != nil {
		t.Errorf("set up: %v, error %v", set, err)
	}
	expired, err := d.NewStart(ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(expired.Token); n != 22 {
		t.Errorf("the token has %d characters, want 22 for 128 bits", n)
	}
	d.clock.Pass(30 * time.Minute)
	_, _, err = d.Ticket(ctx, expired.Token)
	wantErr(t, "expired link", err, account.ErrTicket)
	first, _ := d.NewStart(ctx, "shop")
	second, _ := d.NewStart(ctx, "shop")
	offer, err := d.OfferJoinPassword(ctx, second.Token, "Tove", password)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := d.join(first.Token, "Maren")
	if in.Account.Role("shop") != account.Owner || in.Session.Method != account.ByTicket || !in.Session.SteppedUp(d.clock.Now()) {
		t.Errorf("signed in as %+v", in)
	}
	code, _ := totp.GenerateCode(offer.Seed, d.clock.Now())
	_, err = d.JoinPassword(ctx, second.Token, offer.Sealed, code, browser, "")
	wantErr(t, "another link of the first run", err, account.ErrTicket)
	_, _, err = d.Ticket(ctx, first.Token)
	wantErr(t, "used link", err, account.ErrTicket)
	_, err = d.NewStart(ctx, "shop")
	wantErr(t, "link after the first run", err, account.ErrSetUp)
	if all, _ := d.Team(ctx); len(all) != 1 {
		t.Errorf("there are %d accounts", len(all))
	}
}

func TestInvite(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	d.owner()
	roles := map[string]account.Role{"shop": account.Bookkeeper}
	link, err := d.Invite(ctx, roles)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := d.Invitations(ctx); err != nil || len(all) != 1 || all[0].ExpiresAt != d.clock.Now().Add(48*time.Hour) {
		t.Errorf("invitations: %+v, error %v", all, err)
	}
	_, err = d.OfferJoinPassword(ctx, link.Token, "ＭＡＲＥＮ", password)
	wantErr(t, "name of another account", err, account.ErrExists)
	in, _ := d.join(link.Token, "Runa")
	if in.Account.Role("shop") != account.Bookkeeper {
		t.Errorf("roles are %v", in.Account.Roles)
	}
	_, err = d.OfferJoinPassword(ctx, link.Token, "Runa 2", password)
	wantErr(t, "invitation used twice", err, account.ErrTicket)
	link, _ = d.Invite(ctx, roles)
	if err := d.Withdraw(ctx, link.Ticket.ID); err != nil {
		t.Error(err)
	}
	_, _, err = d.Ticket(ctx, link.Token)
	wantErr(t, "withdrawn invitation", err, account.ErrTicket)
	link, _ = d.Invite(ctx, roles)
	d.clock.Pass(48 * time.Hour)
	_, _, err = d.Ticket(ctx, link.Token)
	wantErr(t, "expired invitation", err, account.ErrTicket)
	for _, bad := range []map[string]account.Role{nil, {"shop": "root"}} {
		if _, err := d.Invite(ctx, bad); err == nil {
			t.Errorf("roles %v were accepted", bad)
		}
	}
}

// An offer is bound to the link for which it was made: its name and roles cannot be moved to another.
func TestJoin_refuses_offers_of_another_link(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	in, _ := d.owner()
	one, _ := d.Invite(ctx, map[string]account.Role{"shop": account.Seller})
	two, _ := d.Invite(ctx, map[string]account.Role{"shop": account.Owner})
	offer, err := d.OfferJoinPassword(ctx, one.Token, "Jonas", password)
	if err != nil {
		t.Fatal(err)
	}
	code, _ := totp.GenerateCode(offer.Seed, d.clock.Now())
	_, err = d.JoinPassword(ctx, two.Token, offer.Sealed, code, browser, "")
	wantErr(t, "another invitation", err, account.ErrOffer)
	wantErr(t, "an account", d.AcceptPassword(ctx, in.Account.ID, offer.Sealed, code), account.ErrOffer)
	wantErr(t, "a wrong code", func() error {
		_, err := d.JoinPassword(ctx, one.Token, offer.Sealed, "000000", browser, "")
		return err
	}(), account.ErrCode)
	d.clock.Pass(15 * time.Minute)
	code, _ = totp.GenerateCode(offer.Seed, d.clock.Now())
	_, err = d.JoinPassword(ctx, one.Token, offer.Sealed, code, browser, "")
	wantErr(t, "an expired offer", err, account.ErrOffer)
}

func TestSignInPassword(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	_, codes := d.owner()
	signIn := func(name, password, code string) (account.SignedIn, error) {
		t.Helper()
		d.clock.Pass(2 * time.Minute) // longer than every delay
		if code == "now" {
			code = d.code("Maren")
		}
		return d.SignInPassword(ctx, name, password, code, browser, "")
	}
	for doing, given := range map[string][3]string{
		"password_alone":     {"Maren", password, ""},
		"wrong_password":     {"Maren", "correct horse batterY", "now"},
		"wrong_code":         {"Maren", password, "000000"},
		"unknown_name":       {"Nora", password, "now"},
		"no_name":            {"", password, "now"},
		"code_as_a_password": {"Maren", codes[0], "now"},
	} {
		_, err := signIn(given[0], given[1], given[2])
		wantErr(t, doing, err, account.ErrSignIn)
		if err != nil && err.Error() != account.ErrSignIn.Error() {
			t.Errorf("%s: the answer is %q", doing, err)
		}
	}
	in, err := signIn(" MAREN ", password, "now")
	if err != nil || in.Session.Method != account.ByPassword || !in.Session.SteppedUp(d.clock.Now()) {
		t.Fatalf("got %+v, error %v", in, err)
	}
	used := d.code("Maren")
	_, err = d.SignInPassword(ctx, "Maren", password, used, browser, "")
	wantErr(t, "code used twice", err, account.ErrSignIn)
	in, err = signIn("Maren", password, strings.ToUpper(strings.ReplaceAll(codes[3], "-", " ")))
	if err != nil || in.Session.Method != account.ByRecovery || in.Session.SteppedUp(d.clock.Now()) {
		t.Errorf("recovery code: got %+v, error %v", in, err)
	}
	_, err = signIn("Maren", password, codes[3])
	wantErr(t, "recovery code used twice", err, account.ErrSignIn)
}

// Clocks differ by at most one step, and a code is not accepted after a later one.
func TestCode_skew(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.owner()
	for _, tt := range []struct {
		skew time.Duration
		ok   bool
	}{{-60 * time.Second, false}, {-30 * time.Second, true}, {0, true}, {30 * time.Second, true}, {60 * time.Second, false}} {
		d.clock.Pass(time.Hour)
		code, _ := totp.GenerateCode(d.seeds["Maren"], d.clock.Now().Add(tt.skew))
		if _, err := d.SignInPassword(t.Context(), "Maren", password, code, browser, ""); (err == nil) != tt.ok {
			t.Errorf("code of %s later: error %v", tt.skew, err)
		}
	}
	d.clock.Pass(time.Hour)
	now := d.clock.Now()
	early, _ := totp.GenerateCode(d.seeds["Maren"], now)
	late, _ := totp.GenerateCode(d.seeds["Maren"], now.Add(30*time.Second))
	if _, err := d.SignInPassword(t.Context(), "Maren", password, late, browser, ""); err != nil {
		t.Fatal(err)
	}
	d.clock.Pass(2 * time.Second)
	_, err := d.SignInPassword(t.Context(), "Maren", password, early, browser, "")
	wantErr(t, "code before the last one", err, account.ErrSignIn)
}

// An attacker that tries passwords is delayed, and after ten failures stopped for an hour. Names
// without an account behave the same.
func TestSignInPassword_locks_out(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	d.owner()
	for _, name := range []string{"Maren", "Nora"} {
		var total time.Duration
		for i := range 10 {
			client := account.Client{Address: "2001:db8::" + string(rune('a'+i))}
			_, err := d.SignInPassword(ctx, name, "wrong password", "000000", client, "")
			wantErr(t, name, err, account.ErrSignIn)
			if i == 9 {
				break
			}
			_, err = d.SignInPassword(ctx, name, password, "000000", account.Client{Address: "198.51.100.1" + string(rune('0'+i))}, "")
			wait, is := errors.AsType[*account.WaitError](err)
			if !is {
				t.Fatalf("%s, failure %d from another address: got error %v", name, i+1, err)
			}
			total += wait.Wait
			d.clock.Pass(wait.Wait)
		}
		if want := (1 + 2 + 4 + 8 + 16 + 32 + 60 + 60 + 60) * time.Second; total != want {
			t.Errorf("%s: ten attempts take %s, want %s", name, total, want)
		}
		d.clock.Pass(2 * time.Minute)
		_, err := d.SignInPassword(ctx, name, password, d.code("Maren"), account.Client{Address: "203.0.113.5"}, "")
		wait, is := errors.AsType[*account.WaitError](err)
		if !is || wait.Wait != 58*time.Minute {
			t.Errorf("%s after ten failures: got error %v", name, err)
		}
	}
	d.clock.Pass(time.Hour)
	if _, err := d.SignInPassword(ctx, "Maren", password, d.code("Maren"), browser, ""); err != nil {
		t.Errorf("after an hour: %v", err)
	}
	if got := strings.Count(strings.Join(d.actions(), "\n"), "sign_in.disabled"); got != 2 {
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
	if _, is := errors.AsType[*account.WaitError](err); !is {
		t.Errorf("second name: got error %v", err)
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	in, _ := d.owner()
	s, a, err := d.Session(ctx, in.Token)
	if err != nil || a.Name != "Maren" || s.Client != browser {
		t.Errorf("got %+v of %s, error %v", s, a.Name, err)
	}
	if raw := strings.Join(storagetest.Rows(t, d.url, "SELECT token_hash FROM desk_sessions"), ""); strings.Contains(raw, in.Token) {
		t.Error("the token is stored")
	}
	_, _, err = d.Session(ctx, s.Hash)
	wantErr(t, "hash as a token", err, account.ErrNotFound)

	next, err := d.SignInPassword(ctx, "Maren", password, d.code("Maren"), browser, s.Hash)
	if err != nil || next.Token == in.Token {
		t.Fatalf("sign-in: error %v", err)
	}
	_, _, err = d.Session(ctx, in.Token)
	wantErr(t, "session before the sign-in", err, account.ErrNotFound)

	d.clock.Pass(10*time.Minute - 1)
	if s, _, _ := d.Session(ctx, next.Token); !s.SteppedUp(d.clock.Now()) {
		t.Error("the confirmation ended early")
	}
	d.clock.Pass(1)
	if s, _, _ := d.Session(ctx, next.Token); s.SteppedUp(d.clock.Now()) {
		t.Error("the confirmation is still valid after 10 minutes")
	}
	for range 27 { // 13.5 days, used every 12 hours
		d.clock.Pass(12*time.Hour - time.Minute)
		if _, _, err := d.Session(ctx, next.Token); err != nil {
			t.Fatal(err)
		}
	}
	d.clock.Pass(11 * time.Hour)
	if _, _, err := d.Session(ctx, next.Token); err != nil {
		t.Fatal(err)
	}
	d.clock.Pass(2 * time.Hour)
	_, _, err = d.Session(ctx, next.Token)
	wantErr(t, "after 14 days", err, account.ErrNotFound)

	idle, _ := d.SignInPassword(ctx, "Maren", password, d.code("Maren"), browser, "")
	d.clock.Pass(12 * time.Hour)
	_, _, err = d.Session(ctx, idle.Token)
	wantErr(t, "after 12 idle hours", err, account.ErrNotFound)
}

func TestEndSessions(t *testing.T) {
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
	if all, err := d.Sessions(ctx, first.Account.ID); err != nil || len(all) != 1 || all[0].Hash != second.Session.Hash {
		t.Errorf("left %+v, error %v", all, err)
	}
	if err := d.EndSession(ctx, first.Account, second.Session.ID()); err != nil {
		t.Error(err)
	}
}

func TestStepUpPassword(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	in, codes := d.owner()
	d.clock.Pass(time.Hour)
	wantErr(t, "a recovery code", d.StepUpPassword(ctx, in.Account, in.Session, password, codes[0]), account.ErrSignIn)
	d.clock.Pass(2 * time.Minute)
	if err := d.StepUpPassword(ctx, in.Account, in.Session, password, d.code("Maren")); err != nil {
		t.Fatal(err)
	}
	if s, _, err := d.Session(ctx, in.Token); err != nil || !s.SteppedUp(d.clock.Now()) {
		t.Errorf("got %+v, error %v", s, err)
	}
	d.clock.Pass(2 * time.Minute)
	if _, err := d.SignInPassword(ctx, "Maren", password, codes[0], browser, ""); err != nil {
		t.Errorf("the recovery code was used up by a refused confirmation: %v", err)
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	in, _ := d.owner()
	_, err := d.Recover(ctx, "Nora")
	wantErr(t, "unknown name", err, account.ErrNotFound)
	expired, _ := d.Recover(ctx, "maren")
	_, _, err = d.Session(ctx, in.Token)
	wantErr(t, "session after the recovery", err, account.ErrNotFound)
	d.clock.Pass(30 * time.Minute)
	_, _, err = d.Ticket(ctx, expired.Token)
	wantErr(t, "expired link", err, account.ErrTicket)
	link, err := d.Recover(ctx, "maren")
	if err != nil {
		t.Fatal(err)
	}
	old := d.code("Maren")
	again, _ := d.join(link.Token, "Maren")
	if again.Account.ID != in.Account.ID {
		t.Errorf("recovered account %s", again.Account.ID)
	}
	_, err = d.SignInPassword(ctx, "Maren", password, old, browser, "")
	wantErr(t, "code of the former app", err, account.ErrSignIn)
	d.clock.Pass(2 * time.Minute)
	if _, err := d.SignInPassword(ctx, "Maren", password, d.code("Maren"), browser, ""); err != nil {
		t.Errorf("with the new app: %v", err)
	}
	if all, _ := d.Team(ctx); len(all) != 1 {
		t.Errorf("there are %d accounts", len(all))
	}
}

func TestTeam(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := audit.With(t.Context(), audit.Actor{Kind: audit.Account, Name: "Maren"})
	owner, _ := d.owner()
	tove := d.invite("Tove", account.Manager)
	wantErr(t, "the last owner's role", d.SetRoles(ctx, owner.Account.ID, map[string]account.Role{"shop": account.Seller}), account.ErrLastOwner)
	wantErr(t, "the last owner", d.Remove(ctx, owner.Account.ID), account.ErrLastOwner)
	wantErr(t, "an unknown account", d.Remove(ctx, "acc_x"), account.ErrNotFound)
	if err := d.SetRoles(ctx, tove.Account.ID, map[string]account.Role{"shop": account.Owner}); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(ctx, owner.Account.ID); err != nil {
		t.Fatal(err)
	}
	_, _, err := d.Session(ctx, owner.Token)
	wantErr(t, "session of a removed account", err, account.ErrNotFound)
	log := strings.Join(d.actions(), "\n")
	for _, want := range []string{"Maren account.roles_changed", "Maren account.removed", "Tove account.created", "Tove session.created", "system account.invited"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	if _, err := d.storage.VerifyAuditLog(ctx); err != nil {
		t.Error(err)
	}
}

// The log and the columns of the database contain no secrets.
func TestSecrets_are_not_stored_in_the_clear(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	in, codes := d.owner()
	link, _ := d.Invite(t.Context(), map[string]account.Role{"shop": account.Seller})
	secrets := append(codes, password, d.seeds["Maren"], in.Token, link.Token)
	for table, rows := range storagetest.Dump(t, d.url) {
		for _, row := range rows {
			for _, secret := range secrets {
				if strings.Contains(row, secret) {
					t.Errorf("table %s contains %q", table, secret)
				}
			}
		}
	}
}

// authenticator is a passkey of a browser at an origin.
type authenticator struct {
	rp   virtualwebauthn.RelyingParty
	auth virtualwebauthn.Authenticator
	cred virtualwebauthn.Credential
}

func newAuthenticator() *authenticator {
	return &authenticator{
		rp:   virtualwebauthn.RelyingParty{Name: "Atelier Nord", ID: "shop.example", Origin: "https://shop.example"},
		auth: virtualwebauthn.NewAuthenticator(), cred: virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2),
	}
}

// create answers navigator.credentials.create.
func (a *authenticator) create(t *testing.T, options []byte) []byte {
	t.Helper()
	parsed, err := virtualwebauthn.ParseAttestationOptions(string(options))
	if err != nil {
		t.Fatal(err)
	}
	a.auth.Options.UserHandle = []byte(parsed.UserID)
	a.auth.AddCredential(a.cred)
	return []byte(virtualwebauthn.CreateAttestationResponse(a.rp, a.auth, a.cred, *parsed))
}

// get answers navigator.credentials.get.
func (a *authenticator) get(t *testing.T, options []byte) []byte {
	t.Helper()
	parsed, err := virtualwebauthn.ParseAssertionOptions(string(options))
	if err != nil {
		t.Fatal(err)
	}
	a.cred.Counter++
	return []byte(virtualwebauthn.CreateAssertionResponse(a.rp, a.auth, a.cred, *parsed))
}

// addPasskey adds a passkey to an account.
func (d *desk) addPasskey(a account.Account) *authenticator {
	d.t.Helper()
	options, sealed, err := d.OfferPasskey(a)
	if err != nil {
		d.t.Fatal(err)
	}
	if !strings.Contains(string(options), `"residentKey":"required"`) || !strings.Contains(string(options), `"userVerification":"required"`) {
		d.t.Errorf("the options do not require a discoverable passkey with verification: %s", options)
	}
	key := newAuthenticator()
	if err := d.AcceptPasskey(d.t.Context(), a.ID, sealed, key.create(d.t, options), "Laptop"); err != nil {
		d.t.Fatal(err)
	}
	return key
}

func TestPasskey(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	in, _ := d.owner()
	key := d.addPasskey(in.Account)
	signIn := func(change func(*authenticator)) error {
		t.Helper()
		options, sealed, err := d.OfferSignIn()
		if err != nil {
			t.Fatal(err)
		}
		used := *key
		change(&used)
		response := used.get(t, options)
		key.cred.Counter = max(key.cred.Counter, used.cred.Counter)
		signedIn, err := d.SignInPasskey(ctx, sealed, response, browser, "")
		if err == nil && (signedIn.Account.Name != "Maren" || signedIn.Session.Method != account.ByPasskey) {
			t.Errorf("signed in as %+v", signedIn)
		}
		return err
	}
	if err := signIn(func(*authenticator) {}); err != nil {
		t.Fatal(err)
	}
	for doing, change := range map[string]func(*authenticator){
		"wrong_origin":         func(a *authenticator) { a.rp.Origin = "https://shop.example.evil" },
		"http_origin":          func(a *authenticator) { a.rp.Origin = "http://shop.example" },
		"wrong_rp_id":          func(a *authenticator) { a.rp.ID = "example" },
		"without_verification": func(a *authenticator) { a.auth.Options.UserNotVerified = true },
		"without_presence":     func(a *authenticator) { a.auth.Options.UserNotPresent = true },
		"another_key":          func(a *authenticator) { a.cred.Key = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2).Key },
		"another_credential":   func(a *authenticator) { a.cred = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2) },
		"another_account":      func(a *authenticator) { a.auth.Options.UserHandle = []byte("acc_x") },
		"copied_passkey":       func(a *authenticator) { a.cred.Counter = 0 },
	} {
		wantErr(t, doing, signIn(change), account.ErrPasskey)
	}
	if err := signIn(func(*authenticator) {}); err != nil {
		t.Errorf("after the refusals: %v", err)
	}
}

func TestPasskey_replay(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	in, _ := d.owner()
	key := d.addPasskey(in.Account)
	options, sealed, _ := d.OfferSignIn()
	response := key.get(t, options)
	if _, err := d.SignInPasskey(ctx, sealed, response, browser, ""); err != nil {
		t.Fatal(err)
	}
	_, err := d.SignInPasskey(ctx, sealed, response, browser, "")
	wantErr(t, "replay", err, account.ErrPasskey)
	_, other, _ := d.OfferSignIn()
	_, err = d.SignInPasskey(ctx, other, response, browser, "")
	wantErr(t, "response to another challenge", err, account.ErrPasskey)

	options, sealed, _ = d.OfferSignIn()
	response = key.get(t, options)
	wantErr(t, "sign-in as a confirmation", d.StepUpPasskey(ctx, in.Session, sealed, response), account.ErrOffer)
	d.clock.Pass(15 * time.Minute)
	_, err = d.SignInPasskey(ctx, sealed, response, browser, "")
	wantErr(t, "expired challenge", err, account.ErrOffer)
	_, err = d.SignInPasskey(ctx, "v1.x", response, browser, "")
	wantErr(t, "made-up challenge", err, account.ErrOffer)
}

func TestStepUpPasskey(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	in, _ := d.owner()
	tove := d.invite("Tove", account.Manager)
	key, toves := d.addPasskey(in.Account), d.addPasskey(tove.Account)
	d.clock.Pass(time.Hour)
	options, sealed, _ := d.OfferStepUp(in.Session)
	wantErr(t, "another account's passkey", d.StepUpPasskey(ctx, in.Session, sealed, toves.get(t, options)), account.ErrPasskey)
	wantErr(t, "another session", d.StepUpPasskey(ctx, tove.Session, sealed, key.get(t, options)), account.ErrOffer)
	if err := d.StepUpPasskey(ctx, in.Session, sealed, key.get(t, options)); err != nil {
		t.Fatal(err)
	}
	if s, _, err := d.Session(ctx, in.Token); err != nil || !s.SteppedUp(d.clock.Now()) {
		t.Errorf("got %+v, error %v", s, err)
	}
}

// An account begins with a passkey, adds a password, and keeps one method.
func TestRemoveMethod_keeps_the_last(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	link, _ := d.NewStart(ctx, "shop")
	options, sealed, err := d.OfferJoinPasskey(ctx, link.Token, "Maren")
	if err != nil {
		t.Fatal(err)
	}
	key := newAuthenticator()
	response := key.create(t, options)
	in, err := d.JoinPasskey(ctx, link.Token, sealed, response, "", browser, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.JoinPasskey(ctx, link.Token, sealed, response, "", browser, "")
	wantErr(t, "replayed creation", err, account.ErrPasskey)
	id := in.Account.ID
	a, _ := d.Account(ctx, id)
	passkey := a.SignIn.Passkeys[0].ID()
	wantErr(t, "the only passkey", d.RemovePasskey(ctx, id, passkey), account.ErrLastMethod)
	offer, err := d.OfferPassword(a, password)
	if err != nil {
		t.Fatal(err)
	}
	code, _ := totp.GenerateCode(offer.Seed, d.clock.Now())
	if err := d.AcceptPassword(ctx, id, offer.Sealed, code); err != nil {
		t.Fatal(err)
	}
	if err := d.RemovePasskey(ctx, id, passkey); err != nil {
		t.Error(err)
	}
	wantErr(t, "the only password", d.RemovePassword(ctx, id), account.ErrLastMethod)
	wantErr(t, "a passkey that was removed", d.RemovePasskey(ctx, id, passkey), account.ErrNotFound)

	// At another address the passkey of the former one is no method.
	d.addPasskey(in.Account)
	elsewhere := d.at("https://pay.example")
	wantErr(t, "the only method at another address", elsewhere.RemovePassword(ctx, id), account.ErrLastMethod)
	if err := d.RemovePassword(ctx, id); err != nil {
		t.Error(err)
	}
}
