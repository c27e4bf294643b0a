package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"chequer/internal/guard"
)

// longest is more than any honest answer: a block of 4 MB in JSON, with every
// byte twice in hex and once more in words, stays well below.
const longest = 64 << 20

// client speaks JSON-RPC with one node. It is for one goroutine.
type client struct {
	config Config
	http   *http.Client // nil until there is need, and after a failure
	cookie string       // "user:password" as the cookie file had it last
	// ahead is how far our clock is ahead of the node's, as far as the date of its
	// newest answer shows; zero when they may be the same.
	ahead time.Duration
}

func newClient(c Config) *client { return &client{config: c} }

// post sends a body and reads the answer. When the password is refused the
// cookie is read again: the node has started anew.
func (c *client) post(ctx context.Context, body []byte) ([]byte, error) {
	if c.config.CookieFile != "" && c.cookie == "" {
		if err := c.readCookie(); err != nil {
			return nil, err
		}
	}
	for {
		used := c.cookie
		answer, status, err := c.send(ctx, body)
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusUnauthorized && c.config.CookieFile != "":
			if err := c.readCookie(); err != nil {
				return nil, err
			}
			if c.cookie != used {
				continue
			}
			return nil, fmt.Errorf("it refuses the password in the cookie file %s: see %s", c.config.CookieFile, c.config.Setting)
		case status == http.StatusUnauthorized:
			return nil, fmt.Errorf("it refuses the user or password in %s", c.config.Setting)
		case status == http.StatusForbidden:
			return nil, errors.New("it forbids us to ask: see its settings rpcallowip and rpcwhitelist")
		case status != http.StatusOK && !bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")):
			return nil, fmt.Errorf("it answers HTTP %d: %s", status, words(string(answer[:min(len(answer), 200)])))
		}
		return answer, nil
	}
}

func (c *client) send(ctx context.Context, body []byte) (answer []byte, status int, err error) {
	if err := c.open(); err != nil {
		return nil, 0, err
	}
	limited, cancel := context.WithTimeout(ctx, c.config.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodPost, c.config.URL, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	user, password := c.config.User, c.config.Password
	if c.config.CookieFile != "" {
		user, password, _ = strings.Cut(c.cookie, ":")
	}
	request.SetBasicAuth(user, password)
	request.Header.Set("Content-Type", "application/json")
	// We only read: a request that meets a connection which the node just closed is
	// sent again. The header itself is not sent, see http.Transport.
	request.Header["X-Idempotency-Key"] = nil
	begin := c.config.Now()
	response, err := c.http.Do(request)
	if err != nil {
		return nil, 0, c.failed(ctx, err)
	}
	end := c.config.Now()
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, longest+1))
	if err != nil {
		return nil, 0, c.failed(ctx, err)
	}
	if len(answer) > longest {
		return nil, 0, errors.New("its answer is too long")
	}
	c.compareClocks(begin, end, response.Header.Get("Date"))
	return answer, response.StatusCode, nil
}

// compareClocks looks at the date of an answer, in whole seconds, that was made
// between two times of our clock. btcd tells none.
func (c *client) compareClocks(begin, end time.Time, text string) {
	date, err := http.ParseTime(text)
	c.ahead = 0
	if err == nil && (!begin.Before(date.Add(time.Second)) || end.Before(date)) {
		c.ahead = end.Sub(date)
	}
}

// open makes the connection to come, with the certificate as the file has it now.
func (c *client) open() error {
	if c.http != nil {
		return nil
	}
	transport := &http.Transport{ // no proxy: the node is ours
		IdleConnTimeout: 15 * time.Second, // a node closes after 30
		MaxIdleConns:    1,
	}
	if c.config.CertFile != "" {
		pem, err := os.ReadFile(c.config.CertFile)
		if err != nil {
			return fmt.Errorf("read the node's certificate: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("read the node's certificate: there is none in %s", c.config.CertFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	c.http = &http.Client{
		Transport:     guard.NoUpgrade(transport),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}

// failed says what befell a request, and lets the next one begin anew: the node
// may have another certificate by then.
func (c *client) failed(ctx context.Context, err error) error {
	c.http.CloseIdleConnections()
	c.http = nil
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it gives no whole answer within %s", c.config.Patience)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("it cannot be reached: %w", err)
}

func (c *client) readCookie() error {
	text, err := os.ReadFile(c.config.CookieFile)
	if err != nil {
		return fmt.Errorf("read the cookie file that the node writes when it starts: %w", err)
	}
	c.cookie = strings.TrimSpace(string(text))
	return nil
}
