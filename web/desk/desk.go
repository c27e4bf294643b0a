// Package desk serves the merchant's desk: it finds the account of a session, checks its permission,
// calls a service, and renders the page.
package desk

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/locale"
	"chequer/internal/merchant"
)

// AuditLog reads the audit log. It is safe for concurrent use.
type AuditLog interface {
	// AuditLog lists at most limit entries with numbers lower than below, newest first. It lists the
	// newest if below is 0.
	AuditLog(ctx context.Context, below int64, limit int) ([]audit.Entry, error)
}

// Config is the configuration of the desk. All fields are required unless their comment says otherwise.
type Config struct {
	// Accounts manages the accounts. It has no site if browsers would send its secrets unprotected, which
	// every page of the desk then explains.
	Accounts  *account.Service
	Audit     AuditLog
	Merchants *merchant.Service
	Themes    *merchant.Themes
	Invoices  *invoice.Service

	BasePath string // prefix of every path: "" or "/pay"
	BaseURL  string // public address
	// Words is the language of the desk.
	Words       *locale.Language
	IPExtractor echo.IPExtractor
	Now         func() time.Time
	Log         *slog.Logger
}

// Desk serves the desk. It is safe for concurrent use.
type Desk struct {
	Config
	echo *echo.Echo
}

// maxForm is the limit for the body of a form. The answer of an authenticator is its largest part.
const maxForm = "64K"

// New returns the handler of the paths below /desk.
func New(c Config) *Desk {
	h := &Desk{Config: c, echo: echo.New()}
	h.echo.HTTPErrorHandler = h.fail
	h.echo.IPExtractor = c.IPExtractor
	h.echo.Use(h.secure, h.recovered(), compressed(), middleware.BodyLimit(maxForm), h.reachable, h.sameOrigin, wellFormed)
	for _, r := range h.routes() {
		h.echo.Add(r.method, c.BasePath+r.path, h.serve(r))
		if r.method == http.MethodGet {
			h.echo.Add(http.MethodHead, c.BasePath+r.path, h.serve(r))
		}
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.echo.ServeHTTP(w, r) }

// Owns reports whether the desk serves a path.
func Owns(path, basePath string) bool {
	return path == basePath+"/desk" || strings.HasPrefix(path, basePath+"/desk/")
}

// path adds the base path to a path of this site.
func (h *Desk) path(path string) string { return h.BasePath + path }

// recovered turns a panic into an error that is handled like any other.
func (h *Desk) recovered() echo.MiddlewareFunc {
	return middleware.RecoverWithConfig(middleware.RecoverConfig{
		LogErrorFunc: func(c echo.Context, err error, stack []byte) error {
			h.Log.ErrorContext(c.Request().Context(), "desk panicked", "error", err, "stack", string(stack))
			return err
		},
	})
}

// compressed compresses pages. No page contains both a secret and a text of another site, which
// compression would let that site guess: every page needs a session, and forms of other sites are
// refused.
func compressed() echo.MiddlewareFunc {
	return middleware.GzipWithConfig(middleware.GzipConfig{Level: 5})
}
