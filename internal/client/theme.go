package client

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"

	"chequer/internal/api"
	"chequer/internal/theme"
)

// Theme returns the theme with a hash, or the theme of the client's own merchant if hash is empty.
// It returns ErrNotFound, or ErrUnsupported if the service has no themes.
func (c *Client) Theme(ctx context.Context, hash string) (theme.Theme, error) {
	path := api.PathTheme
	if hash != "" {
		path = api.PathThemes + "/" + hash
	}
	a, err := c.do(ctx, request{method: http.MethodGet, path: path, chequerScheme: true})
	var answer api.Theme
	switch {
	case err != nil:
	case a.status == http.StatusOK && decode(a.body, &answer) == nil:
		var read theme.Theme
		if read, err = readTheme(answer); err == nil {
			return read, nil
		}
	case a.isChequer() && a.status == http.StatusNotFound:
		err = ErrNotFound
	case !a.isChequer() && !isTemporary(a.status):
		err = ErrUnsupported
	default:
		err = a.failure()
	}
	return theme.Theme{}, wrap("read theme", err)
}

// readTheme converts and checks a theme of the service. It accepts only what a merchant may set.
func readTheme(a api.Theme) (theme.Theme, error) {
	t, err := theme.Normalize(theme.Theme{Name: a.Name, Accent: a.Accent, Line: a.Line, Support: a.Support, Terms: a.Terms, Stay: !a.AutoReturn})
	if err != nil {
		return theme.Theme{}, fmt.Errorf("%w: %w", ErrInvalidAnswer, err)
	}
	if a.Logo == "" {
		return t, nil
	}
	body, err := base64.StdEncoding.DecodeString(a.Logo)
	if err == nil {
		t.Logo, err = theme.ParseLogo(a.LogoType, body)
	}
	if err != nil {
		return theme.Theme{}, fmt.Errorf("%w: logo: %w", ErrInvalidAnswer, err)
	}
	return t, nil
}
