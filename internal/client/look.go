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

// Look reads how pages look: by its hash, or that of the client's own merchant when
// that is empty. ErrNotFound; ErrUnsupported when the service knows no looks.
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
	case a.ours() && a.status == http.StatusNotFound:
		err = ErrNotFound
	case !a.ours() && !a.passing():
		err = ErrUnsupported
	default:
		err = a.failure()
	}
	return look.Look{}, wrap("read look", err)
}

// readLook is a look as the service tells it. The service may be anybody's: what a
// merchant may not set, it may not tell either.
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

// lookForm is what look.Look.Hash makes.
var lookForm = regexp.MustCompile(`^[0-9a-f]{24}$`)

// checkedLook is the hash of a look; empty when it is none.
func checkedLook(hash string) string {
	if !lookForm.MatchString(hash) {
		return ""
	}
	return hash
}
