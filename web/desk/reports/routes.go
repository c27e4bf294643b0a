// Package reports shows the totals of a shop at the desk, and exports its paid invoices.
package reports

import (
	"net/http"
	"net/url"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/web/desk/visit"
)

// Screens are the places Overview and Reports. All fields are required.
type Screens struct {
	Reports   *report.Service
	Products  *merchant.Products
	Links     *merchant.Links
	Terminals *merchant.Terminals
}

// page is a visit to one of the screens.
type page struct {
	*visit.Visit
	*Screens
}

// Routes lists the pages of the screens.
func (s *Screens) Routes() []visit.Route {
	on := visit.Pages(func(v *visit.Visit) *page { return &page{v, s} })
	return []visit.Route{
		{Method: http.MethodGet, Path: visit.AllShopsPath, Needs: account.ViewPayments, AllShops: true, Handle: on((*page).allOverview)},
		{Method: http.MethodGet, Path: visit.AllShopsPath + visit.ReportsPath, Needs: account.Export, AllShops: true, Handle: on((*page).allReports)},
		{Method: http.MethodGet, Path: "/desk/:shop", Needs: visit.Member, Handle: on((*page).home)},
		{Method: http.MethodPost, Path: "/desk/:shop" + noticesPath, Needs: visit.Member, Handle: on((*page).dismissNotices)},
		{Method: http.MethodGet, Path: "/desk/:shop/reports", Needs: account.Export, Handle: on((*page).reports)},
		{Method: http.MethodGet, Path: "/desk/:shop/reports/export", Needs: account.Export, Handle: on((*page).export)},
	}
}

// home shows the overview. An account that may not see totals is redirected to the page of its terminals, or else to its
// own page, with the notice of the last action.
func (v *page) home() error {
	path := "/account"
	switch {
	case v.May(account.ViewOwnTerminals):
		path = visit.OwnPath
	case v.May(account.ViewPayments):
		return v.overview()
	}
	if done := v.QueryParam("done"); done != "" {
		return v.Done(v.Below(path), url.QueryEscape(done))
	}
	return v.Redirect(http.StatusSeeOther, v.Below(path))
}

// mode returns the mode of the payments that the page shows.
func (v *page) mode() invoice.Mode {
	if v.IsTest() {
		return invoice.Test
	}
	return invoice.Live
}
