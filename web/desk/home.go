package desk

import (
	"net/http"

	"chequer/internal/account"
	"chequer/web/desk/visit"
)

// homeRoutes lead to the first page that an account may see.
var homeRoutes = []visit.Route{
	{Method: http.MethodGet, Path: "/desk", Needs: visit.Public, Handle: home},
	{Method: http.MethodGet, Path: "/desk/", Needs: visit.Public, Handle: home},
	{Method: http.MethodGet, Path: "/desk/:shop", Needs: visit.Member, Handle: shopHome},
}

// home leads to the first shop of the account, to the sign-in, or to the first run.
func home(v *visit.Visit) error {
	set, err := v.Accounts.SetUp(v.Request().Context())
	if err != nil {
		return err
	}
	if !set {
		return v.Redirect(http.StatusSeeOther, v.Address("/desk/start"))
	}
	token := v.SessionToken()
	if token == "" {
		return visit.ErrSignedOut
	}
	_, a, err := v.Accounts.Session(v.Request().Context(), token)
	if visit.IsNotFound(err) || err == nil && len(a.Shops()) == 0 {
		return visit.ErrSignedOut
	}
	if err != nil {
		return err
	}
	return v.Redirect(http.StatusSeeOther, v.Address("/desk/"+a.Shops()[0]))
}

// shopHome leads to the first place of the shop that the account may see.
func shopHome(v *visit.Visit) error {
	return v.Redirect(http.StatusSeeOther, v.Below(first(v)))
}

// first returns the first place of the shop that the account may see.
func first(v *visit.Visit) string {
	if v.May(account.ViewPayments) {
		return "/payments"
	}
	return "/account"
}
