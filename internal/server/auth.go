package server

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/audit"
	"chequer/internal/caller"
	"chequer/internal/httpapi"
	"chequer/internal/merchant"
	"chequer/internal/signature"
)

const (
	// maxBody is the maximum size of the body of a request, in bytes.
	maxBody = 64 << 10
	// timestampWindow is the largest difference between a timestamp and the server's clock.
	timestampWindow = 300 * time.Second
	// nonceTTL is the time that a nonce is remembered: as long as its timestamp can be valid.
	nonceTTL = 2 * timestampWindow
)

var (
	keyPattern       = regexp.MustCompile(`^[A-Za-z0-9]{32}$`)
	timestampPattern = regexp.MustCompile(`^[0-9]{1,11}$`)
	noncePattern     = regexp.MustCompile(`^[A-Za-z0-9]{16,64}$`)
)

// rule is the condition under which a call is accepted.
type rule struct {
	requestSigned bool             // the signature must be a request signature
	exemptBuiltin bool             // calls with the built-in key of the pages need only a body signature
	scopes        []merchant.Scope // the key needs at least one of these
}

// requestSigned returns the rule for calls with a request signature of a key that has one of the scopes.
func requestSigned(scopes ...merchant.Scope) rule { return rule{requestSigned: true, scopes: scopes} }

// call is a request whose caller is authenticated.
type call struct {
	key   merchant.Key
	body  []byte
	nonce string // "" when signed by the API family's scheme
}

// serves reports whether a key with the scope page shows the pages of a merchant: a key serves its own
// merchant, and the key of this server's pages serves all.
func (k call) serves(merchantID string) bool { return k.key.Builtin || k.key.MerchantID == merchantID }

// unsigned accepts calls without a signature, up to the rate limit of their address.
func (s *server) unsigned(handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.addresses.Allow(caller.Network(c.RealIP()), s.Now()) {
			return errTooManyByAddress
		}
		return handle(c)
	}
}

// signed accepts a call after these checks, in the order of CONTRACT.md: size, rate limit of the
// address, key, signature, timestamp and nonce, scope, rate limit of the key. The rate limit of the
// address counts and refuses only calls that fail authentication. The calls of a merchant are
// therefore accepted even if many other calls come from the same address.
func (s *server) signed(r rule, handle func(echo.Context, call) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		body, err := httpapi.ReadBody(c, maxBody)
		if err != nil {
			return err
		}
		key, nonce, err := s.identify(c.Request(), body, r)
		if err != nil && !s.addresses.Allow(caller.Network(c.RealIP()), s.Now()) {
			return errTooManyByAddress
		}
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(r.scopes, key.May) {
			return errScope
		}
		if !key.Builtin && !s.keys.Allow(key.ID, s.Now()) {
			return errTooManyByKey
		}
		s.recordUse(c.Request().Context(), key)
		if !key.Builtin {
			setActor(c, key)
		}
		return handle(c, call{key: key, body: body, nonce: nonce})
	}
}

// setActor makes an API key the actor of the changes of its request.
func setActor(c echo.Context, key merchant.Key) {
	c.SetRequest(c.Request().WithContext(audit.WithActor(c.Request().Context(), key.Actor(c.RealIP()))))
}

// recordUse records that a key was used. A failure is logged and does not fail the call.
func (s *server) recordUse(ctx context.Context, key merchant.Key) {
	if err := s.Merchants.UseKey(ctx, key); err != nil {
		s.Log.Warn("use of API key not recorded", "error", err)
	}
}

// identify authenticates the caller of a request.
func (s *server) identify(r *http.Request, body []byte, rule rule) (key merchant.Key, nonce string, err error) {
	if key, err = s.authenticate(r); err != nil {
		return key, "", err
	}
	nonce, err = s.verify(r, key.Secret, body, rule.requestSigned && !(rule.exemptBuiltin && key.Builtin))
	return key, nonce, err
}

// authenticate returns the key that a request names.
func (s *server) authenticate(r *http.Request) (merchant.Key, error) {
	text, err := header(r, api.HeaderKey, errNoKey, errBadKey)
	if err != nil {
		return merchant.Key{}, err
	}
	if !keyPattern.MatchString(text) {
		return merchant.Key{}, errBadKey
	}
	key, err := s.Merchants.Authenticate(r.Context(), text)
	if errors.Is(err, merchant.ErrNotFound) || err == nil && !key.RevokedAt.IsZero() {
		return merchant.Key{}, errBadKey
	}
	if err != nil {
		return merchant.Key{}, fmt.Errorf("authenticate: %w", err)
	}
	return key, nil
}

// verify checks the signature of a request. The API family's scheme signs the body. A request with
// a timestamp or a nonce must have a request signature.
func (s *server) verify(r *http.Request, secret string, body []byte, requestSigned bool) (nonce string, err error) {
	presented, err := header(r, api.HeaderSignature, errNoSignature, errBadSignature)
	if err != nil {
		return "", err
	}
	if requestSigned || len(r.Header.Values(api.HeaderTimestamp)) > 0 || len(r.Header.Values(api.HeaderNonce)) > 0 {
		return s.verifyRequest(r, secret, body, presented)
	}
	if !signature.VerifyBody(secret, body, presented) {
		return "", errBadSignature
	}
	return "", nil
}

// verifyRequest checks a signature over the whole request. It does not use up the nonce; see useNonce.
func (s *server) verifyRequest(r *http.Request, secret string, body []byte, presented string) (nonce string, err error) {
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
	if !signature.Verify(secret, message, presented) {
		return "", errBadSignature
	}
	if now := s.Now(); !inWindow(timestamp, now) {
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

// inWindow reports whether a timestamp is inside the window around now.
func inWindow(timestamp string, now time.Time) bool {
	if !timestampPattern.MatchString(timestamp) {
		return false
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	return err == nil && now.Sub(time.Unix(seconds, 0)).Abs() <= timestampWindow
}

// useNonce refuses a nonce that was used before. Requests signed by the API family's scheme have no
// nonce.
func (s *server) useNonce(ctx context.Context, k call) error {
	if k.nonce == "" {
		return nil
	}
	unused, err := s.Nonces.UseNonce(ctx, k.key.ID, k.nonce, s.Now(), nonceTTL)
	if err != nil {
		return fmt.Errorf("use nonce: %w", err)
	}
	if !unused {
		return errBadNonce
	}
	return nil
}

// requireJSON refuses a body of another media type. It ignores the media type's parameters.
func requireJSON(c echo.Context) error {
	kind, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	if kind != "application/json" || err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return errMediaType
	}
	return nil
}

// header returns the only value of a header. It refuses a repeated header, because a proxy and the
// server could use different values.
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
