package client

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"

	"chequer/internal/api"
	"chequer/internal/look"
)

// Look returns the theme with a hash, or the theme of the client's own merchant if hash is empty.
// It returns ErrNotFound, or ErrUnsupported if the service has no themes.
func (c *Client) Look(ctx context.Context, hash string) (look.Look, error) {
	path := api.PathLook
	if hash != "" {
		path = api.PathLooks + "/" + hash
	}
	a, err := c.do(ctx, request{method: http.MethodGet, path: path, own: true})
	var l api.Look
	switch {
	case err != nil:
	case a.status == http.StatusOK && decode(a.body, &l) == nil:
		var read look.Look
		if read, err = readLook(l); err == nil {
			return read, nil
		}
	case a.isOurs() && a.status == http.StatusNotFound:
		err = ErrNotFound
	case !a.isOurs() && !a.isTemporary():
		err = ErrUnsupported
	default:
		err = a.failure()
	}
	return look.Look{}, wrap("read look", err)
}

// readLook converts and checks a theme of the service, which may belong to a third party. It
// accepts only what a merchant may set.
func readLook(a api.Look) (look.Look, error) {
	l, err := look.Tidy(look.Look{Name: a.Name, Accent: a.Accent, Line: a.Line, Support: a.Support, Terms: a.Terms, Stay: !a.AutoReturn})
	if err != nil {
		return look.Look{}, fmt.Errorf("%w: %w", ErrNonsense, err)
	}
	if a.Logo == "" {
		return l, nil
	}
	body, err := base64.StdEncoding.DecodeString(a.Logo)
	if err == nil {
		l.Logo, err = look.Sent(a.LogoType, body)
	}
	if err != nil {
		return look.Look{}, fmt.Errorf("%w: logo: %w", ErrNonsense, err)
	}
	return l, nil
}

// lookForm matches the result of look.Look.Hash.
var lookForm = regexp.MustCompile(`^[0-9a-f]{24}$`)

// checkedLook returns the hash of a theme, or "" if it is invalid.
func checkedLook(hash string) string {
	if !lookForm.MatchString(hash) {
		return ""
	}
	return hash
}
