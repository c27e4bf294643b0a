package desk

import (
	"errors"
	"net/http"

	"crypto/subtle"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// route is a page or an action. Pages and actions of a shop have the parameter shop in their path.
type route struct {
	method, path string
	needs        account.Permission // public and member are permissions, too
	handle       func(*visit) error
}

// Two rights that are no permission of a role.
const (
	public account.Permission = ""       // anyone
	member account.Permission = "member" // every account with a role in the shop
)

// visit is a request with the account that makes it. Account, session and shop are zero on public
// routes.
type visit struct {
	echo.Context
	*Desk
	account account.Account
	session account.Session
	shop    merchant.Merchant
	token   string                         // form token
	tallies map[invoice.Mode]invoice.Tally // that were read
}

// routes lists every page and action.
func (h *Desk) routes() []route {
	return []route{
		{http.MethodGet, "/desk", public, (*visit).home},
		{http.MethodGet, "/desk/", public, (*visit).home},
		{http.MethodGet, "/desk/signin", public, (*visit).signIn},
		{http.MethodPost, "/desk/signin", public, (*visit).signInPassword},
		{http.MethodPost, "/desk/signin/passkey", public, (*visit).signInPasskey},
		{http.MethodPost, "/desk/signin/passkey/options", public, (*visit).signInOptions},
		{http.MethodPost, "/desk/signout", public, (*visit).signOut},

		{http.MethodGet, "/desk/start", public, (*visit).start},
		{http.MethodPost, "/desk/start", public, (*visit).openLink},
		{http.MethodPost, "/desk/start/password", public, (*visit).joinPassword},
		{http.MethodPost, "/desk/start/code", public, (*visit).joinCode},
		{http.MethodPost, "/desk/start/passkey", public, (*visit).joinPasskey},
		{http.MethodPost, "/desk/start/passkey/options", public, (*visit).joinOptions},

		{http.MethodGet, "/desk/:shop", member, (*visit).shopHome},

		{http.MethodGet, "/desk/:shop/attention", account.Decide, (*visit).attention},
		{http.MethodGet, "/desk/:shop/payments", account.ViewPayments, (*visit).payments},
		{http.MethodGet, "/desk/:shop/payments/:id", account.ViewPayments, (*visit).payment},
		{http.MethodGet, "/desk/:shop/payments/:id/:decision", account.Decide, (*visit).askToDecide},
		{http.MethodPost, "/desk/:shop/payments/:id/:decision", account.Decide, (*visit).decide},

		{http.MethodGet, "/desk/:shop/account", member, (*visit).ownAccount},
		{http.MethodGet, "/desk/:shop/account/password", account.ManageSignIn, (*visit).newPassword},
		{http.MethodPost, "/desk/:shop/account/password", account.ManageSignIn, (*visit).offerPassword},
		{http.MethodPost, "/desk/:shop/account/password/code", account.ManageSignIn, (*visit).acceptPassword},
		{http.MethodPost, "/desk/:shop/account/password/remove", account.ManageSignIn, (*visit).removePassword},
		{http.MethodPost, "/desk/:shop/account/passkey", account.ManageSignIn, (*visit).addPasskey},
		{http.MethodPost, "/desk/:shop/account/passkey/options", account.ManageSignIn, (*visit).addPasskeyOptions},
		{http.MethodPost, "/desk/:shop/account/passkey/remove", account.ManageSignIn, (*visit).removePasskey},
		{http.MethodPost, "/desk/:shop/account/session/end", member, (*visit).endSession},
		{http.MethodPost, "/desk/:shop/account/sessions/end", member, (*visit).endSessions},

		{http.MethodGet, "/desk/:shop/confirm", member, (*visit).confirm},
		{http.MethodPost, "/desk/:shop/confirm", member, (*visit).confirmPassword},
		{http.MethodPost, "/desk/:shop/confirm/passkey", member, (*visit).confirmPasskey},
		{http.MethodPost, "/desk/:shop/confirm/passkey/options", member, (*visit).confirmOptions},

		{http.MethodGet, "/desk/:shop/accounts", account.ManageAccounts, (*visit).accounts},
		{http.MethodPost, "/desk/:shop/accounts/invite", account.ManageAccounts, (*visit).invite},
		{http.MethodPost, "/desk/:shop/accounts/withdraw", account.ManageAccounts, (*visit).withdraw},
		{http.MethodGet, "/desk/:shop/accounts/:account", account.ManageAccounts, (*visit).otherAccount},
		{http.MethodPost, "/desk/:shop/accounts/:account/role", account.ManageAccounts, (*visit).setRole},
		{http.MethodPost, "/desk/:shop/accounts/:account/remove", account.ManageAccounts, (*visit).removeAccount},

		{http.MethodGet, "/desk/:shop/log", account.ViewLog, (*visit).log},
	}
}

// refusal means that the role of the account does not have a permission.
type refusal struct{ needs account.Permission }

// Error implements error.
func (r *refusal) Error() string {
	return "the role of the account does not allow to " + string(r.needs)
}

var (
	// errSignedOut means that there is no valid session.
	errSignedOut = errors.New("signed out")
	// errConfirm means that the account must confirm its sign-in first.
	errConfirm = errors.New("sign-in must be confirmed")
)

// serve returns the handler of a route. It is the only place that admits a request.
func (h *Desk) serve(r route) echo.HandlerFunc {
	return func(c echo.Context) error {
		v := &visit{Context: c, Desk: h}
		c.Set(visitKey, v)
		if r.needs != public {
			if err := v.enter(); err != nil {
				return err
			}
			if err := v.admit(r); err != nil {
				return err
			}
		}
		return r.handle(v)
	}
}

// visitKey is the key of the visit in an echo.Context, for the error handler.
const visitKey = "visit"

// enter finds the session, its account and the shop.
func (v *visit) enter() error {
	ctx, token := v.Request().Context(), v.sessionToken(v)
	if token == "" {
		return errSignedOut
	}
	var err error
	v.session, v.account, err = v.Accounts.Session(ctx, token)
	if errors.Is(err, account.ErrNotFound) {
		return errSignedOut
	}
	if err != nil {
		return err
	}
	v.token = formToken(token)
	v.SetRequest(v.Request().WithContext(audit.With(ctx, v.Accounts.Actor(v.account, v.session))))
	if v.account.Role(v.Param("shop")) == "" {
		return echo.ErrNotFound // also for shops that do not exist
	}
	v.shop, err = v.Merchants.Merchant(ctx, v.Param("shop"))
	return err
}

// admit checks the form token and the permission of the account.
func (v *visit) admit(r route) error {
	if !reads(v.Request()) && subtle.ConstantTimeCompare([]byte(v.Request().PostFormValue("form")), []byte(v.token)) != 1 {
		return errForeign
	}
	if r.needs == member || viewing(r) && v.may(r.needs) {
		return nil
	}
	return v.require(r.needs)
}

// require checks a permission of the account.
func (v *visit) require(p account.Permission) error {
	switch grant := v.account.Allows(v.shop.ID, p); {
	case grant == account.Allowed, grant == account.StepUp && v.session.SteppedUp(v.Now()):
		return nil
	case grant == account.StepUp:
		return errConfirm
	}
	return &refusal{p}
}

// viewing reports whether a route only shows what the permission guards: only changes need a confirmed
// sign-in. The form for a new password is part of a change.
func viewing(r route) bool { return r.method == http.MethodGet && r.needs == account.ManageAccounts }

// may reports whether the account has a permission, with or without a confirmed sign-in.
func (v *visit) may(p account.Permission) bool {
	return v.account.Allows(v.shop.ID, p) != account.Denied
}
