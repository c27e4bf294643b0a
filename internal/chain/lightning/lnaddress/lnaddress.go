// Package lnaddress makes payment requests by a Lightning address. See LUD-06, LUD-16 and LUD-21.
package lnaddress

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/bolt11"
)

const (
	// termsTTL is the time for which the terms of an address are used again.
	termsTTL = 10 * time.Minute
	// maxURL is the maximum length of a URL, in bytes.
	maxURL = 2048
)

// Provider is the service of a Lightning address. It implements lightning.Provider.
type Provider struct {
	address string
	url     string // of the terms
	call    lightning.Caller
	now     func() time.Time
	log     *slog.Logger

	mu     sync.Mutex
	terms  terms
	readAt time.Time // zero if the terms were not read
}

var _ lightning.Provider = (*Provider)(nil)

// New returns a new Provider. It makes no call.
func New(c lightning.ProviderConfig) *Provider {
	return &Provider{
		address: c.Connection.String(),
		url:     "https://" + c.Connection.Domain + "/.well-known/lnurlp/" + url.PathEscape(c.Connection.User),
		call:    lightning.Caller{Dialer: c.Dialer, TLS: c.TLS}, now: c.Now, log: c.Log,
	}
}

// terms are the terms of an address. See LUD-06.
type terms struct {
	Tag         string
	Callback    string
	MinSendable lightning.Number // in millisatoshi
	MaxSendable lightning.Number
	Metadata    string
}

// Access implements lightning.Provider.
func (p *Provider) Access(ctx context.Context) (lightning.Access, error) {
	t, err := p.readTerms(ctx)
	if err != nil {
		return lightning.Access{}, fmt.Errorf("terms of %s: %w", p.address, err)
	}
	return lightning.Access{Least: int64(t.MinSendable), Most: int64(t.MaxSendable)}, nil
}

// Make implements lightning.Provider. The memo and the expiry of the ask are not used. The error is a
// *lightning.LimitError if the address takes no such amount, and lightning.ErrUnsupported if the provider has no
// payment check.
func (p *Provider) Make(ctx context.Context, ask lightning.Ask) (lightning.Made, error) {
	t, err := p.currentTerms(ctx)
	if err != nil {
		return lightning.Made{}, fmt.Errorf("terms of %s: %w", p.address, err)
	}
	if ask.MilliSatoshi < int64(t.MinSendable) || ask.MilliSatoshi > int64(t.MaxSendable) {
		return lightning.Made{}, &lightning.LimitError{Least: int64(t.MinSendable), Most: int64(t.MaxSendable)}
	}
	made, err := p.make(ctx, t, ask)
	if err != nil {
		return lightning.Made{}, fmt.Errorf("make request: %w", err)
	}
	return made, nil
}

func (p *Provider) make(ctx context.Context, t terms, ask lightning.Ask) (lightning.Made, error) {
	callback, err := parseURL(t.Callback)
	if err != nil {
		return lightning.Made{}, fmt.Errorf("callback: %w", err)
	}
	if callback.RawQuery != "" {
		callback.RawQuery += "&"
	}
	callback.RawQuery += "amount=" + strconv.FormatInt(ask.MilliSatoshi, 10)
	var answer struct{ PR, Verify string }
	if err := p.get(ctx, callback.String(), &answer); err != nil {
		return lightning.Made{}, err
	}
	if answer.Verify == "" {
		return lightning.Made{}, fmt.Errorf("%w: %s offers no payment check (LUD-21): payments would never be seen", lightning.ErrUnsupported, p.address)
	}
	if _, err := parseURL(answer.Verify); err != nil {
		return lightning.Made{}, fmt.Errorf("payment check: %w", err)
	}
	p.checkDescription(answer.PR, t)
	return lightning.Made{Text: strings.ToLower(answer.PR), LookupURL: answer.Verify}, nil
}

// checkDescription logs a request that does not commit to the metadata of its terms, which some payers refuse.
func (p *Provider) checkDescription(text string, t terms) {
	r, err := bolt11.Parse(text)
	if hash := sha256.Sum256([]byte(t.Metadata)); err == nil && !bytes.Equal(r.DescriptionHash, hash[:]) {
		p.log.Warn("payment request has another description hash", "provider", p.address, "payment_hash", hex.EncodeToString(r.PaymentHash[:]))
	}
}

// Look implements lightning.Provider. It needs the URL that Make returned.
func (p *Provider) Look(ctx context.Context, sought lightning.Sought) (lightning.Status, error) {
	status, err := p.look(ctx, sought)
	if err != nil {
		return lightning.Status{}, fmt.Errorf("look up request: %w", err)
	}
	return status, nil
}

func (p *Provider) look(ctx context.Context, sought lightning.Sought) (lightning.Status, error) {
	check, err := parseURL(sought.LookupURL)
	if err != nil {
		return lightning.Status{}, fmt.Errorf("payment check: %w", err)
	}
	var answer struct {
		Settled      bool
		PR, Preimage string
	}
	if err := p.get(ctx, check.String(), &answer); err != nil || !answer.Settled {
		return lightning.Status{}, err
	}
	r, err := bolt11.Parse(answer.PR)
	if err != nil || hex.EncodeToString(r.PaymentHash[:]) != sought.Hash {
		return lightning.Status{}, fmt.Errorf("%w: the payment check shows another request as settled", lightning.ErrFault)
	}
	if err := lightning.CheckPreimage(answer.Preimage, sought.Hash); err != nil {
		return lightning.Status{}, err
	}
	return lightning.Status{Settled: true}, nil
}

// currentTerms returns terms that are at most termsTTL old.
func (p *Provider) currentTerms(ctx context.Context) (terms, error) {
	p.mu.Lock()
	t, readAt := p.terms, p.readAt
	p.mu.Unlock()
	if age := p.now().Sub(readAt); !readAt.IsZero() && age >= 0 && age < termsTTL {
		return t, nil
	}
	return p.readTerms(ctx)
}

// readTerms reads the terms of the address.
func (p *Provider) readTerms(ctx context.Context) (terms, error) {
	var t terms
	if err := p.get(ctx, p.url, &t); err != nil {
		return terms{}, err
	}
	if t.Tag != "payRequest" || t.MinSendable < 1 || t.MaxSendable < t.MinSendable {
		return terms{}, errors.New("the answer is not a payRequest with limits")
	}
	if _, err := parseURL(t.Callback); err != nil {
		return terms{}, fmt.Errorf("callback: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.terms, p.readAt = t, p.now()
	return t, nil
}

// get reads the JSON at a URL. An error answer has the status ERROR, with any HTTP status.
func (p *Provider) get(ctx context.Context, address string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errors.New("malformed URL")
	}
	status, body, err := p.call.Do(ctx, r)
	if err != nil {
		return err
	}
	var refusal struct{ Status, Reason string }
	if json.Unmarshal(body, &refusal) == nil && strings.EqualFold(refusal.Status, "ERROR") {
		if strings.Contains(strings.ToLower(refusal.Reason), "not found") {
			return fmt.Errorf("%w: %s", lightning.ErrUnknown, lightning.Quote(refusal.Reason))
		}
		return fmt.Errorf("%w: %s", lightning.ErrAnswered, lightning.Quote(refusal.Reason))
	}
	if status != http.StatusOK {
		return fmt.Errorf("%w: HTTP status %d", lightning.ErrAnswered, status)
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return errors.New("the answer is not JSON of LNURL")
	}
	return nil
}

// parseURL returns a URL that the provider named. It must be https. The error does not contain the URL.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(text) > maxURL {
		return nil, errors.New("not an https URL of at most 2048 bytes")
	}
	return u, nil
}
