package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
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
	// attemptTimeout bounds the time of an attempt, from the DNS look-up to the end of the answer.
	attemptTimeout = 10 * time.Second
	// maxAnswer bounds how much of an answer's body is read, and maxStoredAnswer how much of it is
	// stored for the operator, in bytes.
	maxAnswer       = 64 << 10
	maxStoredAnswer = 4 << 10
	// maxStoredHeaders and maxStoredHeader bound the number and the length of stored headers.
	maxStoredHeaders = 40
	maxStoredHeader  = 512
)

// sender makes attempts.
type sender struct {
	dialer guard.Connector
	now    func() time.Time
	tls    *tls.Config
}

// send posts a body to an endpoint. It returns the result, and the pause that the receiver requests.
func (s *sender) send(ctx context.Context, e merchant.Endpoint, eventID string, body []byte) (t merchant.Attempt, retryAfter time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	t.At = s.now()
	answer, err := s.post(ctx, e, eventID, body, t.At)
	if err != nil {
		t.Duration, t.Fault = s.now().Sub(t.At), faultText(ctx, err)
		return t, 0
	}
	defer answer.Body.Close()
	t.Status, t.Header = answer.StatusCode, storedHeaders(answer.Header)
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // an error is ignored, because only the status matters
	t.Answer = printable(string(text), maxStoredAnswer)
	t.Duration = s.now().Sub(t.At)
	return t, parseRetryAfter(answer.Header.Get("Retry-After"), t.At)
}

// post sends the signed request.
func (s *sender) post(ctx context.Context, e merchant.Endpoint, eventID string, body []byte, at time.Time) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	Sign(r.Header, e, eventID, body, at)
	return guard.RoundTrip(r, s.dialer, e.Mode == merchant.Live, s.tls)
}

// Sign sets the headers of a request: the signature over the body, as in the specification of the
// API, and for every current secret a signature that also covers time and event. A message to a shop plug-in has the
// signature that plug-ins made for BTCPay Server check.
func Sign(h http.Header, e merchant.Endpoint, eventID string, body []byte, at time.Time) {
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "Chequer")
	if e.Plugin {
		mac := hmac.New(sha256.New, []byte(e.Secret))
		mac.Write(body)
		h.Set("BTCPay-Sig", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		return
	}
	timestamp := strconv.FormatInt(at.Unix(), 10)
	message := signature.Event{Timestamp: timestamp, ID: eventID, Body: body}.Message()
	var signatures []string
	for _, secret := range e.Secrets() {
		signatures = append(signatures, signature.Sign(secret, message))
	}
	h.Set(api.HeaderKey, e.Key)
	h.Set(api.HeaderSignature, signature.Sign(e.Secret, body))
	h.Set(api.HeaderEventID, eventID)
	h.Set(api.HeaderTimestamp, timestamp)
	h.Set(api.HeaderSignatureV2, strings.Join(signatures, ","))
}

// faultText describes why there was no answer. It omits the URL, which may contain a token.
func faultText(ctx context.Context, err error) string {
	if fault, ok := errors.AsType[*url.Error](err); ok {
		err = fault.Err
	}
	if refusal, ok := errors.AsType[*guard.RefusedError](err); ok {
		return refusal.Error()
	}
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "no answer within 10 seconds"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed without an answer"
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return printable(first, maxStoredHeader)
}

// storedHeaders returns the headers of an answer that are stored.
func storedHeaders(h http.Header) map[string]string {
	stored := map[string]string{}
	for _, name := range sortedNames(h) {
		if len(stored) == maxStoredHeaders {
			break
		}
		stored[printable(name, maxStoredHeader)] = printable(strings.Join(h[name], ", "), maxStoredHeader)
	}
	return stored
}

func sortedNames(h http.Header) []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// printable returns the beginning of an untrusted text in a form that databases can store and terminals
// can print: valid UTF-8 without control characters.
func printable(text string, maximum int) string {
	if len(text) > maximum {
		text = text[:maximum]
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

// parseRetryAfter parses a Retry-After header, which has seconds or a date. See RFC 9110, section
// 10.2.3.
func parseRetryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
