package server

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/theme"
	"chequer/internal/wire"
)

var (
	errNoTheme   = &problem{status: http.StatusNotFound, code: "look_not_found", message: "There is no such theme"}
	errLiveTheme = &problem{status: http.StatusForbidden, code: "live_key_required", message: "Once the shop has a live wallet, only a live key may change the theme, because live pages show it too"}
)

// themeHashPattern matches the result of theme.Theme.Hash.
var themeHashPattern = regexp.MustCompile(`^[0-9a-f]{24}$`)

// themeOf returns the hash of the theme of a merchant's pages; empty for the default theme.
func (s *server) themeOf(ctx context.Context, merchantID string) (string, error) {
	if s.Themes == nil {
		return "", nil
	}
	return s.Themes.Hash(ctx, merchantID)
}

// readTheme handles GET look: the theme of the key's merchant.
func (s *server) readTheme(c echo.Context, k call) error {
	t, err := s.Themes.Theme(c.Request().Context(), k.key.MerchantID)
	return reply(c, wire.Theme, t, err)
}

// themeByHash handles GET looks/{hash}, for pages. As with invoices, the theme may be any merchant's if the key
// is that of the pages of this server.
func (s *server) themeByHash(c echo.Context, k call) error {
	hash := c.Param("hash")
	if !themeHashPattern.MatchString(hash) {
		return errNoTheme
	}
	merchantID := k.key.MerchantID
	if k.key.Builtin {
		merchantID = ""
	}
	t, err := s.Themes.ByHash(c.Request().Context(), merchantID, hash)
	if errors.Is(err, merchant.ErrNotFound) {
		return errNoTheme
	}
	return reply(c, wire.Theme, t, err)
}

// setTheme handles PUT look. A field that is left out gets the default theme's value.
func (s *server) setTheme(c echo.Context, k call) error {
	r, err := request[api.ThemeRequest](c, k)
	if err != nil {
		return err
	}
	if err := s.mayChangeTheme(c, k); err != nil {
		return err
	}
	t, err := s.Themes.Set(c.Request().Context(), k.key.MerchantID, wire.NewTheme(r), r.Logo)
	if refused, ok := errors.AsType[*theme.FieldError](err); ok {
		return invalid(refused.Field, strings.ReplaceAll(refused.Fault, forbidden, "…"))
	}
	return reply(c, wire.Theme, t, err)
}

// resetTheme handles DELETE look.
func (s *server) resetTheme(c echo.Context, k call) error {
	if err := s.mayChangeTheme(c, k); err != nil {
		return err
	}
	if err := s.Themes.Reset(c.Request().Context(), k.key.MerchantID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// mayChangeTheme uses up the nonce of a change. It refuses test keys when the merchant has live
// wallets: the holder of a test key must not be able to change the support address that paying
// shoppers see.
func (s *server) mayChangeTheme(c echo.Context, k call) error {
	ctx := c.Request().Context()
	if k.key.Mode != merchant.Live {
		live, err := s.Merchants.Wallets(ctx, k.key.MerchantID, merchant.Live)
		if err != nil {
			return err
		}
		if len(live) > 0 {
			return errLiveTheme
		}
	}
	return s.useNonce(ctx, k)
}
