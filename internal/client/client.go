// Package client calls the service: ours, over HTTP or in process, or any other
// that speaks the specification and nothing else.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/internal/guard"
	"chequer/internal/signature"
)

// Config is what a Client is made of.
type Config struct {
	// BaseURL is the base address of the service; it may hold a path.
	BaseURL string
	Key     string
	Secret  string
	// Transport carries the requests: nil is the network, see also InProcess.
	Transport http.RoundTripper
	// Now is time.Now when nil.
	Now func() time.Time
	// NewNonce makes 16 to 64 letters and digits that were never used; random
	// ones when nil.
	NewNonce func() string
}

// Client calls one service with one key. It is safe for concurrent use.
type Client struct {
	base     string
	key      string
	secret   string
	http     *http.Client
	now      func() time.Time
	newNonce func() string
	service  service
	memory   memory
}

// patience is how long an answer may take, waiting that was asked for apart.
const patience = 10 * time.Second

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 20

// maxHeader bounds what is read of an answer's headers, in bytes.
const maxHeader = 64 << 10

// New makes a Client; an error means that the address is none. The error does not repeat
// it, as it may hold a password.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the address of the service is not an http or https address without user, password and query")
	}
	client := &Client{
		base: strings.TrimRight(c.BaseURL, "/"), key: c.Key, secret: c.Secret, now: c.Now, newNonce: c.NewNonce,
		http: &http.Client{
			Transport: c.Transport,
			// A redirect would turn a POST into a GET.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if client.http.Transport == nil {
		client.http.Transport = network()
	}
	if client.now == nil {
		client.now = time.Now
	}
	if client.newNonce == nil {
		client.newNonce = rand.Text
	}
	return client, nil
}

// network is the usual way there.
func network() http.RoundTripper {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = maxHeader
	return guard.NoUpgrade(transport)
}

// request is a call to make.
type request struct {
	method string
	path   string // with its query, below the base address
	header map[string]string
	body   []byte
	own    bool          // signed by our own scheme; else by the family's
	wait   time.Duration // that the service was asked to wait
}

// answer is what came back, whatever it is.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do signs and sends a request. An error means that there was no answer.
func (c *Client) do(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience+r.wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	c.sign(req, r)
	response, err := c.http.Do(req)
	if full, ok := errors.AsType[*url.Error](err); ok {
		err = full.Err // without the address: an invoice's is a secret
	}
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return answer{}, fmt.Errorf("read answer: %w", err)
	}
	if len(body) > maxAnswer {
		return answer{}, errors.New("read answer: larger than 1 MiB")
	}
	return answer{status: response.StatusCode, header: response.Header, body: body}, nil
}

// sign adds the headers that say who calls. The family's scheme covers the body
// alone and is what every service knows; our own covers the whole request.
func (c *Client) sign(req *http.Request, r request) {
	req.Header.Set(api.HeaderKey, c.key)
	if !r.own {
		req.Header.Set(api.HeaderSignature, signature.Sign(c.secret, r.body))
		return
	}
	signed := signature.Request{
		Timestamp: strconv.FormatInt(c.now().Unix(), 10), Nonce: c.newNonce(),
		Method: req.Method, Target: req.URL.RequestURI(),
		IdempotencyKey: req.Header.Get(api.HeaderIdempotencyKey), Body: r.body,
	}
	req.Header.Set(api.HeaderTimestamp, signed.Timestamp)
	req.Header.Set(api.HeaderNonce, signed.Nonce)
	req.Header.Set(api.HeaderSignature, signature.Sign(c.secret, signed.Message()))
}

// ours tells whether an error is from a service of ours: these have a code.
func (a answer) ours() bool { return a.header.Get(api.HeaderErrorCode) != "" }

// passing tells whether the service may answer better later.
func (a answer) passing() bool {
	switch a.status {
	case http.StatusNotImplemented:
		return false
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return true
	}
	return a.status >= 500
}

// failure is an answer as an error.
func (a answer) failure() error {
	var body api.Error
	if err := decode(a.body, &body); err != nil {
		body.Message = ""
	}
	message := checkedMessage(body.Message)
	if message == "" {
		message = http.StatusText(a.status)
	}
	return &Error{Status: a.status, Code: checkedCode(a.header.Get(api.HeaderErrorCode)), Message: message}
}
