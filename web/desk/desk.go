// Package desk serves the merchant's desk. It joins the screens, which are packages below it, in one
// handler.
package desk

import (
	"net/http"
	"slices"
	"strings"

	"chequer/internal/httpapi"
	"chequer/internal/merchant"
	"chequer/internal/notify"
	"chequer/internal/report"
	"chequer/web/desk/developers"
	"chequer/web/desk/health"
	"chequer/web/desk/payments"
	"chequer/web/desk/reports"
	"chequer/web/desk/sell"
	"chequer/web/desk/settings"
	"chequer/web/desk/signin"
	"chequer/web/desk/sweeps"
	"chequer/web/desk/team"
	"chequer/web/desk/visit"
	"chequer/web/desk/wallets"
)

// Config is the configuration of the desk. All fields are required.
type Config struct {
	visit.Site
	Audit     team.AuditLog
	Wallets   wallets.Screens
	Sweeps    sweeps.Screens
	Health    *health.Screens
	Endpoints *merchant.Endpoints
	Sell      sell.Screens
	Backups   settings.Backups
	NamedShop string // see settings.Screens
	Reports   *report.Service
	// Notifications keeps the notification settings of accounts.
	Notifications *notify.Service
}

// New returns the handler of the paths below /desk.
func New(c Config) http.Handler {
	return visit.NewHandler(&c.Site, routes(c))
}

// routes lists the pages and actions of all screens. Package visit adds its own routes.
func routes(c Config) []visit.Route {
	return slices.Concat(
		homeRoutes,
		(&signin.Screens{}).Routes(),
		(&reports.Screens{Reports: c.Reports, Products: c.Sell.Products, Links: c.Sell.Links, Terminals: c.Sell.Terminals}).Routes(),
		(&payments.Screens{Endpoints: c.Endpoints, Terminals: c.Sell.Terminals, Reports: c.Reports}).Routes(),
		c.Wallets.Routes(),
		c.Sweeps.Routes(),
		(&settings.Screens{Backups: c.Backups, Reports: c.Reports, NamedShop: c.NamedShop}).Routes(),
		c.Health.Routes(),
		c.Sell.Routes(),
		(&team.Screens{Audit: c.Audit, Notifications: c.Notifications}).Routes(),
		(&developers.Screens{Endpoints: c.Endpoints}).Routes(),
	)
}

// Owns reports whether the desk serves a path. Repeated slashes count as one in the address that plug-ins make.
func Owns(path, basePath string) bool {
	if path == basePath+"/desk" || strings.HasPrefix(path, basePath+"/desk/") {
		return true
	}
	path, below := httpapi.Below(path, basePath)
	return below && strings.TrimSuffix(path, "/") == developers.AuthorizePath
}
