// Package daemon reads the chain and the pool of transactions of Monero through the RPC of one daemon, monerod, which
// the merchant runs and whose answers are trusted.
package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"chequer/internal/format"
	"chequer/internal/guard"
)

const (
	// maxQuoted bounds the length of a text of a daemon in an error, in characters.
	maxQuoted = 120
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 64 << 10
	// maxLogins is the number of times that a call answers a challenge. A daemon has a new challenge for each connection.
	maxLogins = 3
	// idleTimeout is the time after which an unused connection is closed. It is longer than the interval of polls, because
	// each new connection needs a new login.
	idleTimeout = time.Minute
	// defaultTimeout is the timeout of a request if none is configured.
	defaultTimeout = 30 * time.Second
)

// Config is the configuration of a Client.
type Config struct {
	Address Address
	// Trusted is true if the merchant declares that it trusts a daemon that is not in its own network.
	Trusted bool
	// Network is the network that the daemon must be on.
	Network Network
	// Setting is the name of the setting with the address, for error messages.
	Setting string
	// Timeout is the timeout of a request; zero means 30 seconds.
	Timeout time.Duration
	Now     func() time.Time
}

// Client calls the RPC of one daemon. It makes one request at a time on one connection, because a login of monerod
// belongs to a connection and counts its requests. It is safe for concurrent use.
type Client struct {
	config Config
	http   *http.Client
	// turn holds one value while no request is made.
	turn  chan struct{}
	login *challenge // nil before the first challenge; the holder of the turn uses it
}

// New returns a new Client. It makes no request. It returns an error for a daemon outside the merchant's network that the
// merchant does not trust, or that is called without TLS: such a daemon, or the network before it, could invent payments.
func New(c Config) (*Client, error) {
	if !c.Address.IsOwn() {
		if !c.Trusted {
			return nil, fmt.Errorf("%s: the daemon at %s is not on this machine or in a private network: if you trust it, write trusted: before its address", c.Setting, c.Address.Host())
		}
		if u, err := url.Parse(c.Address.URL); err != nil || u.Scheme != "https" {
			return nil, fmt.Errorf("%s: the daemon at %s is not on this machine or in a private network: use https", c.Setting, c.Address.Host())
		}
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	return &Client{
		config: c, turn: make(chan struct{}, 1),
		http: &http.Client{
			Transport: guard.NoUpgrade(&http.Transport{ // without a proxy, because the merchant runs the daemon
				TLSClientConfig:        pinned(c.Address.Certificate),
				MaxConnsPerHost:        1,
				IdleConnTimeout:        idleTimeout,
				DisableCompression:     true,
				MaxResponseHeaderBytes: maxHeader,
			}),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// pinned returns a TLS configuration that trusts only the certificate with a SHA-256, or those of the system if it is nil.
func pinned(sum []byte) *tls.Config {
	if sum == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection compares the certificate instead
		VerifyConnection: func(state tls.ConnectionState) error {
			if got := sha256.Sum256(state.PeerCertificates[0].Raw); !bytes.Equal(got[:], sum) {
				return fmt.Errorf("%w: its SHA-256 is %x, not the pinned one; monerod keeps its own certificate in rpc_ssl.crt of its data directory", ErrCertificate, got)
			}
			return nil
		},
	}
}

// Close closes the connection. A later request opens another.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// post sends a body to a path, logs in if the daemon asks for it, and returns the answer with HTTP status 200, which has
// at most limit bytes. The error for another status is a *statusError. It repeats the request once if the connection breaks
// within the answer, because monerod 0.18.0 sometimes breaks answers of more than 100 kB that it encrypts.
func (c *Client) post(ctx context.Context, path string, body []byte, limit int64) ([]byte, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.Timeout, fmt.Errorf("no complete answer within %s", c.config.Timeout))
	defer cancel()
	hasBroken := false
	for attempt := 0; ; {
		sent := c.login != nil
		answer, header, err := c.send(ctx, path, body, limit)
		if errors.Is(err, errBroken) && !hasBroken && ctx.Err() == nil {
			hasBroken = true
			continue
		}
		status, isStatus := errors.AsType[*statusError](err)
		if !isStatus || status.code != http.StatusUnauthorized {
			return answer, err
		}
		c.login = newChallenge(header.Values("WWW-Authenticate"))
		switch {
		case c.login == nil:
			return nil, fmt.Errorf("%w: it asks for a kind of login that this program does not support, want Digest with MD5 or SHA-256", ErrLogin)
		case c.config.Address.password == nil:
			c.login = nil
			return nil, fmt.Errorf("%w: it asks for a user and a password, and %s has none", ErrLogin, c.config.Setting)
		case sent && !c.login.isStale:
			c.login = nil
			return nil, fmt.Errorf("%w: wrong user or password in %s", ErrLogin, c.config.Setting)
		case attempt == maxLogins:
			return nil, fmt.Errorf("%w: it asks for another login at each request, as behind a proxy that does not keep connections", ErrLogin)
		}
		attempt++
	}
}

// errBroken means that the connection breaks within an answer.
var errBroken = errors.New("incomplete answer")

// statusError is the error for an answer with another HTTP status than 200.
type statusError struct {
	code int
	text string
}

// Error implements error.
func (e *statusError) Error() string {
	switch {
	case e.code >= 300 && e.code < 400:
		return fmt.Sprintf("HTTP status %d: a redirect, which is not followed", e.code)
	case e.code == http.StatusNotFound:
		return "HTTP status 404: the address is not that of the RPC of a monerod, or its RPC is restricted"
	case e.text == "":
		return fmt.Sprintf("HTTP status %d", e.code)
	}
	return fmt.Sprintf("HTTP status %d: %s", e.code, e.text)
}

// send sends a body once. The header is that of an answer with any status.
func (c *Client) send(ctx context.Context, path string, body []byte, limit int64) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.Address.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, errors.New("malformed address of the daemon")
	}
	request.Header.Set("Content-Type", "application/json")
	// With this header, http.Transport repeats a request that fails because the daemon has just closed the connection. That
	// is safe, because the requests only read. The header itself is not sent.
	request.Header["X-Idempotency-Key"] = nil
	if c.login != nil {
		request.Header.Set("Authorization", c.login.answer(c.config.Address.User, *c.config.Address.password, http.MethodPost, path))
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, c.explain(ctx, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return nil, nil, c.explain(ctx, fmt.Errorf("%w: %w", errBroken, err))
	case int64(len(answer)) > limit:
		return nil, nil, fmt.Errorf("%w: more than %s bytes", ErrTooLarge, format.Grouped(limit))
	case response.StatusCode != http.StatusOK:
		return nil, response.Header, &statusError{response.StatusCode, format.OneLine(string(answer), maxQuoted)}
	}
	return answer, response.Header, nil
}

// explain returns the error of a request that got no complete answer.
func (c *Client) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if errors.Is(err, ErrCertificate) {
		return fmt.Errorf("connection failed: %w", err)
	}
	if unverified, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(unverified.UnverifiedCertificates) > 0 {
		sum := sha256.Sum256(unverified.UnverifiedCertificates[0].Raw)
		return fmt.Errorf("%w: it is not trusted; if it is that of your daemon, add #%s%s to %s: %w", ErrCertificate, pinField, hex.EncodeToString(sum[:]), c.config.Setting, unverified.Err)
	}
	return fmt.Errorf("connection failed: %w", err)
}
