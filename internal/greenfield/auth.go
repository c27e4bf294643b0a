package greenfield

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/audit"
	"chequer/internal/caller"
	"chequer/internal/merchant"
)

// permissionPrefix begins the names of the permissions that BTCPay Server grants for a store.
const permissionPrefix = "btcpay.store."

// handler handles a call with a key.
type handler func(c echo.Context, k merchant.Key) error

// authorized accepts a call after these checks: protected connection, token, rate limit of the key, store, scope. The
// key needs one of the scopes, or any scope if there are none. The rate limit of the address counts and refuses only
// calls that fail authentication.
func (s *server) authorized(handle handler, scopes ...merchant.Scope) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.Protected(c.Request()) {
			return errUnprotected
		}
		key, err := s.authenticate(c.Request())
		if err != nil && !s.addresses.Allow(caller.Network(c.RealIP()), s.Now()) {
			return errTooMany
		}
		if err != nil {
			return err
		}
		if err := s.authorize(c, key, scopes); err != nil {
			return err
		}
		ctx := audit.WithActor(c.Request().Context(), key.Actor(c.RealIP()))
		if err := s.Merchants.UseKey(ctx, key); err != nil {
			s.Log.Warn("use of API key not recorded", "error", err)
		}
		c.SetRequest(c.Request().WithContext(ctx))
		return handle(c, key)
	}
}

// authorize returns an error if the key may not make the call.
func (s *server) authorize(c echo.Context, k merchant.Key, scopes []merchant.Scope) error {
	isForeign := c.Param("store") != "" && c.Param("store") != k.StoreID()
	switch {
	case !s.keys.Allow(k.ID, s.Now()):
		return errTooMany
	case len(scopes) > 0 && (isForeign || !slices.ContainsFunc(scopes, k.May)):
		return missingPermission(scopes[0])
	}
	return nil
}

// authenticate returns the key whose token a request presents: "Authorization: token KEY", or the scheme bearer.
func (s *server) authenticate(r *http.Request) (merchant.Key, error) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 { // a proxy and the server could use different values
		return merchant.Key{}, errUnauthenticated
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "token") && !strings.EqualFold(scheme, "bearer") {
		return merchant.Key{}, errUnauthenticated
	}
	key, err := s.Merchants.AuthenticateToken(r.Context(), strings.TrimSpace(token))
	if errors.Is(err, merchant.ErrNotFound) || err == nil && !key.RevokedAt.IsZero() {
		return merchant.Key{}, errUnauthenticated
	}
	if err != nil {
		return merchant.Key{}, fmt.Errorf("authenticate: %w", err)
	}
	return key, nil
}

// currentKey handles GET api-keys/current. Each permission names the store, from which plug-ins learn its ID.
func (s *server) currentKey(c echo.Context, k merchant.Key) error {
	_, token, _ := strings.Cut(c.Request().Header.Get("Authorization"), " ")
	return writeJSON(c, http.StatusOK, currentKey{APIKey: strings.TrimSpace(token), Label: k.Label, Permissions: Permissions(k)})
}

// currentKey is the key of a call.
type currentKey struct {
	APIKey      string   `json:"apiKey"`
	Label       string   `json:"label"`
	Permissions []string `json:"permissions"`
}

// Permissions returns the permissions of a key as plug-ins read them: "btcpay.store.cancreateinvoice:STORE". A scope of
// this program is not among them, because some plug-ins refuse a permission that they do not know.
func Permissions(k merchant.Key) []string {
	list := []string{}
	for _, scope := range k.Scopes {
		if scope != merchant.ScopeSettleInvoices {
			list = append(list, Permission(scope)+":"+k.StoreID())
		}
	}
	return list
}

// Permission returns the permission that a plug-in asks for to get a scope, such as "btcpay.store.cancreateinvoice".
func Permission(scope merchant.Scope) string { return permissionPrefix + string(scope) }

// ParsePermission returns the scope of a permission that a plug-in asks for, such as "btcpay.store.cancreateinvoice". known
// is false for any other permission, and for the scope of this program.
func ParsePermission(permission string) (scope merchant.Scope, known bool) {
	name, isOfStore := strings.CutPrefix(permission, permissionPrefix)
	scope = merchant.Scope(name)
	return scope, isOfStore && scope != merchant.ScopeSettleInvoices && slices.Contains(merchant.PluginScopes, scope)
}
