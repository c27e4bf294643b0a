package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

// terminalProblems are the error answers of calls about terminals.
var terminalProblems = problems{merchant.ErrNotFound: errNoTerminal}

// createTerminal handles POST terminals.
func (s *server) createTerminal(c echo.Context, k call) error {
	r, err := request[api.TerminalRequest](c, k)
	if err != nil {
		return err
	}
	t, err := wire.TerminalOf(k.key.MerchantID, k.key.Mode, r)
	if err != nil {
		return err
	}
	if err := s.admitChange(c, k, r.PaymentMethods); err != nil {
		return err
	}
	if t, err = s.Terminals.Create(c.Request().Context(), t); err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, wire.NewTerminal(s.BaseURL, t))
}

// listTerminals handles GET terminals.
func (s *server) listTerminals(c echo.Context, k call) error {
	terminals, err := s.terminalsOf(c.Request().Context(), k)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.TerminalList{Terminals: views(wire.Terminal, terminals, nil)})
}

// terminalsOf returns the terminals of the key's merchant and mode.
func (s *server) terminalsOf(ctx context.Context, k call) ([]merchant.Terminal, error) {
	terminals, err := s.Terminals.List(ctx, k.key.MerchantID)
	return slices.DeleteFunc(terminals, func(t merchant.Terminal) bool { return t.Mode != k.key.Mode }), err
}

// showTerminal handles GET terminals/{id}.
func (s *server) showTerminal(c echo.Context, k call) error {
	t, err := s.ownTerminal(c, k)
	return reply(c, wire.Terminal, t, err)
}

// ownTerminal returns the terminal in the path, which must be of the key's merchant and mode.
func (s *server) ownTerminal(c echo.Context, k call) (merchant.Terminal, error) {
	terminals, err := s.terminalsOf(c.Request().Context(), k)
	if err != nil {
		return merchant.Terminal{}, err
	}
	i := slices.IndexFunc(terminals, func(t merchant.Terminal) bool { return t.ID == c.Param("id") })
	if i < 0 {
		return merchant.Terminal{}, errNoTerminal
	}
	return terminals[i], nil
}

// removeTerminal handles DELETE terminals/{id}.
func (s *server) removeTerminal(c echo.Context, k call) error {
	ctx := c.Request().Context()
	if err := s.useNonce(ctx, k); err != nil {
		return err
	}
	t, err := s.ownTerminal(c, k)
	if err != nil {
		return err
	}
	if err := s.Terminals.Remove(ctx, t.MerchantID, t.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
