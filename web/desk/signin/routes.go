// Package signin signs accounts in to the desk, and opens the links of the first run, of invitations and of
// recoveries.
package signin

import (
	"net/http"

	"chequer/web/desk/visit"
)

// Screens are the pages of the sign-in and of the links that make accounts.
type Screens struct{}

// page is a visit to one of the screens.
type page struct {
	*visit.Visit
	*Screens
}

// Routes lists the pages and the actions of the screens.
func (s *Screens) Routes() []visit.Route {
	on := visit.Pages(func(v *visit.Visit) *page { return &page{v, s} })
	return []visit.Route{
		{Method: http.MethodGet, Path: "/desk/signin", Needs: visit.Public, Handle: on((*page).signIn)},
		{Method: http.MethodPost, Path: "/desk/signin", Needs: visit.Public, Handle: on((*page).signInPassword)},
		{Method: http.MethodPost, Path: "/desk/signin/passkey", Needs: visit.Public, Handle: on((*page).signInPasskey)},
		{Method: http.MethodPost, Path: "/desk/signin/passkey/options", Needs: visit.Public, Handle: on((*page).signInOptions)},
		{Method: http.MethodPost, Path: "/desk/signout", Needs: visit.Public, Handle: on((*page).signOut)},
		{Method: http.MethodGet, Path: "/desk/start", Needs: visit.Public, Handle: on((*page).start)},
		{Method: http.MethodPost, Path: "/desk/start", Needs: visit.Public, Handle: on((*page).openLink)},
		{Method: http.MethodPost, Path: "/desk/start/password", Needs: visit.Public, Handle: on((*page).joinPassword)},
		{Method: http.MethodPost, Path: "/desk/start/code", Needs: visit.Public, Handle: on((*page).joinCode)},
		{Method: http.MethodPost, Path: "/desk/start/passkey", Needs: visit.Public, Handle: on((*page).joinPasskey)},
		{Method: http.MethodPost, Path: "/desk/start/passkey/options", Needs: visit.Public, Handle: on((*page).joinOptions)},
	}
}
