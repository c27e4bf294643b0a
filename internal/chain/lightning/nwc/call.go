package nwc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"chequer/internal/chain/lightning"
)

// walletError is an error that the wallet answers. See NIP-47, "Error codes".
type walletError struct{ code, message string }

// Error implements error.
func (e *walletError) Error() string {
	return fmt.Sprintf("the wallet answers %s: %s", lightning.Quote(e.code), lightning.Quote(e.message))
}

// Unwrap returns the error of package lightning for the code.
func (e *walletError) Unwrap() error {
	switch e.code {
	case "RATE_LIMITED":
		return lightning.ErrRateLimited
	case "UNAUTHORIZED", "RESTRICTED":
		return lightning.ErrRevoked
	case "NOT_IMPLEMENTED":
		return lightning.ErrUnsupported
	case "NOT_FOUND":
		return lightning.ErrUnknown
	}
	return lightning.ErrAnswered
}

// isFinal reports whether another call with other parameters would have the same error.
func (e *walletError) isFinal() bool {
	err := e.Unwrap()
	return !errors.Is(err, lightning.ErrUnknown) && !errors.Is(err, lightning.ErrAnswered)
}

// call calls a method of the wallet. If the wallet does not read the encryption, because the info event is missing or old,
// call uses the other one from then on.
func (p *Provider) call(ctx context.Context, method string, params, result any) error {
	err := p.callOnce(ctx, method, params, result)
	var refusal *walletError
	if errors.As(err, &refusal) && refusal.code == "UNSUPPORTED_ENCRYPTION" {
		p.mu.Lock()
		p.swapped = !p.swapped
		p.mu.Unlock()
		return p.callOnce(ctx, method, params, result)
	}
	return err
}

// callOnce calls a method over all relays. The first reply counts.
func (p *Provider) callOnce(ctx context.Context, method string, params, result any) error {
	waiting, cancel := context.WithTimeout(ctx, requestTTL)
	defer cancel()
	c := &attempt{provider: p, opened: make(chan struct{}, len(p.relays)), request: make(chan struct{}), results: make(chan error, 2*len(p.relays))}
	for _, r := range p.relays {
		go c.send(waiting, r)
	}
	reply, err := c.wait(waiting, method, params)
	if err != nil {
		return err
	}
	return p.read(reply, method, result)
}

// attempt is a call over several relays.
type attempt struct {
	provider *Provider
	opened   chan struct{} // one value for each open session
	request  chan struct{} // closed when event is set
	event    *event
	results  chan error // one error for each relay that failed, and nil for each that has accepted the event
}

// send publishes the request at a relay, once there is one.
func (c *attempt) send(ctx context.Context, r *relay) {
	s, err := r.open(ctx)
	if err != nil {
		c.results <- err
		return
	}
	c.opened <- struct{}{}
	select {
	case <-c.request:
	case <-ctx.Done():
		return
	}
	err = s.publish(ctx, c.event)
	if err != nil && isDone(s.done) { // the relay had closed the connection: the same event again, on another one
		if s, err = r.open(ctx); err != nil {
			c.results <- err
			return
		}
		err = s.publish(ctx, c.event)
	}
	if err != nil {
		c.results <- fmt.Errorf("relay %s: %w", r.host, err)
		return
	}
	c.results <- nil
	select {
	case <-s.done:
		c.results <- fmt.Errorf("relay %s: %w", r.host, s.err)
	case <-ctx.Done():
	}
}

// wait makes the request when a relay is connected, and returns the reply. It ends early when every relay has failed.
func (c *attempt) wait(ctx context.Context, method string, params any) (*event, error) {
	p := c.provider
	var failures []error
	var reply chan *event
	accepted := false
	opened := c.opened
	for {
		select {
		case <-opened:
			opened = nil
			e, err := p.newRequest(method, params)
			if err != nil {
				return nil, err
			}
			reply = p.expect(e.ID)
			defer p.forget(e.ID)
			c.event = e
			close(c.request)
		case err := <-c.results:
			if err == nil {
				accepted = true
				continue
			}
			if failures = append(failures, err); len(failures) == len(p.relays) {
				return nil, errors.Join(failures...)
			}
		case e := <-reply:
			return e, nil
		case <-ctx.Done():
			if accepted && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, lightning.ErrSilent
			}
			return nil, errors.Join(append(failures, fmt.Errorf("no answer of a relay: %w", ctx.Err()))...)
		}
	}
}

// expect returns the channel of the reply to a request.
func (p *Provider) expect(id string) chan *event {
	p.mu.Lock()
	defer p.mu.Unlock()
	reply := make(chan *event, 1)
	p.waiting[id] = reply
	return reply
}

func (p *Provider) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
}

// newRequest returns a signed request. It is encrypted with NIP-44 if the info event names it, else with NIP-04.
func (p *Provider) newRequest(method string, params any) (*event, error) {
	text, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		return nil, err
	}
	now := p.now()
	e := &event{
		CreatedAt: now.Unix(), Kind: kindRequest,
		Tags: [][]string{{"p", p.wallet}, {"expiration", strconv.FormatInt(now.Add(requestTTL).Unix(), 10)}},
	}
	form := p.encryption()
	if form == nip44 {
		e.Tags = append(e.Tags, []string{"encryption", string(nip44)})
	}
	if e.Content, err = p.pair.encrypt(text, form); err != nil {
		return nil, fmt.Errorf("encrypt request: %w", err)
	}
	return e, e.sign(p.key)
}

// encryption returns the form of encryption that the wallet reads.
func (p *Provider) encryption() encryption {
	p.mu.Lock()
	defer p.mu.Unlock()
	names44 := p.info != nil && strings.Contains(p.info.tag("encryption"), string(nip44))
	if names44 != p.swapped {
		return nip44
	}
	return nip04
}

// read reads a reply.
func (p *Provider) read(reply *event, method string, result any) error {
	text, err := p.pair.decrypt(reply.Content)
	if err != nil {
		return lightning.NewAnswerError("reply of the wallet: " + err.Error())
	}
	var content struct {
		Type   string `json:"result_type"`
		Error  *struct{ Code, Message string }
		Result json.RawMessage
	}
	switch err := json.Unmarshal(text, &content); {
	case err != nil:
		return lightning.NewAnswerError("the reply of the wallet is not JSON of NIP-47")
	case content.Error != nil && content.Error.Code != "":
		return &walletError{content.Error.Code, content.Error.Message}
	case content.Type != method:
		return lightning.NewAnswerError("the wallet answers another method than " + method)
	case len(content.Result) == 0 || string(content.Result) == "null":
		return lightning.NewAnswerError("the reply of the wallet has no result")
	}
	if err := json.Unmarshal(content.Result, result); err != nil {
		return lightning.NewAnswerError("the result of the wallet is not that of NIP-47")
	}
	return nil
}
