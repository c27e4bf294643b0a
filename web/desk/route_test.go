package desk_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"chequer/internal/account"
)

// access describes the callers that a route admits.
type access struct {
	roles   []account.Role // that may use the route; nil: no session is needed
	confirm bool           // only shortly after a confirmation of the sign-in
}

var (
	anyone    = access{}
	everyRole = access{roles: account.Roles}
	ownSignIn = access{roles: account.Roles, confirm: true}
	owners    = access{roles: []account.Role{account.Owner}}
	confirmed = access{roles: []account.Role{account.Owner}, confirm: true}
	deciders  = access{roles: []account.Role{account.Owner, account.Manager}}
	exporters = access{roles: []account.Role{account.Owner, account.Manager, account.Bookkeeper}}
	counters  = access{roles: []account.Role{account.Seller}}
	sellers   = access{roles: []account.Role{account.Owner, account.Manager, account.Developer}}
	keepers   = access{roles: []account.Role{account.Owner, account.Developer}}
	keyring   = access{roles: []account.Role{account.Owner, account.Developer}, confirm: true}
	viewers   = access{roles: []account.Role{account.Owner, account.Manager, account.Bookkeeper, account.Developer}}
	// technicians see the state of the server.
	technicians = access{roles: []account.Role{account.Owner, account.Manager, account.Developer}}
	auditors    = access{roles: []account.Role{account.Owner, account.Manager, account.Bookkeeper, account.Developer}}
)

// routeAccess maps every route to the callers that it admits. A new route needs a row here.
var routeAccess = map[string]access{
	"GET /desk":                                             anyone,
	"GET /desk/":                                            anyone,
	"GET /api-keys/authorize":                               anyone,
	"GET /api-keys/authorize/":                              anyone,
	"GET /desk/all/connect":                                 keepers,
	"GET /desk/:shop/connect":                               keepers,
	"POST /desk/:shop/connect":                              keyring,
	"GET /desk/signin":                                      anyone,
	"POST /desk/signin":                                     anyone,
	"POST /desk/signin/passkey":                             anyone,
	"POST /desk/signin/passkey/options":                     anyone,
	"POST /desk/signout":                                    anyone,
	"GET /desk/start":                                       anyone,
	"POST /desk/start":                                      anyone,
	"POST /desk/start/password":                             anyone,
	"POST /desk/start/code":                                 anyone,
	"POST /desk/start/passkey":                              anyone,
	"POST /desk/start/passkey/options":                      anyone,
	"GET /desk/all":                                         viewers,
	"GET /desk/all/attention":                               deciders,
	"GET /desk/all/reports":                                 exporters,
	"GET /desk/:shop":                                       everyRole,
	"POST /desk/:shop/notices/dismiss":                      everyRole,
	"GET /desk/:shop/attention":                             deciders,
	"GET /desk/:shop/payments":                              viewers,
	"GET /desk/:shop/payments/:id":                          viewers,
	"POST /desk/:shop/payments/:id/notes":                   viewers,
	"GET /desk/:shop/payments/:id/notes/:note/remove":       viewers,
	"POST /desk/:shop/payments/:id/notes/:note/remove":      viewers,
	"POST /desk/:shop/payments/:id/wake":                    deciders,
	"GET /desk/:shop/refunds":                               viewers,
	"GET /desk/:shop/payments/:id/refund":                   deciders,
	"POST /desk/:shop/payments/:id/refund":                  deciders,
	"POST /desk/:shop/payments/:id/refund/:refund/:change":  deciders,
	"GET /desk/:shop/payments/:id/:decision":                deciders,
	"POST /desk/:shop/payments/:id/:decision":               deciders,
	"GET /desk/:shop/live":                                  everyRole,
	"GET /desk/:shop/account":                               everyRole,
	"GET /desk/:shop/account/password":                      ownSignIn,
	"POST /desk/:shop/account/password":                     ownSignIn,
	"POST /desk/:shop/account/password/code":                ownSignIn,
	"POST /desk/:shop/account/password/remove":              ownSignIn,
	"POST /desk/:shop/account/passkey":                      ownSignIn,
	"POST /desk/:shop/account/passkey/options":              ownSignIn,
	"POST /desk/:shop/account/passkey/remove":               ownSignIn,
	"GET /desk/:shop/account/passkey/:passkey/rename":       ownSignIn,
	"POST /desk/:shop/account/passkey/:passkey/rename":      ownSignIn,
	"POST /desk/:shop/account/session/end":                  everyRole,
	"POST /desk/:shop/account/sessions/end":                 everyRole,
	"GET /desk/:shop/account/keyboard":                      everyRole,
	"POST /desk/:shop/account/keyboard":                     everyRole,
	"GET /desk/:shop/account/notifications":                 everyRole,
	"POST /desk/:shop/account/notifications":                everyRole,
	"POST /desk/:shop/account/notifications/times":          everyRole,
	"POST /desk/:shop/account/notifications/where":          ownSignIn,
	"POST /desk/:shop/account/notifications/test":           everyRole,
	"GET /desk/:shop/account/notifications/email":           everyRole,
	"POST /desk/:shop/account/notifications/email":          everyRole,
	"POST /desk/:shop/account/notifications/email/link":     everyRole,
	"GET /desk/:shop/confirm":                               everyRole,
	"POST /desk/:shop/confirm":                              everyRole,
	"POST /desk/:shop/confirm/passkey":                      everyRole,
	"POST /desk/:shop/confirm/passkey/options":              everyRole,
	"GET /desk/:shop/accounts":                              owners,
	"POST /desk/:shop/accounts/invite":                      confirmed,
	"POST /desk/:shop/accounts/withdraw":                    confirmed,
	"GET /desk/:shop/accounts/:account":                     owners,
	"POST /desk/:shop/accounts/:account/role":               confirmed,
	"POST /desk/:shop/accounts/:account/remove":             confirmed,
	"GET /desk/:shop/log":                                   auditors,
	"GET /desk/:shop/health":                                technicians,
	"POST /desk/:shop/health/examine":                       technicians,
	"GET /desk/:shop/setup":                                 owners,
	"POST /desk/:shop/setup":                                confirmed,
	"GET /desk/:shop/shop":                                  owners,
	"POST /desk/:shop/shop":                                 confirmed,
	"POST /desk/:shop/shops":                                confirmed,
	"GET /desk/:shop/backup":                                confirmed,
	"POST /desk/:shop/backup":                               confirmed,
	"GET /desk/:shop/payment-settings":                      deciders,
	"POST /desk/:shop/payment-settings":                     deciders,
	"GET /desk/:shop/theme":                                 deciders,
	"POST /desk/:shop/theme":                                deciders,
	"GET /desk/:shop/theme/preview/:hash":                   deciders,
	"GET /desk/:shop/theme/preview/:hash/:file":             deciders,
	"GET /desk/:shop/wallets":                               deciders,
	"GET /desk/:shop/wallets/add":                           confirmed,
	"POST /desk/:shop/wallets/add":                          confirmed,
	"POST /desk/:shop/wallets/confirm":                      confirmed,
	"GET /desk/:shop/wallets/lightning":                     confirmed,
	"POST /desk/:shop/wallets/lightning":                    confirmed,
	"GET /desk/:shop/wallets/monero":                        confirmed,
	"POST /desk/:shop/wallets/monero":                       confirmed,
	"POST /desk/:shop/wallets/:wallet/test":                 confirmed,
	"GET /desk/:shop/wallets/:wallet/remove":                confirmed,
	"POST /desk/:shop/wallets/:wallet/remove":               confirmed,
	"GET /desk/:shop/sweeps":                                deciders,
	"GET /desk/:shop/sweeps/:sweep":                         deciders,
	"POST /desk/:shop/sweeps/:sweep/look":                   deciders,
	"GET /desk/:shop/sweeps/:sweep/stop":                    confirmed,
	"POST /desk/:shop/sweeps/:sweep/stop":                   confirmed,
	"GET /desk/:shop/sweeps/:sweep/send":                    confirmed,
	"POST /desk/:shop/sweeps/:sweep/send":                   confirmed,
	"POST /desk/:shop/sweeps/:sweep/ask":                    confirmed,
	"POST /desk/:shop/sweeps/:sweep/sent":                   owners,
	"POST /desk/:shop/payments/:id/resend":                  sellers,
	"GET /desk/:shop/keys":                                  keepers,
	"POST /desk/:shop/keys":                                 keyring,
	"GET /desk/:shop/keys/:key":                             keepers,
	"POST /desk/:shop/keys/:key/revoke":                     keyring,
	"GET /desk/:shop/webhooks":                              keepers,
	"POST /desk/:shop/webhooks":                             keyring,
	"GET /desk/:shop/webhooks/:endpoint":                    keepers,
	"GET /desk/:shop/webhooks/:endpoint/:change":            keepers,
	"POST /desk/:shop/webhooks/:endpoint/:change":           keyring,
	"GET /desk/:shop/webhooks/:endpoint/deliveries/:event":  keepers,
	"POST /desk/:shop/webhooks/:endpoint/deliveries/:event": keyring,
	"GET /desk/:shop/products":                              sellers,
	"GET /desk/:shop/products/new":                          sellers,
	"POST /desk/:shop/products/new":                         sellers,
	"GET /desk/:shop/products/:product/edit":                sellers,
	"POST /desk/:shop/products/:product/edit":               sellers,
	"POST /desk/:shop/products/:product/show":               sellers,
	"POST /desk/:shop/products/:product/hide":               sellers,
	"GET /desk/:shop/products/:product/remove":              sellers,
	"POST /desk/:shop/products/:product/remove":             sellers,
	"GET /desk/:shop/links":                                 sellers,
	"GET /desk/:shop/links/new":                             sellers,
	"POST /desk/:shop/links/new":                            sellers,
	"GET /desk/:shop/links/:link/edit":                      sellers,
	"POST /desk/:shop/links/:link/edit":                     sellers,
	"GET /desk/:shop/links/:link/remove":                    sellers,
	"POST /desk/:shop/links/:link/remove":                   sellers,
	"POST /desk/:shop/links/:link/restore":                  sellers,
	"GET /desk/:shop/terminals":                             deciders,
	"GET /desk/:shop/terminals/new":                         deciders,
	"POST /desk/:shop/terminals/new":                        deciders,
	"GET /desk/:shop/terminals/:terminal/remove":            deciders,
	"POST /desk/:shop/terminals/:terminal/remove":           deciders,
	"GET /desk/:shop/terminals/:terminal/sellers":           deciders,
	"POST /desk/:shop/terminals/:terminal/sellers":          deciders,
	"GET /desk/:shop/own":                                   counters,
	"POST /desk/:shop/own/:terminal/open":                   counters,
	"GET /desk/:shop/own/payments/:id":                      counters,
	"GET /desk/:shop/storefront":                            sellers,
	"GET /desk/:shop/reports":                               exporters,
	"GET /desk/:shop/reports/export":                        exporters,
}

// Every route is tried with a session of every role: confirmed, not confirmed, without a session, and
// with a session of another shop.
func TestRoutes_admit_only_their_roles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(routeAccess)), routesOf(t, f.desk)); diff != "" {
		t.Fatalf("routes (-routeAccess +router):\n%s", diff)
	}
	team := f.team()
	forms := map[account.Role]string{}
	for role, b := range team {
		forms[role] = b.formToken()
	}
	try := func(t *testing.T, b *browser, route, form string) page {
		t.Helper()
		method, path, _ := strings.Cut(route, " ")
		path = filled(path, shop)
		return b.do(method, path, values("form", form))
	}
	for _, stale := range []bool{false, true} {
		if stale {
			f.clock.Advance(11 * time.Minute)
		}
		for _, route := range slices.Sorted(maps.Keys(routeAccess)) {
			want := routeAccess[route]
			if want.roles == nil || strings.HasSuffix(route, "/sessions/end") && stale {
				continue
			}
			for role, b := range team {
				got := try(t, b, route, forms[role])
				outcome := outcomeOf(got)
				expected := "admitted"
				switch {
				case !slices.Contains(want.roles, role):
					expected = "refused"
				case want.confirm && stale:
					expected = "to be confirmed"
				}
				if outcome != expected {
					t.Errorf("%s as %s, confirmation stale %t: %s (%d), want %s", route, role, stale, outcome, got.status, expected)
				}
			}
			if got := outcomeOf(try(t, f.browser(), route, "")); got != "signed out" {
				t.Errorf("%s without a session: %s", route, got)
			}
		}
	}
	for route, want := range routeAccess {
		if want.roles == nil || !strings.Contains(route, ":shop") {
			continue
		}
		method, path, _ := strings.Cut(route, " ")
		path = filled(path, "other")
		if got := team[account.Owner].do(method, path, values("form", forms[account.Owner])); got.status != http.StatusNotFound {
			t.Errorf("%s of a shop in which the account has no role: %d, want 404", route, got.status)
		}
	}
}

// parameter matches a parameter in the path of a route.
var parameter = regexp.MustCompile(`:\w+`)

// filled returns a path of a route with values for its parameters.
func filled(path, shop string) string {
	return parameter.ReplaceAllStringFunc(path, func(name string) string {
		switch name {
		case ":shop":
			return shop
		case ":decision":
			return "accept"
		case ":change":
			return "pause"
		}
		return "unknown"
	})
}

// outcomeOf returns how the desk treated a request.
func outcomeOf(p page) string {
	switch location := p.header.Get("Location"); {
	case p.status == http.StatusSeeOther && strings.HasPrefix(location, "/desk/signin"):
		return "signed out"
	case p.status == http.StatusForbidden && strings.Contains(p.body, "Confirm it’s you"):
		return "to be confirmed"
	case p.status == http.StatusForbidden && strings.Contains(p.body, "Not allowed for your role"):
		return "refused"
	case p.status == http.StatusForbidden, p.status == http.StatusUnauthorized, p.status >= http.StatusInternalServerError:
		return fmt.Sprintf("status %d: %s", p.status, p.text())
	}
	return "admitted"
}

// A refusal names the accounts that may act, and changes nothing.
func TestRefusal_names_the_accounts_that_may_act(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	seller := f.as("Jonas", account.Seller)
	f.as("Tove", account.Manager)
	seller.get("/desk/shop/accounts").want(http.StatusForbidden, "Accounts are managed by: Owner: Maren.")
	seller.get("/desk/shop/log").want(http.StatusForbidden, "The audit log is viewed by: Owner: Maren; Manager: Tove.")
	before := len(f.actions())
	seller.send("/desk/shop/accounts/invite", "role", "owner").want(http.StatusForbidden, "Accounts are managed by: Owner: Maren.")
	if got := f.actions(); len(got) != before {
		t.Errorf("the refused action is in the audit log: %q", got)
	}
	if n := seller.get("/desk/shop/account").find(`a[href="/desk/shop/accounts"], a[href="/desk/shop/log"], a[href="/desk/shop/payments"]`).Length(); n != 0 {
		t.Errorf("the page of a seller has %d links to places that refuse the seller", n)
	}
}

// routesOf returns the method and the path of every route of a handler, without those for HEAD.
func routesOf(t *testing.T, h http.Handler) []string {
	t.Helper()
	router, ok := h.(*echo.Echo)
	if !ok {
		t.Fatalf("the desk is a %T", h)
	}
	var routes []string
	for _, r := range router.Routes() {
		if r.Method != http.MethodHead && r.Method != echo.RouteNotFound {
			routes = append(routes, r.Method+" "+r.Path)
		}
	}
	slices.Sort(routes)
	return routes
}
