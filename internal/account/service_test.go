package account_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/clocktest"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/token"
	"chequer/internal/wire"
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
	d := &desk{t: t, url: storagetest.File(t), clock: clocktest.New(noon), seeds: map[string]string{}}
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
		Storage: d.storage, Box: storagetest.Box(d.t, 1), Site: site, Issuer: "Atelier Nord", Encode: wire.AccountEvent, Now: d.clock.Now, Token: token.New,
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
	d.clock.Advance(time.Minute) // so that the next code is another one
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

func wantErr(t *testing.T, action string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", action, err, want)
	}
}

// actions returns the actions of the audit log with their actors, oldest first.
func (d *desk) actions() (actions []string) {
	d.t.Helper()
	entries, err := d.storage.AuditLog(d.t.Context(), 0, 100)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		actions = append([]string{e.Actor.String() + " " + e.Change.Action}, actions...)
	}
	return actions
}

func TestStart_creates_the_first_owner_once(t *testing.T) {
	t.Parallel()
	desk := newDesk(t)
	ctx := t.Context()
	if set, err := desk.SetUp(ctx); set || err != nil {
		t.Errorf("set up: %v, error %v", set, err)
	}
	expired, err := desk.NewStart(ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(expired.Token); n != 22 {
		t.Errorf("the token has %d characters, want 22 for 128 bits", n)
	}
	desk.clock.Advance(30 * time.Minute)
	_, _, err = desk.Ticket(ctx, expired.Token)
	wantErr(t, "expired link", err, account.ErrTicket)
	first, _ := desk.NewStart(ctx, "shop")
	second, _ := desk.NewStart(ctx, "shop")
	offer, err := desk.OfferJoinPassword(ctx, second.Token, "Tove", password)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := desk.join(first.Token, "Maren")
	if in.Account.Role("shop") != account.Owner || in.Session.Method != account.ByTicket || !in.Session.SteppedUp(desk.clock.Now()) {
		t.Errorf("signed in as %+v", in)
	}
	code, _ := totp.GenerateCode(offer.Seed, desk.clock.Now())
	_, err = desk.JoinPassword(ctx, second.Token, offer.Sealed, code, browser, "")
	wantErr(t, "another link of the first run", err, account.ErrTicket)
	_, _, err = desk.Ticket(ctx, first.Token)
	wantErr(t, "used link", err, account.ErrTicket)
	_, err = desk.NewStart(ctx, "shop")
	wantErr(t, "link after the first run", err, account.ErrSetUp)
	if accounts, _ := desk.Team(ctx); len(accounts) != 1 {
		t.Errorf("there are %d accounts", len(accounts))
	}
}

func TestInvite_gives_the_role_once_within_two_days(t *testing.T) {
	t.Parallel()
	desk := newDesk(t)
	ctx := t.Context()
	desk.owner()
	roles := map[string]account.Role{"shop": account.Bookkeeper}
	link, err := desk.Invite(ctx, roles)
	if err != nil {
		t.Fatal(err)
	}
	if tickets, err := desk.Invitations(ctx); err != nil || len(tickets) != 1 || tickets[0].ExpiresAt != desk.clock.Now().Add(48*time.Hour) {
		t.Errorf("invitations: %+v, error %v", tickets, err)
	}
	_, err = desk.OfferJoinPassword(ctx, link.Token, "ＭＡＲＥＮ", password)
	wantErr(t, "name of another account", err, account.ErrExists)
	in, _ := desk.join(link.Token, "Runa")
	if in.Account.Role("shop") != account.Bookkeeper {
		t.Errorf("roles are %v, want bookkeeper", in.Account.Roles)
	}
	_, err = desk.OfferJoinPassword(ctx, link.Token, "Runa 2", password)
	wantErr(t, "invitation used twice", err, account.ErrTicket)
	link, _ = desk.Invite(ctx, roles)
	if err := desk.Withdraw(ctx, link.Ticket.ID); err != nil {
		t.Error(err)
	}
	_, _, err = desk.Ticket(ctx, link.Token)
	wantErr(t, "withdrawn invitation", err, account.ErrTicket)
	link, _ = desk.Invite(ctx, roles)
	desk.clock.Advance(48 * time.Hour)
	_, _, err = desk.Ticket(ctx, link.Token)
	wantErr(t, "expired invitation", err, account.ErrTicket)
	for _, bad := range []map[string]account.Role{nil, {"shop": "root"}} {
		if _, err := desk.Invite(ctx, bad); err == nil {
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
	firstLink, _ := d.Invite(ctx, map[string]account.Role{"shop": account.Seller})
	secondLink, _ := d.Invite(ctx, map[string]account.Role{"shop": account.Owner})
	offer, err := d.OfferJoinPassword(ctx, firstLink.Token, "Jonas", password)
	if err != nil {
		t.Fatal(err)
	}
	code, _ := totp.GenerateCode(offer.Seed, d.clock.Now())
	_, err = d.JoinPassword(ctx, secondLink.Token, offer.Sealed, code, browser, "")
	wantErr(t, "another invitation", err, account.ErrOffer)
	wantErr(t, "an account", d.AcceptPassword(ctx, in.Account.ID, offer.Sealed, code), account.ErrOffer)
	wantErr(t, "a wrong code", func() error {
		_, err := d.JoinPassword(ctx, firstLink.Token, offer.Sealed, "000000", browser, "")
		return err
	}(), account.ErrCode)
	d.clock.Advance(15 * time.Minute)
	code, _ = totp.GenerateCode(offer.Seed, d.clock.Now())
	_, err = d.JoinPassword(ctx, firstLink.Token, offer.Sealed, code, browser, "")
	wantErr(t, "an expired offer", err, account.ErrOffer)
}

func TestRecover_replaces_the_sign_in_methods_of_an_account(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	in, _ := d.owner()
	_, err := d.Recover(ctx, "Nora")
	wantErr(t, "unknown name", err, account.ErrNotFound)
	expired, _ := d.Recover(ctx, "maren")
	_, _, err = d.Session(ctx, in.Token)
	wantErr(t, "session after the recovery", err, account.ErrNotFound)
	d.clock.Advance(30 * time.Minute)
	_, _, err = d.Ticket(ctx, expired.Token)
	wantErr(t, "expired link", err, account.ErrTicket)
	link, err := d.Recover(ctx, "maren")
	if err != nil {
		t.Fatal(err)
	}
	old := d.code("Maren")
	recovered, _ := d.join(link.Token, "Maren")
	if recovered.Account.ID != in.Account.ID {
		t.Errorf("recovered account %s", recovered.Account.ID)
	}
	_, err = d.SignInPassword(ctx, "Maren", password, old, browser, "")
	wantErr(t, "code of the former app", err, account.ErrSignIn)
	d.clock.Advance(2 * time.Minute)
	if _, err := d.SignInPassword(ctx, "Maren", password, d.code("Maren"), browser, ""); err != nil {
		t.Errorf("with the new app: %v", err)
	}
	if accounts, _ := d.Team(ctx); len(accounts) != 1 {
		t.Errorf("there are %d accounts", len(accounts))
	}
}

// Two owners who change the roles of one account in different shops do not undo each other's change.
func TestChangeRoles_keeps_the_roles_of_other_shops(t *testing.T) {
	t.Parallel()
	desk := newDesk(t)
	ctx := t.Context()
	desk.owner()
	manager := desk.invite("Tove", account.Manager)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			err := desk.ChangeRoles(ctx, manager.Account.ID, func(r map[string]account.Role) error { r[fmt.Sprint("shop", i)] = account.Seller; return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	a, err := desk.Account(ctx, manager.Account.ID)
	if err != nil || len(a.Roles) != 9 {
		t.Errorf("roles %v, error %v, want 9", a.Roles, err)
	}
	for i := range 8 {
		if removed, err := desk.RemoveFrom(ctx, manager.Account.ID, fmt.Sprint("shop", i)); err != nil || removed {
			t.Errorf("removed the account: %v, error %v", removed, err)
		}
	}
	err = desk.ChangeRoles(ctx, manager.Account.ID, func(r map[string]account.Role) error { clear(r); return nil })
	if wrong, ok := errors.AsType[*account.FieldError](err); !ok || wrong.Field != "role" {
		t.Errorf("without a role: got error %v", err)
	}
	if removed, err := desk.RemoveFrom(ctx, manager.Account.ID, "shop"); err != nil || !removed {
		t.Errorf("removed from the last shop: %v, error %v", removed, err)
	}
	_, err = desk.Account(ctx, manager.Account.ID)
	wantErr(t, "a removed account", err, account.ErrNotFound)
}

// A change of roles that finds another state than its caller saw changes nothing.
func TestChangeRoles_returns_the_error_of_the_change(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	d.owner()
	manager := d.invite("Tove", account.Manager)
	before := len(d.actions())
	wantErr(t, "a change that fails", d.ChangeRoles(ctx, manager.Account.ID, func(r map[string]account.Role) error {
		r["shop"] = account.Owner
		return account.ErrNotFound
	}), account.ErrNotFound)
	_, err := d.RemoveFrom(ctx, manager.Account.ID, "other")
	wantErr(t, "removed from a shop without a role", err, account.ErrNotFound)
	if a, err := d.Account(ctx, manager.Account.ID); err != nil || a.Roles["shop"] != account.Manager || len(d.actions()) != before {
		t.Errorf("roles %v, log %q, error %v", a.Roles, d.actions()[before:], err)
	}
}

func TestTeam_keeps_an_owner_and_records_changes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := audit.WithActor(t.Context(), audit.Actor{Kind: audit.Account, Name: "Maren"})
	owner, _ := d.owner()
	manager := d.invite("Tove", account.Manager)
	wantErr(t, "the last owner's role", d.ChangeRoles(ctx, owner.Account.ID, func(r map[string]account.Role) error { r["shop"] = account.Seller; return nil }), account.ErrLastOwner)
	wantErr(t, "the last owner", d.Remove(ctx, owner.Account.ID), account.ErrLastOwner)
	wantErr(t, "an unknown account", d.Remove(ctx, "acc_x"), account.ErrNotFound)
	if err := d.ChangeRoles(ctx, manager.Account.ID, func(r map[string]account.Role) error { r["shop"] = account.Owner; return nil }); err != nil {
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
