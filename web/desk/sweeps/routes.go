// Package sweeps shows the recorded plans of sweeps at the desk, and lets the wallet of the browser pay for their rows. No page and no form
// names a destination: it is that of the recorded plan, which its signatures bind.
package sweeps

import (
	"context"
	"net/http"
	"time"

	"chequer/internal/account"
	"chequer/internal/sweep/recorded"
	"chequer/web/desk/visit"
)

// Storage has the recorded plans. It is safe for concurrent use.
type Storage interface {
	// SweepsAfter returns the plans of a merchant before the one with the ID after, newest first; the newest if after is "".
	SweepsAfter(ctx context.Context, merchantID, after string, limit int) ([]recorded.Sweep, error)
	// Sweep returns a plan of a merchant, or recorded.ErrNotFound.
	Sweep(ctx context.Context, merchantID, id string) (recorded.Sweep, error)
	// StopSweep records that a plan is not sent any more. It returns recorded.ErrNotFound or recorded.ErrStopped.
	StopSweep(ctx context.Context, merchantID, id string, now time.Time) error
	// RecordSweepCarried records that a transaction carries rows, and returns the number of those of which it now is the transaction.
	RecordSweepCarried(ctx context.Context, merchantID, id, tx string, numbers []int, now time.Time) (int, error)
}

// Network reads the networks of the plans. It is safe for concurrent use. Its errors are recorded.ErrNotFound, recorded.ErrHeld,
// *recorded.NetworkError, and those of the storage.
type Network interface {
	// Settle records which rows the network has moved, and returns the plan.
	Settle(ctx context.Context, merchantID, id string) (recorded.Sweep, error)
	// Propose verifies the signed file of a plan, and returns what a wallet can send. It keeps nothing of the file. It returns a
	// *recorded.FileError if the file is not that of the plan.
	Propose(ctx context.Context, merchantID, id string, signed []byte) (recorded.Proposal, error)
}

// Screens are the pages of the sweeps.
type Screens struct {
	Storage Storage
	Network Network
}

// page is a visit to one of the screens.
type page struct {
	*visit.Visit
	*Screens
}

// maxForm is the limit for the form with a signed file.
const maxForm = "1200K"

// Routes lists the pages and the actions of the screens.
//
// A wallet may ask its owner for longer than a confirmed sign-in lasts, so the hash of a transaction is recorded without one: the form has
// the proof that this session saw the transaction, which only a confirmed sign-in shows.
func (s *Screens) Routes() []visit.Route {
	on := visit.Pages(func(v *visit.Visit) *page { return &page{v, s} })
	return []visit.Route{
		{Method: http.MethodGet, Path: "/desk/:shop/sweeps", Needs: account.ViewWallets, Handle: on((*page).sweeps)},
		{Method: http.MethodGet, Path: "/desk/:shop/sweeps/:sweep", Needs: account.ViewWallets, Handle: on((*page).sweep)},
		{Method: http.MethodPost, Path: "/desk/:shop/sweeps/:sweep/look", Needs: account.ViewWallets, Handle: on((*page).look)},
		{Method: http.MethodGet, Path: "/desk/:shop/sweeps/:sweep/stop", Needs: account.ManageWallets, Handle: on((*page).askToStop)},
		{Method: http.MethodPost, Path: "/desk/:shop/sweeps/:sweep/stop", Needs: account.ManageWallets, Handle: on((*page).stop)},
		{Method: http.MethodGet, Path: "/desk/:shop/sweeps/:sweep/send", Needs: account.ManageWallets, Handle: on((*page).send)},
		{Method: http.MethodPost, Path: "/desk/:shop/sweeps/:sweep/send", Needs: account.ManageWallets, Handle: on((*page).check), MaxBody: maxForm},
		{Method: http.MethodPost, Path: "/desk/:shop/sweeps/:sweep/ask", Needs: account.ManageWallets, Handle: on((*page).ask)},
		{Method: http.MethodPost, Path: "/desk/:shop/sweeps/:sweep/sent", Needs: account.ViewWallets, Handle: on((*page).sent)},
	}
}
