package account_test

import (
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/pquerna/otp/totp"

	"chequer/internal/account"
	"chequer/internal/account/accounttest"
)

// authenticator is a passkey of a browser at an origin.
type authenticator struct {
	rp   virtualwebauthn.RelyingParty
	auth virtualwebauthn.Authenticator
	cred virtualwebauthn.Credential
}

func newAuthenticator(t *testing.T) *authenticator {
	t.Helper()
	return &authenticator{
		rp:   virtualwebauthn.RelyingParty{Name: "Atelier Nord", ID: "shop.example", Origin: "https://shop.example"},
		auth: virtualwebauthn.NewAuthenticator(), cred: accounttest.NewCredential(t),
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
	key := newAuthenticator(d.t)
	if err := d.AcceptPasskey(d.t.Context(), a.ID, sealed, key.create(d.t, options), "Laptop"); err != nil {
		d.t.Fatal(err)
	}
	return key
}

func TestPasskey_signs_in_only_its_own_account_and_site(t *testing.T) {
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
		usedKey := *key
		change(&usedKey)
		response := usedKey.get(t, options)
		key.cred.Counter = max(key.cred.Counter, usedKey.cred.Counter)
		signedIn, err := d.SignInPasskey(ctx, sealed, response, browser, "")
		if err == nil && (signedIn.Account.Name != "Maren" || signedIn.Session.Method != account.ByPasskey) {
			t.Errorf("signed in as %+v", signedIn)
		}
		return err
	}
	if err := signIn(func(*authenticator) {}); err != nil {
		t.Fatal(err)
	}
	for action, change := range map[string]func(*authenticator){
		"wrong_origin":         func(a *authenticator) { a.rp.Origin = "https://shop.example.evil" },
		"http_origin":          func(a *authenticator) { a.rp.Origin = "http://shop.example" },
		"wrong_rp_id":          func(a *authenticator) { a.rp.ID = "example" },
		"without_verification": func(a *authenticator) { a.auth.Options.UserNotVerified = true },
		"without_presence":     func(a *authenticator) { a.auth.Options.UserNotPresent = true },
		"another_key":          func(a *authenticator) { a.cred.Key = accounttest.NewCredential(t).Key },
		"another_credential":   func(a *authenticator) { a.cred = accounttest.NewCredential(t) },
		"another_account":      func(a *authenticator) { a.auth.Options.UserHandle = []byte("acc_x") },
		"copied_passkey":       func(a *authenticator) { a.cred.Counter = 0 },
	} {
		wantErr(t, action, signIn(change), account.ErrPasskey)
	}
	if err := signIn(func(*authenticator) {}); err != nil {
		t.Errorf("after the refusals: %v", err)
	}
}

func TestPasskey_refuses_repeated_and_expired_responses(t *testing.T) {
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
	d.clock.Advance(15 * time.Minute)
	_, err = d.SignInPasskey(ctx, sealed, response, browser, "")
	wantErr(t, "expired challenge", err, account.ErrOffer)
	_, err = d.SignInPasskey(ctx, "v1.x", response, browser, "")
	wantErr(t, "made-up challenge", err, account.ErrOffer)
}

func TestStepUpPasskey_accepts_only_a_passkey_of_the_same_account(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	in, _ := d.owner()
	manager := d.invite("Tove", account.Manager)
	key, toves := d.addPasskey(in.Account), d.addPasskey(manager.Account)
	d.clock.Advance(time.Hour)
	options, sealed, _ := d.OfferStepUp(in.Session)
	wantErr(t, "another account's passkey", d.StepUpPasskey(ctx, in.Session, sealed, toves.get(t, options)), account.ErrPasskey)
	wantErr(t, "another session", d.StepUpPasskey(ctx, manager.Session, sealed, key.get(t, options)), account.ErrOffer)
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
	desk := newDesk(t)
	ctx := t.Context()
	link, _ := desk.NewStart(ctx, "shop")
	options, sealed, err := desk.OfferJoinPasskey(ctx, link.Token, "Maren")
	if err != nil {
		t.Fatal(err)
	}
	key := newAuthenticator(t)
	response := key.create(t, options)
	in, err := desk.JoinPasskey(ctx, link.Token, sealed, response, "", browser, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = desk.JoinPasskey(ctx, link.Token, sealed, response, "", browser, "")
	wantErr(t, "replayed creation", err, account.ErrPasskey)
	id := in.Account.ID
	a, _ := desk.Account(ctx, id)
	passkey := a.SignIn.Passkeys[0].ID()
	wantErr(t, "the only passkey", desk.RemovePasskey(ctx, id, passkey), account.ErrLastMethod)
	offer, err := desk.OfferPassword(ctx, a, password)
	if err != nil {
		t.Fatal(err)
	}
	code, _ := totp.GenerateCode(offer.Seed, desk.clock.Now())
	if err := desk.AcceptPassword(ctx, id, offer.Sealed, code); err != nil {
		t.Fatal(err)
	}
	if err := desk.RemovePasskey(ctx, id, passkey); err != nil {
		t.Error(err)
	}
	wantErr(t, "the only password", desk.RemovePassword(ctx, id), account.ErrLastMethod)
	wantErr(t, "a passkey that was removed", desk.RemovePasskey(ctx, id, passkey), account.ErrNotFound)

	// At another address the passkey of the former one is no method.
	desk.addPasskey(in.Account)
	otherSite := desk.at("https://pay.example")
	wantErr(t, "the only method at another address", otherSite.RemovePassword(ctx, id), account.ErrLastMethod)
	if err := desk.RemovePassword(ctx, id); err != nil {
		t.Error(err)
	}
}
