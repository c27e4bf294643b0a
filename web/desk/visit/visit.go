// Package visit admits requests to the merchant's desk: it finds the session and its account, checks the
// permission of a route, renders pages in the frame of the desk, and turns errors into answers.
package visit

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"chequer/internal/account"
	"chequer/internal/casework"
	"chequer/internal/invoice"
	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/web/desk/changes"
)

// Site has the services and the settings that all pages of the desk use. All fields are required unless
// their comment says otherwise. It is safe for concurrent use.
type Site struct {
	// Accounts manages the accounts. Its own Site, an account.Site, is zero if browsers would send secrets unprotected. Every page of the
	// desk then shows this problem.
	Accounts  *account.Service
	Merchants *merchant.Service
	Themes    *merchant.Themes
	Invoices  *invoice.Service
	Casework  *casework.Service
	Changes   *changes.Hub
	// PaymentSettings manages the payment settings of the shops.
	PaymentSettings *merchant.Settings
	// PluginDays is the retention period of the metadata of shop plug-ins, in days; 0 keeps the metadata.
	PluginDays int

	// IsDemo reports whether the server is a demo, whose shops accept test payments only.
	IsDemo func(context.Context) (bool, error)

	BasePath string // prefix of every path: "", or for example "/pay"
	BaseURL  string // public address
	RootShop string // ID of the shop whose storefront is at the root
	// Words is the language of the desk.
	Words       *locale.Language
	IPExtractor echo.IPExtractor
	Now         func() time.Time
	Log         *slog.Logger

	sent    *sentForms
	streams *openStreams
}

// Visit is a request with the account that makes it. Account, Session and Shop are zero on public
// routes. On pages of all shops, Shop stands for all of them.
type Visit struct {
	echo.Context
	*Site
	Account account.Account
	Session account.Session
	Shop    merchant.Merchant
	token   formToken
	// streamURL is the address of the stream for a page that updates itself.
	streamURL string
	tallies   map[invoice.Mode]invoice.Tally // tallies that were read for this request
	shops     []merchant.Merchant            // shops of the account; empty except on the pages of all shops
	zone      *time.Location                 // time zone of the shop, or of all shops; nil on a page without a shop
	forgets   bool                           // see ForgetAnswer
}

// maxFormSize is the limit for the body of most forms. The largest value in them is the answer of an authenticator.
const maxFormSize = "64K"

// NewHandler returns the handler of routes, of the routes that confirm a sign-in, and of the streams of pages. It initialises s, which must not
// be used with another handler.
func NewHandler(s *Site, routes []Route) *echo.Echo {
	s.sent, s.streams = &sentForms{answers: map[pageID]*answer{}}, &openStreams{byAccount: map[string]int{}}
	e := echo.New()
	e.HTTPErrorHandler = s.fail
	e.IPExtractor = s.IPExtractor
	e.Use(s.secure, s.recoverPanics(), compressPages(), s.requireSecureAddress, s.sameOrigin, refuseMalformedPath)
	for _, r := range slices.Concat(routes, confirmRoutes, streamRoutes) {
		e.Add(r.Method, s.BasePath+r.Path, s.serve(r), middleware.BodyLimit(cmp.Or(r.MaxBody, maxFormSize)))
		if r.Method == http.MethodGet {
			e.Add(http.MethodHead, s.BasePath+r.Path, s.serve(r))
		}
	}
	return e
}

// Storefront returns the address of the first page of a shop's storefront.
func (s *Site) Storefront(m merchant.Merchant) string {
	if m.ID == s.RootShop {
		return s.BaseURL + "/"
	}
	return s.BaseURL + m.Path()
}

// Address returns a path of this site with the base path before it.
func (s *Site) Address(path string) string { return s.BasePath + path }

// recoverPanics returns middleware that turns a panic into an error that is handled like any other.
func (s *Site) recoverPanics() echo.MiddlewareFunc {
	return middleware.RecoverWithConfig(middleware.RecoverConfig{
		LogErrorFunc: func(c echo.Context, err error, stack []byte) error {
			s.Log.ErrorContext(c.Request().Context(), "desk panicked", "error", err, "stack", string(stack))
			return err
		},
	})
}

// compressPages returns middleware that compresses responses other than streams. The sizes of compressed responses reveal no secret to another
// site (BREACH): only answers to forms contain secrets, another site cannot send these forms, and the form token is masked.
func compressPages() echo.MiddlewareFunc {
	return middleware.GzipWithConfig(middleware.GzipConfig{
		Level: 5, Skipper: func(c echo.Context) bool { return strings.HasSuffix(c.Request().URL.Path, streamPath) },
	})
}
