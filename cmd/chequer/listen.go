package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/guard"
	"chequer/internal/merchant"
	"chequer/internal/webhook"
	"chequer/internal/wire"
)

const (
	// listenWait is how long the server may wait for the next event before it answers.
	listenWait = 30 * time.Second
	// listenRetryDelay is the pause before the next request when the server does not answer.
	listenRetryDelay = 2 * time.Second
	// receiverTimeout limits a request to the receiver, and maxReceiverAnswer the bytes of its answer
	// that are read. Both are the same as for callbacks.
	receiverTimeout   = 10 * time.Second
	maxReceiverAnswer = 64 << 10
)

// listen returns the command that forwards events to a receiver on this machine.
func (s *shell) listen() *cobra.Command {
	var address, forward string
	var types []string
	after := client.FromNow
	c := &cobra.Command{
		Use:   "listen --forward URL",
		Short: "Forward events to a receiver on this machine, signed as callbacks are",
		Long: "Follows the events of a server over its API and posts each event once to a receiver, with the same bytes\n" +
			"and headers as a callback. CHEQUER_API_KEY and CHEQUER_API_SECRET sign the requests to the server: the key\n" +
			"needs the scope read, and sees the events of its mode. No endpoint is needed, and none is changed.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if u, err := url.Parse(forward); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
				return errors.New("--forward: want an address like http://127.0.0.1:3000/hook")
			}
			for _, t := range types {
				if !slices.Contains(wire.EventTypes(), t) {
					return fmt.Errorf("there is no event %q; there are %s", t, strings.Join(wire.EventTypes(), ", "))
				}
			}
			from, err := s.remote(address)
			if err != nil {
				return err
			}
			l := &listener{
				from: from, to: merchant.Endpoint{URL: forward, Events: types}, http: receiverClient(),
				out: c.OutOrStdout(), ink: s.ink(c.OutOrStdout()), json: s.json,
			}
			l.to.Key, l.to.Secret = forwardingPair(from.secret)
			return from.unreachable(l.run(c.Context(), after))
		},
	}
	apiFlag(c, &address)
	c.Flags().StringVar(&forward, "forward", "", "address of the receiver")
	c.Flags().StringSliceVar(&types, "events", nil, "only events of these types")
	c.Flags().Int64Var(&after, "after", after, "begin after this position of the feed; 0 means from the oldest event kept")
	c.Flags().Lookup("after").DefValue = "now"
	_ = c.MarkFlagRequired("forward")
	return c
}

// forwardingPair returns the key pair that signs forwarded events. It is derived from the API key, so
// that the receiver has to be configured only once.
func forwardingPair(apiSecret string) (key, secret string) {
	derive := func(purpose string, length int) string {
		mac := hmac.New(sha256.New, []byte(apiSecret))
		mac.Write([]byte("chequer-listen-v1\n" + purpose))
		return hex.EncodeToString(mac.Sum(nil))[:length]
	}
	return derive("key", 32), derive("secret", 40)
}

// receiverClient returns an HTTP client that posts as the server does: no proxy, no redirects.
func receiverClient() *http.Client {
	return &http.Client{
		Transport: guard.NoUpgrade(&http.Transport{}), Timeout: receiverTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// listener forwards the events of a server to a receiver.
type listener struct {
	from remote
	to   merchant.Endpoint
	http *http.Client
	out  io.Writer
	ink  ink
	json bool
}

// run forwards every event after a position until the context ends, and then returns nil. If the
// server stops answering, it retries until the server answers again.
func (l *listener) run(ctx context.Context, after int64) error {
	page, err := l.from.Events(ctx, after, 0)
	if err != nil {
		return err
	}
	l.printHeader(page.Mode)
	waiting := false
	for ctx.Err() == nil {
		for _, body := range page.Events {
			l.forward(ctx, body)
		}
		after = page.Next
		if page, err = l.from.Events(ctx, after, listenWait); err == nil {
			waiting = false
			continue
		}
		if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status < 500 && refused.Status != http.StatusTooManyRequests {
			return err
		}
		if !waiting && ctx.Err() == nil && !l.json {
			fmt.Fprintln(l.out, l.ink.failure("waiting for the server:"), printable(err.Error()))
		}
		page, waiting = api.EventPage{Next: after}, true
		select {
		case <-ctx.Done():
		case <-time.After(listenRetryDelay):
		}
	}
	return nil
}

// printHeader prints the addresses of the server and the receiver, and the key pair.
func (l *listener) printHeader(mode string) {
	if l.json {
		return
	}
	fmt.Fprintf(l.out, "Events of %s (%s) go to %s\n\nkey     %s\nsecret  %s\n\n%s\n\n", l.from.url, printable(mode), l.to.URL, l.to.Key, l.to.Secret,
		l.ink.secondary("This key pair signs the forwarded events. It stays the same for this API key. Ctrl-C stops."))
}

// forwarded is a forwarded event and its result.
type forwarded struct {
	At         string `json:"at"`
	Event      string `json:"event_id"`
	Type       string `json:"type"`
	Invoice    string `json:"foreign_id"`
	Wallet     string `json:"wallet,omitempty"`
	Status     int    `json:"status"`
	Fault      string `json:"fault"`
	DurationMS int64  `json:"duration_ms"`
}

// forward posts an event to the receiver, if its type is wanted, and prints the result.
func (l *listener) forward(ctx context.Context, body []byte) {
	var e api.Event
	if err := json.Unmarshal(body, &e); err != nil || !l.to.Wants(e.Type) {
		return
	}
	begin := time.Now()
	f := forwarded{At: stamp(begin), Event: printable(e.ID), Type: printable(e.Type), Invoice: printable(e.ForeignID), Wallet: printable(e.Wallet.ID)}
	var err error
	if f.Status, err = l.post(ctx, e.ID, body, begin); err != nil {
		f.Fault = printable(err.Error())
	}
	if ctx.Err() != nil {
		return // the command was stopped; the receiver is not at fault
	}
	f.DurationMS = time.Since(begin).Milliseconds()
	if l.json {
		_ = writeJSON(l.out, f, "")
		return
	}
	answer := l.ink.success(result(f.Status, f.Fault))
	if f.Status < 200 || f.Status > 299 {
		answer = l.ink.failure(result(f.Status, f.Fault))
	}
	fmt.Fprintf(l.out, "%s  %-18s  %s  %s  %d ms\n", l.ink.secondary(begin.Format(time.TimeOnly)), f.Type, orElse(f.Invoice, f.Wallet), answer, f.DurationMS)
}

// post sends an event in the form of a callback and returns the status of the answer.
func (l *listener) post(ctx context.Context, eventID string, body []byte, at time.Time) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.to.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	webhook.Sign(r.Header, l.to, eventID, body, at)
	answer, err := l.http.Do(r)
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err // without the address, which is printed at the start
	}
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxReceiverAnswer)) // only the status matters: an error while reading the body is ignored
	return answer.StatusCode, nil
}
