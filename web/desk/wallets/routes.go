// Package wallets shows the wallets of a shop at the desk, and adds, replaces and removes them.
package wallets

import (
	"context"
	"net/http"

	"chequer/internal/account"
	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/web/desk/visit"
)

// Storage reads the wallets. It is safe for concurrent use.
type Storage interface {
	// AllWallets lists the wallets of a merchant, including former wallets, oldest first.
	AllWallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error)
	// NextIndex returns the next index of a wallet's key.
	NextIndex(ctx context.Context, counter string) (uint32, error)
	// Received returns what the keys of a merchant received.
	Received(ctx context.Context, merchantID string) (report.Received, error)
	// UnusedInARow returns the number of a wallet's newest addresses on a network that have no payment.
	UnusedInARow(ctx context.Context, w merchant.Wallet, network chain.ID) (int64, error)
}

// Kind describes the wallets of a kind under the settings of the server.
type Kind struct {
	Network keys.Network // network of the wallet's addresses
	Chains  []chain.ID   // networks on which payments to the wallet are watched
	Offered []string     // codes of the payment methods that the wallet makes available
	Off     []string     // payment methods that it does not make available, each with the reason
}

// Screens are the pages of the wallets.
type Screens struct {
	Wallets *merchant.Wallets
	Storage Storage
	// Kind describes the wallets of a kind.
	Kind func(keys.Kind) (Kind, error)
	// Examine lets the provider of a connection make and find a payment request, and returns what the connection allows. The
	// error names the reason for people.
	Examine func(ctx context.Context, w merchant.Wallet) (lightning.Access, error)
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
		{Method: http.MethodGet, Path: "/desk/:shop/wallets", Needs: account.ViewWallets, Handle: on((*page).wallets)},
		{Method: http.MethodGet, Path: "/desk/:shop/wallets/add", Needs: account.ManageWallets, Handle: on((*page).newWallet)},
		{Method: http.MethodPost, Path: "/desk/:shop/wallets/add", Needs: account.ManageWallets, Handle: on((*page).checkWallet)},
		{Method: http.MethodPost, Path: "/desk/:shop/wallets/confirm", Needs: account.ManageWallets, Handle: on((*page).addWallet)},
		{Method: http.MethodGet, Path: "/desk/:shop/wallets/lightning", Needs: account.ManageWallets, Handle: on((*page).newConnection)},
		{Method: http.MethodPost, Path: "/desk/:shop/wallets/lightning", Needs: account.ManageWallets, Handle: on((*page).addConnection), MaxBody: "32K"},
		{Method: http.MethodGet, Path: "/desk/:shop/wallets/monero", Needs: account.ManageWallets, Handle: on((*page).newMonero)},
		{Method: http.MethodPost, Path: "/desk/:shop/wallets/monero", Needs: account.ManageWallets, Handle: on((*page).addMonero)},
		{Method: http.MethodPost, Path: "/desk/:shop/wallets/:wallet/test", Needs: account.ManageWallets, Handle: on((*page).testConnection)},
		{Method: http.MethodGet, Path: "/desk/:shop/wallets/:wallet/remove", Needs: account.ManageWallets, Handle: on((*page).askToRemove)},
		{Method: http.MethodPost, Path: "/desk/:shop/wallets/:wallet/remove", Needs: account.ManageWallets, Handle: on((*page).removeWallet)},
	}
}
