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

	"chequer/internal/format"
	"chequer/internal/guard"
)

// maxAnswer is the maximum size of an answer, in bytes. It is several times the size of a block of
// 4 MB, each byte of which has two hex digits in JSON.
const maxAnswer = 64 << 20

// maxQuoted bounds the length of a text of a node in an error, in characters.
const maxQuoted = 120

// client calls the JSON-RPC of one node. It is not safe for concurrent use.
type client struct {
	config Config
	http   *http.Client // nil before the first request, and after a failure
	cookie string       // "user:password" as last read from the cookie file
	// clockLead is the time by which the clock of this machine is ahead of the node's clock, according
	// to the date of the newest answer. It is zero if the clocks may be equal.
	clockLead time.Duration
}

func newClient(c Config) *client { return &client{config: c} }

// post sends a body and returns the answer. If the node refuses the password, post reads
// the cookie file again, because a restarted node has a new cookie.
func (c *client) post(ctx context.Context, body []byte) ([]byte, error) {
	if c.config.CookieFile != "" && c.cookie == "" {
		if err := c.readCookie(); err != nil {
			return nil, err
		}
	}
	for {
		cookie := c.cookie
		answer, status, err := c.send(ctx, body)
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusUnauthorized && c.config.CookieFile != "":
			if err := c.readCookie(); err != nil {
				return nil, err
			}
			if c.cookie != cookie {
				continue
			}
			return nil, fmt.Errorf("wrong password in the cookie file %s: see %s", c.config.CookieFile, c.config.Setting)
		case status == http.StatusUnauthorized:
			return nil, fmt.Errorf("wrong user or password in %s", c.config.Setting)
		case status == http.StatusForbidden:
			return nil, errors.New("access denied: see the node's settings rpcallowip and rpcwhitelist")
		case status != http.StatusOK && !bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")):
			return nil, fmt.Errorf("HTTP status %d: %s", status, format.OneLine(string(answer), maxQuoted))
		}
		return answer, nil
	}
}

// send sends a body once and returns the answer with its HTTP status.
func (c *client) send(ctx context.Context, body []byte) (answer []byte, status int, err error) {
	if err := c.open(); err != nil {
		return nil, 0, err
	}
	limited, cancel := context.WithTimeout(ctx, c.config.Timeout)
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
	// With this header, http.Transport repeats a request that fails because the node has just closed
	// the connection. That is safe, because the requests only read. The header itself is not sent.
	request.Header["X-Idempotency-Key"] = nil
	start := c.config.Now()
	response, err := c.http.Do(request)
	if err != nil {
		return nil, 0, c.closeAfter(ctx, err)
	}
	end := c.config.Now()
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, 0, c.closeAfter(ctx, err)
	}
	if len(answer) > maxAnswer {
		return nil, 0, fmt.Errorf("answer is larger than %d bytes", maxAnswer)
	}
	c.compareClocks(start, end, response.Header.Get("Date"))
	return answer, response.StatusCode, nil
}

// compareClocks compares the clock of this machine with the date of an answer, which is in whole
// seconds. The node sent the answer between start and end on this machine's clock. btcd sends no date.
func (c *client) compareClocks(start, end time.Time, text string) {
	date, err := http.ParseTime(text)
	c.clockLead = 0
	if err == nil && (!start.Before(date.Add(time.Second)) || end.Before(date)) {
		c.clockLead = end.Sub(date)
	}
}

// open creates the HTTP client if there is none. It reads the current certificate from its file.
func (c *client) open() error {
	if c.http != nil {
		return nil
	}
	transport := &http.Transport{ // without a proxy, because the merchant runs the node
		IdleConnTimeout: 15 * time.Second, // less than the 30 s after which a node closes the connection
		MaxIdleConns:    1,
	}
	if c.config.CertFile != "" {
		pem, err := os.ReadFile(c.config.CertFile)
		if err != nil {
			return fmt.Errorf("read the node's certificate: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("read the node's certificate: no certificate in %s", c.config.CertFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	c.http = &http.Client{
		Transport:     guard.NoUpgrade(transport),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}

// closeAfter returns the error of a request, and closes the connection. The next request reads the
// certificate again, because it may have been replaced.
func (c *client) closeAfter(ctx context.Context, err error) error {
	c.http.CloseIdleConnections()
	c.http = nil
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no complete answer within %s", c.config.Timeout)
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
