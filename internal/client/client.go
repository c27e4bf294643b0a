// Package client calls this project's service, over HTTP or in process. It trusts the answers: package
// foreign calls a service that may belong to others.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"chequer/internal/api"
	"chequer/internal/guard"
	"chequer/internal/signature"
)

// Config holds the settings of a Client.
type Config struct {
	// BaseURL is the base address of the service; it may contain a path.
	BaseURL string
	Key     string
	Secret  string
	// Transport sends the requests; nil uses the network. See also InProcess.
	Transport http.RoundTripper
	// Now returns the time; nil is time.Now.
	Now func() time.Time
	// NewNonce returns 16 to 64 letters and digits that were not used before; nil is rand.Text.
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
	proved   atomic.Bool // see IsChequer
}

// answerTimeout is the time that an answer may take, in addition to the requested wait.
const answerTimeout = 10 * time.Second

// maxAnswer bounds the body of an answer, in bytes.
const maxAnswer = 1 << 20

// maxHeader bounds the headers of an answer, in bytes.
const maxHeader = 64 << 10

// maxCommas is twice the number of commas in the largest resource. Without this limit, a list of
// a million empty objects would take a hundred times its size in memory.
const maxCommas = 50_000

// New returns a new Client. It returns an error if the base address is invalid. The error does not
// contain the address, which may contain a password.
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
		client.http.Transport = defaultTransport()
	}
	if client.now == nil {
		client.now = time.Now
	}
	if client.newNonce == nil {
		client.newNonce = rand.Text
	}
	return client, nil
}

// defaultTransport returns the transport that uses the network.
func defaultTransport() http.RoundTripper {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = maxHeader
	return guard.NoUpgrade(transport)
}

// request is a call.
type request struct {
	method string
	path   string // below the base address, with its query
	header map[string]string
	body   []byte
	// chequerScheme is true if the request is signed by Chequer's scheme, and false if it is signed by that of
	// the API family.
	chequerScheme bool
	wait          time.Duration // time that the service is asked to wait
}

// answer is any answer of the service.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do signs and sends a request. It returns an error only if there was no answer.
func (c *Client) do(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout+r.wait)
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
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err // without the address, because the address of an invoice is secret
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

// post posts JSON to a call that only Chequer offers.
func (c *Client) post(ctx context.Context, path string, content any, idempotencyKey string) (answer, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return answer{}, err
	}
	return c.do(ctx, request{method: http.MethodPost, path: path, header: jsonHeader(idempotencyKey), body: body, chequerScheme: true})
}

// jsonHeader returns the headers of a request with a JSON body; an empty key is omitted.
func jsonHeader(idempotencyKey string) map[string]string {
	header := map[string]string{"Content-Type": "application/json"}
	if idempotencyKey != "" {
		header[api.HeaderIdempotencyKey] = idempotencyKey
	}
	return header
}

// sign adds the headers that authenticate the caller. The API family's scheme covers only the body
// and is known to every service. Chequer's scheme covers the whole request.
func (c *Client) sign(req *http.Request, r request) {
	req.Header.Set(api.HeaderKey, c.key)
	if !r.chequerScheme {
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

// isChequer reports whether an error answer is from Chequer. Other services send no error codes.
func (a answer) isChequer() bool { return a.header.Get(api.HeaderErrorCode) != "" }

// IsChequer reports whether the service has returned an invoice in the form that only Chequer defines.
// An answer without an error code then comes from a proxy.
func (c *Client) IsChequer() bool { return c.proved.Load() }

// refusal returns the error for an answer to a call that only Chequer offers.
func (c *Client) refusal(a answer) error {
	if !a.isChequer() && !isTemporary(a.status) && !c.IsChequer() {
		return ErrUnsupported
	}
	if a.isChequer() && a.status == http.StatusNotFound {
		return ErrNotFound
	}
	return a.failure()
}

// decode decodes the JSON of an answer.
func decode(body []byte, target any) error {
	if bytes.Count(body, []byte(",")) > maxCommas {
		return errors.New("the answer has too many fields")
	}
	return json.Unmarshal(body, target)
}

// failure returns the answer as an error.
func (a answer) failure() error {
	var body api.Error
	if err := decode(a.body, &body); err != nil {
		body.Message = ""
	}
	return &Error{
		Status: a.status, Code: a.header.Get(api.HeaderErrorCode), Message: cmp.Or(body.Message, http.StatusText(a.status)),
	}
}
