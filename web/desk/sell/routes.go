// Package sell shows what a shop sells at the desk: its products, checkout links and counter terminals, and the
// code for the merchant's own site.
package sell

import (
	"context"
	"net/http"

	"chequer/internal/account"
	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/web/desk/visit"
)

// Screens are the pages of the place Sell. All fields are required unless their comment says otherwise.
type Screens struct {
	Products  *merchant.Products
	Links     *merchant.Links
	Terminals *merchant.Terminals
	Reports   *report.Service
	Prices    merchant.Prices
	// Languages returns the languages of the payment pages of a shop.
	Languages func(ctx context.Context, shopID string) *locale.Languages
	// AnyAmount reports whether the first page of a shop's storefront is a form in which shoppers enter the amount.
	AnyAmount func(ctx context.Context, shopID string) bool
	// EmbedOrigins are the origins whose pages may show payments in a frame. It may be empty.
	EmbedOrigins []string
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
		{Method: http.MethodGet, Path: "/desk/:shop/products", Needs: account.Sell, Handle: on((*page).products)},
		{Method: http.MethodGet, Path: "/desk/:shop/products/new", Needs: account.Sell, Handle: on((*page).newProduct)},
		{Method: http.MethodPost, Path: "/desk/:shop/products/new", Needs: account.Sell, Handle: on((*page).addProduct)},
		{Method: http.MethodGet, Path: "/desk/:shop/products/:product/edit", Needs: account.Sell, Handle: on((*page).product)},
		{Method: http.MethodPost, Path: "/desk/:shop/products/:product/edit", Needs: account.Sell, Handle: on((*page).changeProduct)},
		{Method: http.MethodPost, Path: "/desk/:shop/products/:product/show", Needs: account.Sell, Handle: on((*page).showProduct)},
		{Method: http.MethodPost, Path: "/desk/:shop/products/:product/hide", Needs: account.Sell, Handle: on((*page).hideProduct)},
		{Method: http.MethodGet, Path: "/desk/:shop/products/:product/remove", Needs: account.Sell, Handle: on((*page).askToRemoveProduct)},
		{Method: http.MethodPost, Path: "/desk/:shop/products/:product/remove", Needs: account.Sell, Handle: on((*page).removeProduct)},

		{Method: http.MethodGet, Path: "/desk/:shop/links", Needs: account.Sell, Handle: on((*page).links)},
		{Method: http.MethodGet, Path: "/desk/:shop/links/new", Needs: account.Sell, Handle: on((*page).newLink)},
		{Method: http.MethodPost, Path: "/desk/:shop/links/new", Needs: account.Sell, Handle: on((*page).addLink)},
		{Method: http.MethodGet, Path: "/desk/:shop/links/:link/edit", Needs: account.Sell, Handle: on((*page).link)},
		{Method: http.MethodPost, Path: "/desk/:shop/links/:link/edit", Needs: account.Sell, Handle: on((*page).changeLink)},
		{Method: http.MethodGet, Path: "/desk/:shop/links/:link/remove", Needs: account.Sell, Handle: on((*page).askToRemoveLink)},
		{Method: http.MethodPost, Path: "/desk/:shop/links/:link/remove", Needs: account.Sell, Handle: on((*page).removeLink)},
		{Method: http.MethodPost, Path: "/desk/:shop/links/:link/restore", Needs: account.Sell, Handle: on((*page).restoreLink)},

		{Method: http.MethodGet, Path: "/desk/:shop/terminals", Needs: account.Configure, Handle: on((*page).terminals)},
		{Method: http.MethodGet, Path: "/desk/:shop/terminals/new", Needs: account.Configure, Handle: on((*page).newTerminal)},
		{Method: http.MethodPost, Path: "/desk/:shop/terminals/new", Needs: account.Configure, Handle: on((*page).addTerminal)},
		{Method: http.MethodGet, Path: "/desk/:shop/terminals/:terminal/remove", Needs: account.Configure, Handle: on((*page).askToRemoveTerminal)},
		{Method: http.MethodPost, Path: "/desk/:shop/terminals/:terminal/remove", Needs: account.Configure, Handle: on((*page).removeTerminal)},
		{Method: http.MethodGet, Path: "/desk/:shop/terminals/:terminal" + sellersPath, Needs: account.Configure, Handle: on((*page).sellers)},
		{Method: http.MethodPost, Path: "/desk/:shop/terminals/:terminal" + sellersPath, Needs: account.Configure, Handle: on((*page).setSeller)},

		{Method: http.MethodGet, Path: "/desk/:shop/storefront", Needs: account.Sell, Handle: on((*page).storefront)},
	}
}
