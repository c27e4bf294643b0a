package desk

import (
	"net/http"

	"chequer/web/desk/visit"
)

// homeRoutes are the routes of the address of the desk without a shop.
var homeRoutes = []visit.Route{
	{Method: http.MethodGet, Path: "/desk", Needs: visit.Public, Handle: home},
	{Method: http.MethodGet, Path: "/desk/", Needs: visit.Public, Handle: home},
}

// home redirects to the first shop of the account, to the sign-in, or to the first run.
func home(v *visit.Visit) error {
	isSetUp, err := v.Accounts.SetUp(v.Request().Context())
	if err != nil {
		return err
	}
	if !isSetUp {
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
