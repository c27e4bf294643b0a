package lightning

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"chequer/internal/guard"
)

const (
	// maxAnswer is the maximum size of an answer, in bytes.
	maxAnswer = 64 << 10
	// minHidden is the minimum length of a secret that is hidden in error answers, in bytes.
	minHidden = 8
	// callTimeout is the maximum time of a call.
	callTimeout = 10 * time.Second
)

// Caller calls the HTTP API of a provider. It connects to allowed addresses only, and follows no redirect.
type Caller struct {
	Dialer guard.Connector
	// TLS is the configuration of https; nil trusts the certificates of the system.
	TLS *tls.Config
	// MaxAnswer is the maximum size of an answer, in bytes. Zero is 64 KiB.
	MaxAnswer int64
	// Secrets are the texts that authenticate the calls. They are hidden in error answers, which may repeat them.
	Secrets []string
}

// AnyPort returns a connector that allows any port of public addresses, for servers that the merchant named.
func AnyPort(c guard.Connector) guard.Connector { return anyPort{c} }

type anyPort struct{ guard.Connector }

// Dial implements guard.Connector.
func (a anyPort) Dial(ctx context.Context, target guard.Target, hostport string) (net.Conn, error) {
	target.AnyPort = true
	return a.Connector.Dial(ctx, target, hostport)
}

// Upgrader returns a client that opens WebSocket connections, for plain connections without TLS. It follows no
// redirect, and the connections do not end with the context.
func (c Caller) Upgrader(plain bool) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, hostport string) (net.Conn, error) {
				return c.Dialer.Dial(ctx, guard.Target{Plain: plain, Live: true}, hostport)
			},
			TLSClientConfig:        c.TLS.Clone(),
			MaxResponseHeaderBytes: maxAnswer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Pinned returns a TLS configuration that trusts only the certificate with a SHA-256. A base configuration is
// used if there is no SHA-256.
func Pinned(sum []byte, base *tls.Config) *tls.Config {
	if sum == nil {
		return base
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection compares the certificate instead
		VerifyConnection: func(state tls.ConnectionState) error {
			if sha256.Sum256(state.PeerCertificates[0].Raw) != [sha256.Size]byte(sum) {
				return ErrCertificate
			}
			return nil
		},
	}
}

// Do sends a request and returns the status and the body of the answer. The error does not contain the URL.
func (c Caller) Do(ctx context.Context, r *http.Request) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := guard.RoundTrip(r.WithContext(ctx), c.Dialer, true, c.TLS)
	if err != nil {
		return 0, nil, explain(err)
	}
	defer answer.Body.Close()
	limit := cmp.Or(c.MaxAnswer, maxAnswer)
	body, err = io.ReadAll(io.LimitReader(answer.Body, limit+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("read answer: %w", explain(err))
	case int64(len(body)) > limit:
		return 0, nil, NewAnswerError(fmt.Sprintf("the answer is larger than %d KiB", limit>>10))
	case answer.StatusCode >= 300 && answer.StatusCode < 400:
		return 0, nil, errors.New("the server answers with a redirect, which is not followed")
	case answer.StatusCode == http.StatusTooManyRequests:
		return 0, nil, ErrRateLimited
	}
	if answer.StatusCode != http.StatusOK {
		for _, secret := range c.Secrets {
			if len(secret) >= minHidden { // a shorter one is a part of common words
				body = bytes.ReplaceAll(body, []byte(secret), []byte(hidden))
			}
		}
	}
	return answer.StatusCode, body, nil
}

// noAnswerError is context.DeadlineExceeded with a text for people.
type noAnswerError struct{}

// Error implements error.
func (noAnswerError) Error() string { return "the server does not answer in time" }

// Is reports whether the target is context.DeadlineExceeded.
func (noAnswerError) Is(target error) bool { return target == context.DeadlineExceeded }

// explain returns the error of a call for people.
func explain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return noAnswerError{}
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("the certificate of the server is not trusted: %w", err)
	}
	return err
}
