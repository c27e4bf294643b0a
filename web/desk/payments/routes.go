// Package payments shows the invoices of a shop at the desk, and makes the merchant's decisions about them.
package payments

import (
	"net/http"

	"chequer/internal/account"
	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/web/desk/visit"
)

// Screens are the places Payments and Needs attention, and the pages of the terminals of sellers. All fields are required.
type Screens struct {
	Endpoints *merchant.Endpoints
	Terminals *merchant.Terminals
	Reports   *report.Service
}

// page is a visit to one of the screens.
type page struct {
	*visit.Visit
	*Screens
	keyNames map[string]string // names of the API keys by ID; nil before they are read
}

// Routes lists the pages and the actions of the screens.
func (s *Screens) Routes() []visit.Route {
	on := visit.Pages(func(v *visit.Visit) *page { return &page{Visit: v, Screens: s} })
	return []visit.Route{
		{Method: http.MethodGet, Path: visit.AllShopsPath + visit.AttentionPath, Needs: account.Decide, AllShops: true, Handle: on((*page).allAttention)},
		{Method: http.MethodGet, Path: "/desk/:shop/attention", Needs: account.Decide, Handle: on((*page).attention)},
		{Method: http.MethodGet, Path: "/desk/:shop/payments", Needs: account.ViewPayments, Handle: on((*page).payments)},
		{Method: http.MethodGet, Path: "/desk/:shop/payments/:id", Needs: account.ViewPayments, Handle: on((*page).payment)},
		{Method: http.MethodPost, Path: "/desk/:shop/payments/:id/resend", Needs: account.Sell, Handle: on((*page).resend)},
		{Method: http.MethodPost, Path: "/desk/:shop/payments/:id/notes", Needs: account.ViewPayments, Handle: on((*page).addNote)},
		{Method: http.MethodGet, Path: "/desk/:shop/payments/:id/notes/:note/remove", Needs: account.ViewPayments, Handle: on((*page).askToRemoveNote)},
		{Method: http.MethodPost, Path: "/desk/:shop/payments/:id/notes/:note/remove", Needs: account.ViewPayments, Handle: on((*page).removeNote)},
		{Method: http.MethodPost, Path: "/desk/:shop/payments/:id/wake", Needs: account.Decide, Handle: on((*page).endSnooze)},
		{Method: http.MethodGet, Path: "/desk/:shop/refunds", Needs: account.ViewPayments, Handle: on((*page).refunds)},
		{Method: http.MethodGet, Path: "/desk/:shop/payments/:id/refund", Needs: account.Decide, Handle: on((*page).refunding)},
		{Method: http.MethodPost, Path: "/desk/:shop/payments/:id/refund", Needs: account.Decide, Handle: on((*page).prepareRefund)},
		{Method: http.MethodPost, Path: "/desk/:shop/payments/:id/refund/:refund/:change", Needs: account.Decide, Handle: on((*page).changeRefund)},
		{Method: http.MethodGet, Path: "/desk/:shop" + visit.OwnPath, Needs: account.ViewOwnTerminals, Handle: on((*page).ownTerminals)},
		{Method: http.MethodPost, Path: "/desk/:shop" + visit.OwnPath + "/:terminal/open", Needs: account.ViewOwnTerminals, Handle: on((*page).openTerminal)},
		{Method: http.MethodGet, Path: "/desk/:shop" + visit.OwnPath + "/payments/:id", Needs: account.ViewOwnTerminals, Handle: on((*page).ownPayment)},
		{Method: http.MethodGet, Path: "/desk/:shop/payments/:id/:decision", Needs: account.Decide, Handle: on((*page).askToDecide)},
		{Method: http.MethodPost, Path: "/desk/:shop/payments/:id/:decision", Needs: account.Decide, Handle: on((*page).decide)},
	}
}
