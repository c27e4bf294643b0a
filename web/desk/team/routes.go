// Package team shows the accounts of a shop at the desk: the account of the session, the other accounts, and the audit
// log of their changes.
package team

import (
	"context"
	"net/http"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/notify"
	"chequer/web/desk/visit"
)

// AuditLog reads the audit log. It is safe for concurrent use.
type AuditLog interface {
	// AuditLog lists at most limit entries with numbers lower than below, newest first. It lists the
	// newest if below is 0.
	AuditLog(ctx context.Context, below int64, limit int) ([]audit.Entry, error)
}

// Screens are the pages of the account of the session, of the accounts of a shop, and of the audit log.
type Screens struct {
	Audit         AuditLog
	Notifications *notify.Service
}

// page is a visit to one of the screens.
type page struct {
	*visit.Visit
	*Screens
}

// Routes lists the pages and the actions of the screens.
func (s *Screens) Routes() []visit.Route {
	on := visit.Pages(func(v *visit.Visit) *page { return &page{v, s} })
	return []visit.Route{
		{Method: http.MethodGet, Path: "/desk/:shop/account", Needs: visit.Member, Handle: on((*page).ownAccount)},
		{Method: http.MethodGet, Path: "/desk/:shop/account/password", Needs: account.ManageSignIn, Handle: on((*page).newPassword)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/password", Needs: account.ManageSignIn, Handle: on((*page).offerPassword)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/password/code", Needs: account.ManageSignIn, Handle: on((*page).acceptPassword)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/password/remove", Needs: account.ManageSignIn, Handle: on((*page).removePassword)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/passkey", Needs: account.ManageSignIn, Handle: on((*page).addPasskey)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/passkey/options", Needs: account.ManageSignIn, Handle: on((*page).addPasskeyOptions)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/passkey/remove", Needs: account.ManageSignIn, Handle: on((*page).removePasskey)},
		{Method: http.MethodGet, Path: "/desk/:shop/account/passkey/:passkey/rename", Needs: account.ManageSignIn, Handle: on((*page).passkeyName)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/passkey/:passkey/rename", Needs: account.ManageSignIn, Handle: on((*page).renamePasskey)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/session/end", Needs: visit.Member, Handle: on((*page).endSession)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/sessions/end", Needs: visit.Member, Handle: on((*page).endSessions)},
		{Method: http.MethodGet, Path: "/desk/:shop" + keyboardPath, Needs: visit.Member, Handle: on((*page).keyboard)},
		{Method: http.MethodPost, Path: "/desk/:shop" + keyboardPath, Needs: visit.Member, Handle: on((*page).setShortcuts)},
		{Method: http.MethodGet, Path: "/desk/:shop/account/notifications", Needs: visit.Member, Handle: on((*page).notifications)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/notifications", Needs: visit.Member, Handle: on((*page).chooseKinds)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/notifications/times", Needs: visit.Member, Handle: on((*page).setTimes)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/notifications/where", Needs: account.ManageSignIn, Handle: on((*page).setDestinations)},
		{Method: http.MethodPost, Path: "/desk/:shop/account/notifications/test", Needs: visit.Member, Handle: on((*page).sendTest)},
		{Method: http.MethodGet, Path: "/desk/:shop/accounts", Needs: account.ManageAccounts, Handle: on((*page).accounts)},
		{Method: http.MethodPost, Path: "/desk/:shop/accounts/invite", Needs: account.ManageAccounts, Handle: on((*page).invite)},
		{Method: http.MethodPost, Path: "/desk/:shop/accounts/withdraw", Needs: account.ManageAccounts, Handle: on((*page).withdraw)},
		{Method: http.MethodGet, Path: "/desk/:shop/accounts/:account", Needs: account.ManageAccounts, Handle: on((*page).otherAccount)},
		{Method: http.MethodPost, Path: "/desk/:shop/accounts/:account/role", Needs: account.ManageAccounts, Handle: on((*page).setRole)},
		{Method: http.MethodPost, Path: "/desk/:shop/accounts/:account/remove", Needs: account.ManageAccounts, Handle: on((*page).removeAccount)},
		{Method: http.MethodGet, Path: "/desk/:shop/log", Needs: account.ViewLog, Handle: on((*page).log)},
	}
}
