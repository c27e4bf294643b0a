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

// maxAnswer is the size limit of an answer, in bytes. A block of 4 MB in JSON, with every
// byte twice in hex and once more as text, is well below.
const maxAnswer = 64 << 20

// client speaks JSON-RPC with one node. It is for one goroutine.
type client struct {
	config Config
	http   *http.Client // nil before the first request, and after a failure
	cookie string       // "user:password" as last read from the cookie file
	// ahead is how far our clock is ahead of the node's, according to the date of the
	// newest answer; zero if they may be equal.
	ahead time.Duration
}

func newClient(c Config) *client { return &client{config: c} }

// post sends a body and returns the answer. If the password is refused, it reads the cookie
// again, because the node may have restarted.
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
			return nil, fmt.Errorf("wrong password in the cookie file %s: see %s", c.config.CookieFile, c.config.Setting)
		case status == http.StatusUnauthorized:
			return nil, fmt.Errorf("wrong user or password in %s", c.config.Setting)
		case status == http.StatusForbidden:
			return nil, errors.New("access denied: see the node's settings rpcallowip and rpcwhitelist")
		case status != http.StatusOK && !bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")):
			return nil, fmt.Errorf("HTTP status %d: %s", status, words(string(answer[:min(len(answer), 200)])))
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
	// All requests only read: with this header, one that fails because the node has just
	// closed the connection is sent again. The header itself is not sent, see http.Transport.
	request.Header["X-Idempotency-Key"] = nil
	begin := c.config.Now()
	response, err := c.http.Do(request)
	if err != nil {
		return nil, 0, c.failed(ctx, err)
	}
	end := c.config.Now()
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, 0, c.failed(ctx, err)
	}
	if len(answer) > maxAnswer {
		return nil, 0, errors.New("answer too long")
	}
	c.compareClocks(begin, end, response.Header.Get("Date"))
	return answer, response.StatusCode, nil
}

// compareClocks compares our clock with the date of an answer, in whole seconds, that was sent
// between two times of our clock. btcd sends no date.
func (c *client) compareClocks(begin, end time.Time, text string) {
	date, err := http.ParseTime(text)
	c.ahead = 0
	if err == nil && (!begin.Before(date.Add(time.Second)) || end.Before(date)) {
		c.ahead = end.Sub(date)
	}
}

// open prepares the next connection, with the certificate that is now in the file.
func (c *client) open() error {
	if c.http != nil {
		return nil
	}
	transport := &http.Transport{ // no proxy: the node is the merchant's
		IdleConnTimeout: 15 * time.Second, // a node closes after 30 s
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

// failed returns the error of a request, and closes the connection: before the next request
// the node may get another certificate.
func (c *client) failed(ctx context.Context, err error) error {
	c.http.CloseIdleConnections()
	c.http = nil
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no complete answer within %s", c.config.Patience)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("connection failed: %w", err)
}

func (c *client) readCookie() error {
	text, err := os.ReadFile(c.config.CookieFile)
	if err != nil {
		return fmt.Errorf("read the cookie file that the node writes when it starts: %w", err)
	}
	c.cookie = strings.TrimSpace(string(text))
	return nil
}
