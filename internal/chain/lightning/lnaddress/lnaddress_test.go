package lnaddress_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/chain/lightning/lnaddress"
	"chequer/internal/clocktest"
	"chequer/internal/logtest"
)

const metadata = `[["text/plain","Payment to anna"],["text/identifier","anna@example.com"]]`

// service is the service of the Lightning address anna@example.com.
type service struct {
	wallet *lightningtest.Wallet

	mu       sync.Mutex
	terms    map[string]any
	callback func(answer map[string]any) // changes an answer with a request
	verify   func(answer map[string]any) // changes an answer of the payment check
	replace  map[string]http.HandlerFunc // replaces the calls of paths
}

func (s *service) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := "/" + strings.Split(r.URL.Path, "/")[1]
	if h := s.replace[path]; h != nil {
		h(w, r)
		return
	}
	var answer map[string]any
	switch {
	case r.Method != http.MethodGet || r.Host != lightningtest.Host:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case r.URL.Path == "/.well-known/lnurlp/anna":
		answer = s.terms
	case path == "/callback" && r.URL.Query().Get("user") == "7":
		amount, err := strconv.ParseInt(r.URL.Query().Get("amount"), 10, 64)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		hash := sha256.Sum256([]byte(metadata))
		i := s.wallet.Make(amount, "", hash[:], 10*time.Minute)
		answer = map[string]any{"pr": i.Text, "routes": []any{}, "status": "OK", "verify": "https://example.com/verify/" + i.Hash}
		s.callback(answer)
	case path == "/verify":
		i, ok := s.wallet.Find(strings.TrimPrefix(r.URL.Path, "/verify/"))
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = map[string]any{"status": "ERROR", "reason": "Not found"}
			break
		}
		answer = map[string]any{"status": "OK", "settled": i.State == lightningtest.Settled, "preimage": hex.EncodeToString(i.Preimage), "pr": i.Text}
		s.verify(answer)
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

type fixture struct {
	*lnaddress.Provider
	service *service
	server  *lightningtest.Server
	clock   *clocktest.Clock
	log     *logtest.Journal
}

func newFixture(t *testing.T, start time.Time) *fixture {
	t.Helper()
	f := &fixture{clock: clocktest.New(start), log: new(logtest.Journal)}
	f.service = &service{
		wallet:   lightningtest.NewWallet(t, f.clock.Now),
		terms:    map[string]any{"tag": "payRequest", "callback": "https://example.com/callback?user=7", "minSendable": 1000, "maxSendable": 10_000_000_000, "metadata": metadata},
		callback: func(map[string]any) {}, verify: func(map[string]any) {}, replace: map[string]http.HandlerFunc{},
	}
	f.server = lightningtest.NewServer(t, f.service)
	c := lightningtest.Config(t, "anna@example.com", f.server)
	c.TLS, c.Now, c.Log = f.server.TLS(), f.clock.Now, slog.New(slog.NewTextHandler(f.log, nil))
	f.Provider = lnaddress.New(c)
	return f
}

func TestProvider_conforms(t *testing.T) {
	t.Parallel()
	lightningtest.Run(t, lightningtest.Names{}, func(t *testing.T, start time.Time) lightningtest.Lab {
		f := newFixture(t, start)
		return lightningtest.Lab{Provider: f.Provider, Wallet: f.service.wallet, Clock: f.clock, SetDown: f.server.SetDown}
	})
}

var noon = time.Unix(1_790_000_000, 0).UTC()

var ask = lightning.Ask{MilliSatoshi: 21_000, Expiry: 20 * time.Minute}

func TestMake_reports_what_is_wrong(t *testing.T) {
	t.Parallel()
	const terms, callback = "/.well-known", "/callback"
	for name, test := range map[string]struct {
		change func(s *service)
		is     error
		want   string
	}{
		"no payment check": {func(s *service) { s.callback = func(a map[string]any) { delete(a, "verify") } }, lightning.ErrUnsupported,
			"anna@example.com offers no payment check (LUD-21): payments would never be seen"},
		"a payment check without https": {func(s *service) { s.callback = func(a map[string]any) { a["verify"] = "http://example.com/verify/1" } }, nil, "payment check: not an https URL"},
		"a callback without https":      {func(s *service) { s.terms["callback"] = "http://example.com/callback" }, nil, "callback: not an https URL"},
		"a callback elsewhere":          {func(s *service) { s.terms["callback"] = "https://127.0.0.1/callback" }, nil, "no such host"},
		"a withdrawal":                  {func(s *service) { s.terms["tag"] = "withdrawRequest" }, nil, "not a payRequest"},
		"no limits":                     {func(s *service) { delete(s.terms, "minSendable") }, nil, "not a payRequest"},
		"a refusal": {func(s *service) {
			s.callback = func(a map[string]any) { a["status"], a["reason"] = "ERROR", "Wallet\nclosed" }
		}, nil, "the provider answers: Wallet closed"},
		"a refusal with a status": {func(s *service) { s.replace[terms] = answers(500, `{"status":"error","reason":"Maintenance"}`) }, nil, "terms of anna@example.com: the provider answers: Maintenance"},
		"an unknown user":         {func(s *service) { s.replace[terms] = answers(404, `{"status":"ERROR","reason":"User not found"}`) }, lightning.ErrUnknown, "User not found"},
		"a page":                  {func(s *service) { s.replace[terms] = answers(200, `<html>`) }, nil, "not JSON of LNURL"},
		"no page":                 {func(s *service) { s.replace[terms] = answers(404, `<html>`) }, nil, "HTTP status 404"},
		"too many calls":          {func(s *service) { s.replace[callback] = answers(429, ``) }, lightning.ErrRateLimited, ""},
		"a large answer":          {func(s *service) { s.replace[callback] = answers(200, strings.Repeat(" ", 65<<10)) }, nil, "larger than 64 KiB"},
		"a redirect":              {func(s *service) { s.replace[callback] = redirect }, nil, "redirect, which is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, noon)
			test.change(f.service)
			made, err := f.Make(t.Context(), ask)
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("Make() = %+v, %v, want %q", made, err, test.want)
			}
		})
	}
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "https://example.com/elsewhere", http.StatusFound)
}

func TestMake_keeps_the_limits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon)
	for _, amount := range []int64{999, 10_000_000_001} {
		made, err := f.Make(t.Context(), lightning.Ask{MilliSatoshi: amount})
		limit, ok := errors.AsType[*lightning.LimitError](err)
		if !ok || *limit != (lightning.LimitError{Least: 1000, Most: 10_000_000_000}) {
			t.Errorf("Make(%d) = %+v, %v, want a LimitError", amount, made, err)
		}
	}
	if access, err := f.Access(t.Context()); err != nil || access != (lightning.Access{Least: 1000, Most: 10_000_000_000}) {
		t.Errorf("Access() = %+v, %v, want the limits", access, err)
	}
}

func TestMake_reads_the_terms_again_after_ten_minutes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon)
	var calls []int64
	for _, wait := range []time.Duration{0, 9 * time.Minute, time.Minute, -time.Hour} {
		f.clock.Advance(wait)
		before := f.server.Calls.Load()
		if _, err := f.Make(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, f.server.Calls.Load()-before)
	}
	if want := []int64{2, 1, 2, 2}; fmt.Sprint(calls) != fmt.Sprint(want) {
		t.Errorf("calls %v, want %v", calls, want)
	}
}

// The caller refuses wrong requests with lightning.Check and by its own record of payment hashes.
func TestCheck_refuses_wrong_requests_of_the_service(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon)
	first, err := f.Make(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ text, want string }{
		"another amount":      {f.service.wallet.Make(20_000, "", []byte(strings.Repeat("h", 32)), time.Hour).Text, "asks 20000 msat, want 21000 msat"},
		"a request that ends": {f.service.wallet.Make(21_000, "", []byte(strings.Repeat("h", 32)), time.Second).Text, "in less than 1m0s"},
	} {
		f.service.set(func() { f.service.callback = func(a map[string]any) { a["pr"] = strings.ToUpper(test.text) } })
		made, err := f.Make(t.Context(), ask)
		if err != nil || made.Text != test.text {
			t.Fatalf("%s: Make() = %+v, %v", name, made, err)
		}
		if _, err := lightning.Check(made, ask, "bcrt", noon); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Check() = %v, want %q", name, err, test.want)
		}
		if !f.log.Contains("payment request has another description hash") {
			t.Errorf("%s: the description hash is not logged", name)
		}
	}
	f.service.set(func() { f.service.callback = func(a map[string]any) { a["pr"] = first.Text } })
	repeated, err := f.Make(t.Context(), ask)
	if err != nil || repeated.Text != first.Text {
		t.Errorf("Make() = %+v, %v, want the repeated request, which the caller finds", repeated, err)
	}
}

func TestLook_reports_faults_of_the_payment_check(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(f *fixture)
		is     error
		want   string
	}{
		"another request": {func(f *fixture) {
			other := f.service.wallet.Make(21_000, "", []byte(strings.Repeat("h", 32)), time.Hour).Text
			f.service.verify = func(a map[string]any) { a["pr"] = other }
		}, lightning.ErrFault, "another request as settled"},
		"no request":          {func(f *fixture) { f.service.verify = func(a map[string]any) { delete(a, "pr") } }, lightning.ErrFault, "another request as settled"},
		"an empty preimage":   {func(f *fixture) { f.service.verify = func(a map[string]any) { a["preimage"] = nil } }, nil, ""},
		"an invalid preimage": {func(f *fixture) { f.service.verify = func(a map[string]any) { a["preimage"] = "pending" } }, lightning.ErrFault, "preimage"},
		"a text as settled":   {func(f *fixture) { f.service.verify = func(a map[string]any) { a["settled"] = "true" } }, nil, "not JSON of LNURL"},
		"a redirect":          {func(f *fixture) { f.service.replace["/verify"] = redirect }, nil, "redirect, which is not followed"},
		"another error": {func(f *fixture) {
			f.service.replace["/verify"] = answers(200, `{"status":"ERROR","reason":"try later"}`)
		}, nil, "the provider answers: try later"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, noon)
			made, err := f.Make(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			hash := f.service.wallet.Last().Hash
			f.service.wallet.Pay(hash)
			f.service.set(func() { test.change(f) })
			status, err := f.Look(t.Context(), lightning.Sought{Hash: hash, LookupURL: made.LookupURL})
			if test.want == "" {
				if err != nil || !status.Settled {
					t.Errorf("Look() = %+v, %v, want settled", status, err)
				}
				return
			}
			if err == nil || status.Settled || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) || errors.Is(err, lightning.ErrUnknown) {
				t.Errorf("Look() = %+v, %v, want %q", status, err, test.want)
			}
		})
	}
}
