package httpapi

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

var (
	// ErrTooLarge means that a body is larger than the limit.
	ErrTooLarge = errors.New("the body is too large")
	// ErrCompressed means that a body is compressed.
	ErrCompressed = errors.New("the body is compressed")
	// ErrUnreadable means that a body could not be read completely.
	ErrUnreadable = errors.New("the body could not be read completely")
)

// ReadBody reads the body of a request, which has at most maximum bytes. It refuses compressed and too large bodies.
func ReadBody(c echo.Context, maximum int64) ([]byte, error) {
	codings := c.Request().Header.Values("Content-Encoding")
	if c.Request().ContentLength != 0 && slices.ContainsFunc(codings, func(coding string) bool { return coding != "" && !strings.EqualFold(coding, "identity") }) {
		c.Response().Header().Set("Accept-Encoding", "identity") // see RFC 9110, 15.5.16
		return nil, ErrCompressed
	}
	if c.Request().ContentLength > maximum {
		return nil, ErrTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Response().Writer, c.Request().Body, maximum))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, ErrTooLarge
	}
	if err != nil {
		return nil, ErrUnreadable
	}
	return body, nil
}
