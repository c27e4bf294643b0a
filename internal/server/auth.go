package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/caller"
	"chequer/internal/merchant"
	"chequer/internal/signature"
)

const (
	maxBody = 64 << 10
	// window is how far a timestamp may be from our clock, either way.
	window = 300 * time.Second
	// nonceLife is how long a nonce is remembered: as long as its timestamp can
	// be inside the window.
	nonceLife = 2 * window
)

var (
	keyPattern       = regexp.MustCompile(`^[A-Za-z0-9]{32}$`)
	timestampPattern = regexp.MustCompile(`^[0-9]{1,11}$`)
	noncePattern     = regexp.MustCompile(`^[A-Za-z0-9]{16,64}$`)
)

// rule says who may make a call.
type rule struct {
	own    bool             // our own signature scheme is compulsory
	letOff bool             // but not for our own pages
	scopes []merchant.Scope // the key needs one of these
}

// call is a request whose caller is known.
type call struct {
	key   merchant.Key
	body  []byte
	nonce string // "" when signed by the family's scheme
}

// unsigned lets anybody's call in, so often by address.
func (s *server) unsigned(handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.addresses.take(caller.Network(c.RealIP()), s.now()) {
			return errTooManyByAddress
		}
		return handle(c)
	}
}

// signed lets a call in by CONTRACT's order of checks: size, so often by address,
// key, signature, timestamp and nonce, scope, so often by key. Only a call whose
// caller is not known counts against its address, and only such a call is refused
// for it: whoever shares an address with a flood gets through with a key.
func (s *server) signed(r rule, handle func(echo.Context, call) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		body, err := readBody(c)
		if err != nil {
			return err
		}
		key, nonce, err := s.identify(c.Request(), body, r)
		if err != nil && !s.addresses.take(caller.Network(c.RealIP()), s.now()) {
			return errTooManyByAddress
		}
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(r.scopes, key.May) {
			return errScope
		}
		if !key.Builtin && !s.keys.take(key.ID, s.now()) {
			return errTooManyByKey
		}
		s.recordUse(c.Request().Context(), key)
		return handle(c, call{key: key, body: body, nonce: nonce})
	}
}

// recordTimeout bounds how long a call waits for the record of its key's use.
const recordTimeout = time.Second

// recordUse records that a key was used. A call does not fail for the record.
func (s *server) recordUse(ctx context.Context, key merchant.Key) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if err := s.merchants.UseKey(ctx, key); err != nil {
		s.log.Warn("use of API key not recorded", "error", err)
	}
}

// identify finds and checks who signed a request.
func (s *server) identify(r *http.Request, body []byte, by rule) (key merchant.Key, nonce string, err error) {
	if key, err = s.authenticate(r); err != nil {
		return key, "", err
	}
	nonce, err = s.verify(r, key.Secret, body, by.own && !(by.letOff && key.Builtin))
	return key, nonce, err
}

func readBody(c echo.Context) ([]byte, error) {
	codings := c.Request().Header.Values("Content-Encoding")
	if c.Request().ContentLength != 0 && slices.ContainsFunc(codings, func(coding string) bool { return coding != "" && !strings.EqualFold(coding, "identity") }) {
		c.Response().Header().Set("Accept-Encoding", "identity") // see RFC 9110, 15.5.16
		return nil, errCompressed
	}
	if c.Request().ContentLength > maxBody {
		return nil, errTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Response().Writer, c.Request().Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, errUnreadable
	}
	return body, nil
}

// authenticate finds the key of a request.
func (s *server) authenticate(r *http.Request) (merchant.Key, error) {
	text, err := header(r, api.HeaderKey, errNoKey, errBadKey)
	if err != nil {
		return merchant.Key{}, err
	}
	if !keyPattern.MatchString(text) {
		return merchant.Key{}, errBadKey
	}
	key, err := s.merchants.Authenticate(r.Context(), text)
	if errors.Is(err, merchant.ErrNotFound) || err == nil && !key.RevokedAt.IsZero() {
		return merchant.Key{}, errBadKey
	}
	if err != nil {
		return merchant.Key{}, fmt.Errorf("authenticate: %w", err)
	}
	return key, nil
}

// verify checks the signature of a request. The family's scheme signs the body;
// a timestamp or a nonce says that it is signed by our own, which is then the
// only one that counts.
func (s *server) verify(r *http.Request, secret string, body []byte, own bool) (nonce string, err error) {
	given, err := header(r, api.HeaderSignature, errNoSignature, errBadSignature)
	if err != nil {
		return "", err
	}
	if own || len(r.Header.Values(api.HeaderTimestamp)) > 0 || len(r.Header.Values(api.HeaderNonce)) > 0 {
		return s.verifyOwn(r, secret, body, given)
	}
	if !signature.VerifyBody(secret, body, given) {
		return "", errBadSignature
	}
	return "", nil
}

// verifyOwn checks a signature over the whole request. The nonce is noted later,
// see useNonce.
func (s *server) verifyOwn(r *http.Request, secret string, body []byte, given string) (nonce string, err error) {
	timestamp, err := header(r, api.HeaderTimestamp, errNoTimestamp, errBadTimestamp)
	if err != nil {
		return "", err
	}
	if nonce, err = header(r, api.HeaderNonce, errNoNonce, errBadNonce); err != nil {
		return "", err
	}
	message := signature.Request{
		Timestamp: timestamp, Nonce: nonce, Method: r.Method, Target: r.RequestURI,
		IdempotencyKey: r.Header.Get(api.HeaderIdempotencyKey), Body: body,
	}.Message()
	if !signature.Verify(secret, message, given) {
		return "", errBadSignature
	}
	if now := s.now(); !timely(timestamp, now) {
		return "", &problem{
			status: errBadTimestamp.status, code: errBadTimestamp.code,
			message: fmt.Sprintf("Bad timestamp header: the time of the server is %d", now.Unix()),
		}
	}
	if !noncePattern.MatchString(nonce) {
		return "", errBadNonce
	}
	return nonce, nil
}

// timely reports whether a timestamp is inside the window around a moment.
func timely(timestamp string, now time.Time) bool {
	if !timestampPattern.MatchString(timestamp) {
		return false
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	return err == nil && now.Sub(time.Unix(seconds, 0)).Abs() <= window
}

// useNonce refuses a nonce that was used before. Requests signed by the family's
// scheme have none.
func (s *server) useNonce(ctx context.Context, k call) error {
	if k.nonce == "" {
		return nil
	}
	unused, err := s.nonces.UseNonce(ctx, k.key.ID, k.nonce, s.now(), nonceLife)
	if err != nil {
		return fmt.Errorf("use nonce: %w", err)
	}
	if !unused {
		return errBadNonce
	}
	return nil
}

// requireJSON refuses a body of another media type, whatever its parameters.
func requireJSON(c echo.Context) error {
	kind, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	if kind != "application/json" || err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return errMediaType
	}
	return nil
}

// header is a header's one value. One that is there twice is bad: who reads the
// first and who reads the last would not see the same.
func header(r *http.Request, name string, missing, bad error) (string, error) {
	values := r.Header.Values(name)
	switch {
	case len(values) == 0 || values[0] == "":
		return "", missing
	case len(values) > 1:
		return "", bad
	}
	return values[0], nil
}
