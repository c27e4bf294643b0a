package visit

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
	"chequer/internal/audit"
)

// Route is a page or an action. Pages and actions of a shop have the parameter shop in their path. Pages of all
// shops need the permission in one of the shops of the account.
type Route struct {
	Method, Path string
	Needs        account.Permission // a permission of a role, or Public or Member
	Handle       func(*Visit) error
	AllShops     bool   // a page of all shops
	MaxBody      string // limit for the body of a form; "" for that of most forms
}

// Pages adapts the methods of a page type to Route.Handle: the returned function turns a method of P into a handler that
// calls the method on wrap(v).
func Pages[P any](wrap func(*Visit) P) func(handle func(P) error) func(*Visit) error {
	return func(handle func(P) error) func(*Visit) error {
		return func(v *Visit) error { return handle(wrap(v)) }
	}
}

// Values of Route.Needs for routes that need no permission of a role.
const (
	Public account.Permission = ""       // anyone
	Member account.Permission = "member" // every account with a role in the shop
)

// refusal means that the role of the account does not have a permission.
type refusal struct{ needs account.Permission }

// Error implements error.
func (r *refusal) Error() string {
	return "the role of the account does not allow to " + string(r.needs)
}

var (
	// ErrSignedOut means that there is no valid session.
	ErrSignedOut = errors.New("signed out")
	// errConfirm means that the account must confirm its sign-in first.
	errConfirm = errors.New("sign-in must be confirmed")
)

// Refuse returns the error for an account that does not have a permission.
func Refuse(p account.Permission) error { return &refusal{p} }

// serve returns the handler of a route. No other function admits requests.
func (s *Site) serve(r Route) echo.HandlerFunc {
	return func(c echo.Context) error {
		v := &Visit{Context: c, Site: s}
		c.Set(visitKey, v)
		if r.Needs != Public {
			if err := v.enter(r); err != nil {
				return err
			}
			if err := v.admit(r); err != nil {
				return err
			}
		}
		if isSafe(v.Request()) || v.Session.Hash == "" || v.wantsJSON() {
			return r.Handle(v)
		}
		return s.sent.handle(v, r.Handle)
	}
}

// wantsJSON reports whether a script sent the request, for the options of a passkey. Repeated requests of this kind get
// new options, so they are not handled as repeated forms.
func (v *Visit) wantsJSON() bool { return v.Request().Header.Get("Accept") == echo.MIMEApplicationJSON }

// visitKey is the key of the visit in an echo.Context, for the error handler.
const visitKey = "visit"

// enter finds the session, its account and the shop, or the shops of the account.
func (v *Visit) enter(r Route) error {
	ctx, token := v.Request().Context(), v.SessionToken()
	if token == "" {
		return ErrSignedOut
	}
	var err error
	session := v.Accounts.Session
	if v.isBackground() {
		session = v.Accounts.PeekSession
	}
	v.Session, v.Account, err = session(ctx, token)
	if errors.Is(err, account.ErrNotFound) {
		return ErrSignedOut
	}
	if err != nil {
		return err
	}
	v.token = newFormToken(token)
	v.SetRequest(v.Request().WithContext(audit.WithActor(ctx, v.Accounts.Actor(v.Account, v.Session))))
	if r.AllShops {
		return v.enterAllShops()
	}
	if v.Account.Role(v.Param("shop")) == "" {
		return echo.ErrNotFound // also for shops that do not exist
	}
	v.Shop, err = v.Merchants.Merchant(ctx, v.Param("shop"))
	v.zone = v.Shop.Choices.Zone()
	return err
}

// admit checks the form token and the permission of the account.
func (v *Visit) admit(r Route) error {
	if !isSafe(v.Request()) && !v.token.isIn(v.Request().PostFormValue(formField)) {
		return errCrossSite
	}
	if r.Needs == Member || isViewing(r) && v.May(r.Needs) {
		return nil
	}
	return v.Require(r.Needs)
}

// Require checks a permission of the account.
func (v *Visit) Require(p account.Permission) error {
	if v.Shop.ID == allShops {
		if v.May(p) {
			return nil
		}
		v.Shop, v.shops = v.shops[0], nil // the page of the refusal is a page of one shop
	}
	switch grant := v.Account.Allows(v.Shop.ID, p); {
	case grant == account.Allowed, grant == account.StepUp && v.Session.SteppedUp(v.Now()):
		return nil
	case grant == account.StepUp:
		return errConfirm
	}
	return &refusal{p}
}

// isViewing reports whether a route only shows accounts, keys or shops. Such a page needs the permission, but no confirmed
// sign-in. Any other page needs a confirmed sign-in if its permission does.
func isViewing(r Route) bool {
	return r.Method == http.MethodGet && (r.Needs == account.ManageAccounts || r.Needs == account.ManageKeys || r.Needs == account.ManageShops)
}

// May reports whether the account has a permission, with or without a confirmed sign-in. On a page of all shops
// it reports whether the account has the permission in one of them.
func (v *Visit) May(p account.Permission) bool {
	if v.Shop.ID == allShops {
		return len(v.ShopsWith(p)) > 0
	}
	return v.Account.Allows(v.Shop.ID, p) != account.Denied
}
