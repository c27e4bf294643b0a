// Package payments shows the invoices of a shop at the desk, and makes the merchant's decisions about them.
package payments

import (
	"net/http"

	"chequer/internal/account"
	"chequer/internal/merchant"
	"chequer/web/desk/visit"
)

// Screens are the places Payments and Needs attention.
type Screens struct {
	Endpoints *merchant.Endpoints
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
		{Method: http.MethodGet, Path: "/desk/:shop/payments/:id/:decision", Needs: account.Decide, Handle: on((*page).askToDecide)},
		{Method: http.MethodPost, Path: "/desk/:shop/payments/:id/:decision", Needs: account.Decide, Handle: on((*page).decide)},
	}
}
