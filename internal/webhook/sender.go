package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"chequer/internal/api"
	"chequer/internal/guard"
	"chequer/internal/merchant"
	"chequer/internal/signature"
)

const (
	// patience is how long a try takes at most, with looking up the name and reading
	// the answer.
	patience = 10 * time.Second
	// maxAnswer is how much of an answer's body is read, keptAnswer how much of it
	// is kept for the operator.
	maxAnswer  = 64 << 10
	keptAnswer = 4 << 10
	// maxHeader bounds the headers of an answer; keptHeaders and keptHeader what is
	// kept of them, in number and in length.
	maxHeader   = 64 << 10
	keptHeaders = 40
	keptHeader  = 512
)

// Dialer connects for one kind of call; *guard.Dialer does.
type Dialer interface {
	Dial(ctx context.Context, target guard.Target, hostport string) (net.Conn, error)
}

// sender makes one try.
type sender struct {
	dialer Dialer
	now    func() time.Time
	tls    *tls.Config
}

// send posts a body to an endpoint and tells what came of it, and how long the
// receiver asks to be left alone. Nothing is kept between two tries: where the
// name leads is judged each time.
func (s *sender) send(ctx context.Context, e merchant.Endpoint, eventID string, body []byte) (t merchant.Try, retryAfter time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t.At = s.now()
	answer, err := s.post(ctx, e, eventID, body, t.At)
	if err != nil {
		t.Duration, t.Fault = s.now().Sub(t.At), explain(ctx, err)
		return t, 0
	}
	defer answer.Body.Close()
	t.Status, t.Header = answer.StatusCode, keep(answer.Header)
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // the status counts, however the body ends
	t.Answer = plain(string(text), keptAnswer)
	t.Duration = s.now().Sub(t.At)
	return t, askedFor(answer.Header.Get("Retry-After"), t.At)
}

// post sends the request on a connection of its own.
func (s *sender) post(ctx context.Context, e merchant.Endpoint, eventID string, body []byte, at time.Time) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	Sign(r.Header, e, eventID, body, at)
	target := guard.Target{Plain: r.URL.Scheme == "http", Live: e.Mode == merchant.Live}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, hostport string) (net.Conn, error) {
			return s.dialer.Dial(ctx, target, hostport)
		},
		TLSClientConfig:        s.tls.Clone(),
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
	}
	return guard.NoUpgrade(transport).RoundTrip(r)
}

// Sign sets the headers of a callback: the family's signature over the body, and
// ours, which also covers the time and the event, by every secret in force.
func Sign(h http.Header, e merchant.Endpoint, eventID string, body []byte, at time.Time) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	message := signature.Event{Timestamp: timestamp, ID: eventID, Body: body}.Message()
	var signatures []string
	for _, secret := range e.Secrets() {
		signatures = append(signatures, signature.Sign(secret, message))
	}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "Chequer")
	h.Set(api.HeaderKey, e.Key)
	h.Set(api.HeaderSignature, signature.Sign(e.Secret, body))
	h.Set(api.HeaderEventID, eventID)
	h.Set(api.HeaderTimestamp, timestamp)
	h.Set(api.HeaderSignatureV2, strings.Join(signatures, ","))
}

// explain says in words why there was no answer. The URL is not part of it: it may
// hold a token.
func explain(ctx context.Context, err error) string {
	if fault, ok := errors.AsType[*url.Error](err); ok {
		err = fault.Err
	}
	if refused, ok := errors.AsType[*guard.Refused](err); ok {
		return refused.Error()
	}
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "no answer within 10 seconds"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed without an answer"
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return plain(first, keptHeader)
}

// keep is what is kept of an answer's headers.
func keep(h http.Header) map[string]string {
	kept := map[string]string{}
	for _, name := range sortedNames(h) {
		if len(kept) == keptHeaders {
			break
		}
		kept[plain(name, keptHeader)] = plain(strings.Join(h[name], ", "), keptHeader)
	}
	return kept
}

func sortedNames(h http.Header) []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// plain is the beginning of a foreign text as every database and terminal holds
// it: no bytes that are no UTF-8, and no control characters.
func plain(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

// askedFor is how long a Retry-After asks to wait, in seconds or until a date. See
// RFC 9110, section 10.2.3.
func askedFor(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
