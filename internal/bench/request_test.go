package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/internal/signature"
)

// browser is the HTTP client of every load. It keeps connections open.
var browser = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}, Timeout: 30 * time.Second}

// create creates one invoice.
func (p *program) create(ctx context.Context) error {
	return post(ctx, p.url+api.PathInvoiceNew, []byte(body), p.headers, &api.Invoice{})
}

// post sends a body, and decodes the response into a value unless it is nil.
func post(ctx context.Context, url string, content []byte, headers map[string]string, target any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(content))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	answer, err := fetch(r)
	if err != nil || target == nil {
		return err
	}
	return json.Unmarshal(answer, target)
}

// fetch sends a request and returns the body of its response, whose status must be 2xx.
func fetch(r *http.Request) ([]byte, error) {
	answer, err := doRequest(r)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	return io.ReadAll(answer)
}

// doRequest sends a request and returns the unread body of its response, whose status must be 2xx.
func doRequest(r *http.Request) (io.ReadCloser, error) {
	response, err := browser.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("%s: %s", response.Status, text)
	}
	return response.Body, nil
}

// call sends a request with a request signature, and decodes the response into a
// value unless it is nil.
func (p *program) call(ctx context.Context, method, path, content string, target any) error {
	r, err := p.signed(ctx, method, path, content)
	if err != nil {
		return err
	}
	answer, err := fetch(r)
	if err != nil || target == nil {
		return err
	}
	return json.Unmarshal(answer, target)
}

// signed returns a request with a request signature.
func (p *program) signed(ctx context.Context, method, path, content string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(content))
	if err != nil {
		return nil, err
	}
	signed := signature.Request{
		Timestamp: strconv.FormatInt(time.Now().Unix(), 10), Nonce: rand.Text(),
		Method: method, Target: r.URL.RequestURI(), Body: []byte(content),
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", api.HeaderKey: p.key, api.HeaderTimestamp: signed.Timestamp,
		api.HeaderNonce: signed.Nonce, api.HeaderSignature: signature.Sign(p.secret, signed.Message()),
	} {
		r.Header.Set(name, value)
	}
	return r, nil
}

// createWith creates an invoice with other terms.
func (p *program) createWith(ctx context.Context, terms string) (inv api.Invoice, err error) {
	err = p.call(ctx, http.MethodPost, api.PathInvoiceNew, terms, &inv)
	return inv, err
}

// pay pays and confirms a test invoice.
func (p *program) pay(ctx context.Context, id string) error {
	if err := p.simulate(ctx, id, api.SimulateExact); err != nil {
		return err
	}
	return p.simulate(ctx, id, api.SimulateConfirm)
}

// simulate simulates an action on a test invoice.
func (p *program) simulate(ctx context.Context, id, action string) error {
	return p.call(ctx, http.MethodPost, api.PathTestInvoices+"/"+id+"/simulate", `{"action":"`+action+`"}`, nil)
}

// followStream opens a page's stream, and returns a channel with the times of its updates. The stream ends
// with the context. If forwardedFor is not empty, it is the shopper's address.
func followStream(ctx context.Context, url, forwardedFor string) (<-chan time.Time, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if forwardedFor != "" {
		r.Header.Set("X-Forwarded-For", forwardedFor)
	}
	resp, err := http.DefaultClient.Do(r) // without the timeout of browser
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, errors.New(resp.Status)
	}
	updates := make(chan time.Time, 10)
	go func() {
		defer resp.Body.Close()
		defer close(updates)
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "event: page") {
				updates <- time.Now()
			}
		}
	}()
	_, err = nextUpdate(ctx, updates) // the first update is the current invoice
	return updates, err
}

// nextUpdate returns the time of the next update.
func nextUpdate(ctx context.Context, updates <-chan time.Time) (time.Time, error) {
	select {
	case updatedAt, open := <-updates:
		if !open {
			return updatedAt, errors.New("the stream has ended")
		}
		return updatedAt, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}
