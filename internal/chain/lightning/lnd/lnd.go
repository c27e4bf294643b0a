// Package lnd makes payment requests with the merchant's lnd node, over its REST API.
package lnd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"chequer/internal/chain/lightning"
	"chequer/internal/guard"
)

// maxInvoice is the maximum size of a payment request in an answer or a notification, in bytes. It lists the parts of all
// attempts to pay the request, also of those that failed, which any payer can make.
const maxInvoice = 1 << 20

// Provider is a node of lnd. It implements lightning.Provider, lightning.Waker and lightning.Canceller.
type Provider struct {
	*lightning.Signal
	connection lightning.Connection
	call       lightning.Caller
	log        *slog.Logger
}

var _ interface {
	lightning.Provider
	lightning.Waker
	lightning.Canceller
} = (*Provider)(nil)

// New returns a new Provider. It makes no call.
func New(c lightning.ProviderConfig) *Provider {
	return &Provider{
		Signal: lightning.NewSignal(), connection: c.Connection, log: c.Log,
		call: lightning.Caller{
			Dialer: lightning.AnyPort(c.Dialer), TLS: lightning.Pinned(c.Connection.Certificate, c.TLS), MaxAnswer: maxInvoice,
			Secrets: []string{c.Connection.Secret.Reveal()},
		},
	}
}

// Access implements lightning.Provider. It reads the operations in the macaroon, and looks up a request that does
// not exist.
func (p *Provider) Access(ctx context.Context) (lightning.Access, error) {
	macaroon, err := hex.DecodeString(p.connection.Secret.Reveal())
	if err != nil {
		return lightning.Access{}, errMacaroon
	}
	operations, err := readOperations(macaroon)
	if err != nil {
		return lightning.Access{}, err
	}
	if need := missing(operations); need != "" {
		return lightning.Access{}, fmt.Errorf("%w: the macaroon does not allow %s: make one with lncli bakemacaroon invoices:read invoices:write", lightning.ErrUnsupported, need)
	}
	if err := lightning.CheckUnused(p.get(ctx, "/v1/invoice/"+lightning.UnusedHash, &invoice{})); err != nil {
		return lightning.Access{}, fmt.Errorf("check the node: %w", err)
	}
	return lightning.Access{Spending: spending(operations)}, nil
}

// Make implements lightning.Provider.
func (p *Provider) Make(ctx context.Context, ask lightning.Ask) (lightning.Made, error) {
	var answer struct {
		Hash    []byte `json:"r_hash"`
		Request string `json:"payment_request"`
	}
	err := p.post(ctx, "/v1/invoices", map[string]any{
		"value_msat": strconv.FormatInt(ask.MilliSatoshi, 10), "memo": ask.Memo,
		"expiry": strconv.FormatInt(int64(ask.Expiry/time.Second), 10), "private": true,
	}, &answer)
	if err != nil {
		return lightning.Made{}, fmt.Errorf("make request: %w", err)
	}
	return lightning.Made{Text: strings.ToLower(answer.Request), Hash: hex.EncodeToString(answer.Hash)}, nil
}

// invoice is a payment request of lnd.
type invoice struct {
	Hash       []byte           `json:"r_hash"`
	Preimage   []byte           `json:"r_preimage"`
	State      string           `json:"state"`
	AmountPaid lightning.Number `json:"amt_paid_msat"`
	SettleDate lightning.Number `json:"settle_date"`
}

// settled is the state of a request whose payment lnd has accepted for ever.
const settled = "SETTLED"

// Look implements lightning.Provider. lnd shows an amount paid and the preimage of requests that are not settled,
// too.
func (p *Provider) Look(ctx context.Context, sought lightning.Sought) (lightning.Status, error) {
	var i invoice
	if err := p.get(ctx, "/v1/invoice/"+sought.Hash, &i); err != nil {
		return lightning.Status{}, fmt.Errorf("look up request: %w", err)
	}
	if i.State != settled {
		return lightning.Status{}, nil
	}
	if hex.EncodeToString(i.Hash) != sought.Hash || i.AmountPaid <= 0 {
		return lightning.Status{}, fmt.Errorf("look up request: %w: another request, or one without an amount, is settled", lightning.ErrFault)
	}
	if err := lightning.CheckPreimage(hex.EncodeToString(i.Preimage), sought.Hash); err != nil {
		return lightning.Status{}, fmt.Errorf("look up request: %w", err)
	}
	status := lightning.Status{Settled: true, MilliSatoshi: int64(i.AmountPaid)}
	if i.SettleDate > 0 {
		status.SettledAt = time.Unix(int64(i.SettleDate), 0).UTC()
	}
	return status, nil
}

// Cancel implements lightning.Canceller.
func (p *Provider) Cancel(ctx context.Context, hash string) error {
	raw, err := hex.DecodeString(hash)
	if err != nil {
		return fmt.Errorf("cancel request: malformed payment hash %q", hash)
	}
	if err := p.post(ctx, "/v2/invoices/cancel", map[string]any{"payment_hash": base64.StdEncoding.EncodeToString(raw)}, nil); err != nil {
		return fmt.Errorf("cancel request: %w", err)
	}
	return nil
}

// Run implements lightning.Waker.
func (p *Provider) Run(ctx context.Context) error {
	p.Keep(ctx, p.log, p.connection.String(), p.receive)
	return nil
}

// receive reads the stream of changed requests. lnd sends the header of its answer with the first change.
func (p *Provider) receive(ctx context.Context, connected func()) error {
	r, err := p.request(ctx, http.MethodGet, "/v1/invoices/subscribe", nil)
	if err != nil {
		return err
	}
	answer, err := guard.RoundTrip(r, p.call.Dialer, true, p.call.TLS)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP status %d", answer.StatusCode)
	}
	connected()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxInvoice)
	for lines.Scan() {
		var event struct {
			Result struct {
				State string
				Hash  []byte `json:"r_hash"`
			}
		}
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Result.State == settled {
			p.Send(hex.EncodeToString(event.Result.Hash))
		}
	}
	return lines.Err()
}

func (p *Provider) get(ctx context.Context, path string, answer any) error {
	return p.do(ctx, http.MethodGet, path, nil, answer)
}

func (p *Provider) post(ctx context.Context, path string, content, answer any) error {
	body, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return p.do(ctx, http.MethodPost, path, body, answer)
}

// request returns a request with the macaroon.
func (p *Provider) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.connection.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("malformed URL of the server")
	}
	r.Header.Set("Grpc-Metadata-macaroon", p.connection.Secret.Reveal())
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// do makes a call and decodes its answer, if answer is not nil.
func (p *Provider) do(ctx context.Context, method, path string, body []byte, answer any) error {
	r, err := p.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	status, content, err := p.call.Do(ctx, r)
	if err != nil {
		return err
	}
	if status == http.StatusOK {
		if answer == nil {
			return nil
		}
		if err := json.Unmarshal(content, answer); err != nil {
			return errors.New("the answer is not JSON of lnd")
		}
		return nil
	}
	return p.explain(ctx, status, content)
}

const (
	// codeNotFound is the code of gRPC for something that does not exist.
	codeNotFound = 5
	// unknownInvoice is the message about an unknown request, which has another code if a cancellation fails.
	unknownInvoice = "unable to locate invoice"
)

// explain returns the error of an error answer.
func (p *Provider) explain(ctx context.Context, status int, content []byte) error {
	var refusal struct {
		Code    int
		Message string
	}
	isRefusal := json.Unmarshal(content, &refusal) == nil && refusal.Message != ""
	text := lightning.Quote(refusal.Message)
	switch {
	case !isRefusal:
	case refusal.Code == codeNotFound && strings.Contains(text, "invoice"), strings.Contains(text, unknownInvoice):
		return fmt.Errorf("%w: %s", lightning.ErrUnknown, text)
	case strings.Contains(text, "permission denied"), strings.Contains(text, "verification failed"), strings.Contains(text, "macaroon"):
		return fmt.Errorf("%w: the macaroon was revoked or is of another node", lightning.ErrRevoked)
	case strings.HasPrefix(text, "unmarshal v"):
		return fmt.Errorf("%w: the macaroon is not complete", lightning.ErrRevoked)
	}
	if err := p.checkState(ctx); err != nil {
		return err
	}
	switch {
	case strings.Contains(string(content), wantsTLS):
		return errors.New("the server wants TLS: use https in the URL of the server")
	case !isRefusal:
		return fmt.Errorf("HTTP status %d", status)
	}
	return lightning.NewAnswerError("lnd answers: " + text)
}

// wantsTLS is in the answer of a server in Go, as lnd is, to a call without TLS.
const wantsTLS = "HTTP request to an HTTPS server"

// checkState returns an error if lnd reports that it cannot answer calls. This call needs no macaroon.
func (p *Provider) checkState(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.connection.Server+"/v1/state", nil)
	if err != nil {
		return err
	}
	var answer struct{ State string }
	status, content, err := p.call.Do(ctx, r)
	if err != nil || status != http.StatusOK || json.Unmarshal(content, &answer) != nil {
		return nil // the caller has another error
	}
	switch answer.State {
	case "LOCKED", "NON_EXISTING":
		return lightning.ErrLocked
	case "WAITING_TO_START", "UNLOCKED":
		return errors.New("lnd is starting")
	}
	return nil
}
