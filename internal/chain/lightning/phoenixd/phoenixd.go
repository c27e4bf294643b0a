// Package phoenixd makes payment requests with the merchant's phoenixd.
package phoenixd

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"chequer/internal/chain/lightning"
)

const (
	// maxEvent is the maximum size of a notification, in bytes.
	maxEvent = 64 << 10
	// dialTimeout is the maximum time until the stream of notifications begins.
	dialTimeout = 10 * time.Second
)

// Provider is a phoenixd. It implements lightning.Provider and lightning.Waker.
type Provider struct {
	*lightning.Signal
	connection lightning.Connection
	call       lightning.Caller
	log        *slog.Logger
}

var _ interface {
	lightning.Provider
	lightning.Waker
} = (*Provider)(nil)

// New returns a new Provider. It makes no call.
func New(c lightning.ProviderConfig) *Provider {
	password := c.Connection.Secret.Reveal()
	return &Provider{
		Signal: lightning.NewSignal(), connection: c.Connection, log: c.Log,
		call: lightning.Caller{
			Dialer: lightning.AnyPort(c.Dialer), TLS: c.TLS,
			Secrets: []string{password, base64.StdEncoding.EncodeToString([]byte(":" + password))},
		},
	}
}

// fullAccess is the permission of the password that may spend.
const fullAccess = "the full-access password"

// Access implements lightning.Provider. A call that needs the password for full access is made without its
// fields: it is refused, and the status shows the reason.
func (p *Provider) Access(ctx context.Context) (lightning.Access, error) {
	_, err := p.lookup(ctx, lightning.UnusedHash)
	if err := lightning.CheckUnused(err); err != nil {
		return lightning.Access{}, fmt.Errorf("check phoenixd: %w", err)
	}
	status, body, err := p.do(ctx, http.MethodPost, "/lnurlauth", url.Values{})
	switch {
	case err != nil:
		return lightning.Access{}, fmt.Errorf("check the password: %w", err)
	case status == http.StatusUnauthorized:
		return lightning.Access{}, nil
	case status >= http.StatusInternalServerError:
		return lightning.Access{}, fmt.Errorf("check the password: %w", refusal(status, body))
	}
	return lightning.Access{Spending: fullAccess}, nil
}

// Make implements lightning.Provider.
func (p *Provider) Make(ctx context.Context, ask lightning.Ask) (lightning.Made, error) {
	if ask.MilliSatoshi%1000 != 0 {
		return lightning.Made{}, fmt.Errorf("make request: %d msat are not whole satoshis", ask.MilliSatoshi)
	}
	status, body, err := p.do(ctx, http.MethodPost, "/createinvoice", url.Values{
		"amountSat": {strconv.FormatInt(ask.MilliSatoshi/1000, 10)}, "description": {ask.Memo},
		"expirySeconds": {strconv.FormatInt(int64(ask.Expiry/time.Second), 10)},
	})
	if err == nil && status != http.StatusOK {
		err = refusal(status, body)
	}
	var answer struct{ PaymentHash, Serialized string }
	if err == nil && json.Unmarshal(body, &answer) != nil {
		err = errNotJSON
	}
	if err != nil {
		return lightning.Made{}, fmt.Errorf("make request: %w", err)
	}
	return lightning.Made{Text: strings.ToLower(answer.Serialized), Hash: strings.ToLower(answer.PaymentHash)}, nil
}

var errNotJSON = errors.New("the answer is not JSON of phoenixd")

// payment is a payment request of phoenixd. The preimage is shown before the payment, too.
type payment struct {
	PaymentHash string
	Preimage    string
	IsPaid      bool
	CompletedAt lightning.Number // in milliseconds
}

// Look implements lightning.Provider. phoenixd names the amount without its fees, which is not used.
func (p *Provider) Look(ctx context.Context, sought lightning.Sought) (lightning.Status, error) {
	i, err := p.lookup(ctx, sought.Hash)
	if err != nil {
		return lightning.Status{}, fmt.Errorf("look up request: %w", err)
	}
	if !i.IsPaid {
		return lightning.Status{}, nil
	}
	if !strings.EqualFold(i.PaymentHash, sought.Hash) {
		return lightning.Status{}, fmt.Errorf("look up request: %w: another request is paid", lightning.ErrFault)
	}
	if err := lightning.CheckPreimage(i.Preimage, sought.Hash); err != nil {
		return lightning.Status{}, fmt.Errorf("look up request: %w", err)
	}
	status := lightning.Status{Settled: true}
	if i.CompletedAt > 0 {
		status.SettledAt = time.UnixMilli(int64(i.CompletedAt)).UTC()
	}
	return status, nil
}

// lookup reads a payment request. phoenixd answers with 204, and formerly with 404, if it has none with the hash.
func (p *Provider) lookup(ctx context.Context, hash string) (payment, error) {
	status, body, err := p.do(ctx, http.MethodGet, "/payments/incoming/"+hash, nil)
	var i payment
	switch {
	case err != nil:
		return payment{}, err
	case status == http.StatusNoContent, status == http.StatusNotFound && strings.EqualFold(strings.TrimSpace(string(body)), "not found"):
		return payment{}, lightning.ErrUnknown
	case status != http.StatusOK:
		return payment{}, refusal(status, body)
	case json.Unmarshal(body, &i) != nil:
		return payment{}, errNotJSON
	}
	return i, nil
}

// do makes a call. A form is sent if it is not nil.
func (p *Provider) do(ctx context.Context, method, path string, form url.Values) (status int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, p.connection.Server+path, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, errors.New("malformed URL of the server")
	}
	r.SetBasicAuth("", p.connection.Secret.Reveal())
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return p.call.Do(ctx, r)
}

// refusal returns the error of an error answer, whose body is plain text.
func refusal(status int, body []byte) error {
	if status == http.StatusUnauthorized {
		return fmt.Errorf("%w: the password is wrong", lightning.ErrRevoked)
	}
	text := fmt.Sprintf("phoenixd answers with status %d: %s", status, lightning.Quote(string(body)))
	if status == http.StatusBadRequest || status == http.StatusInternalServerError {
		return lightning.NewAnswerError(text)
	}
	return errors.New(text) // of a proxy
}

// Run implements lightning.Waker.
func (p *Provider) Run(ctx context.Context) error {
	p.Keep(ctx, p.log, p.connection.String(), p.receive)
	return nil
}

// receive reads the notifications of a WebSocket.
func (p *Provider) receive(ctx context.Context, connected func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.connection.Server, nil)
	if err != nil {
		return errors.New("malformed URL of the server")
	}
	r.SetBasicAuth("", p.connection.Secret.Reveal())
	dialing, stop := context.WithTimeout(ctx, dialTimeout)
	defer stop()
	conn, _, err := websocket.Dial(dialing, "ws"+strings.TrimPrefix(p.connection.Server, "http")+"/websocket", &websocket.DialOptions{ //nolint:bodyclose // the body is the connection
		HTTPClient: p.call.Upgrader(strings.HasPrefix(p.connection.Server, "http:")), HTTPHeader: r.Header,
	})
	if err != nil {
		return fmt.Errorf("connection failed: %w", err)
	}
	defer func() { _ = conn.CloseNow() }() // it has failed already
	conn.SetReadLimit(maxEvent)
	connected()
	pinged := make(chan struct{})
	defer func() { <-pinged }()
	defer cancel()
	go func() {
		defer close(pinged)
		defer cancel()
		lightning.Ping(ctx, conn, func() bool { return false })
	}()
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var event struct{ Type, PaymentHash string }
		if json.Unmarshal(message, &event) == nil && event.Type == "payment_received" {
			p.Send(event.PaymentHash)
		}
	}
}
