package phoenixd_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/chain/lightning/phoenixd"
	"chequer/internal/clocktest"
)

// daemon has the HTTP API of phoenixd, after its source.
type daemon struct {
	wallet *lightningtest.Wallet

	mu      sync.Mutex
	replace http.HandlerFunc
	events  chan string // messages of /websocket; a closed connection if empty
}

const limited, full = "limited-secret", "full-secret"

func (d *daemon) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	replace := d.replace
	d.mu.Unlock()
	_, password, _ := r.BasicAuth()
	hash, isLookup := strings.CutPrefix(r.URL.Path, "/payments/incoming/")
	switch {
	case replace != nil:
		replace(w, r)
	case password != limited && password != full, r.URL.Path == "/lnurlauth" && password != full:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, "Invalid authentication (use basic auth with the http password set in phoenix.conf)")
	case r.URL.Path == "/websocket":
		d.stream(w, r)
	case r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/x-www-form-urlencoded":
		w.WriteHeader(http.StatusUnsupportedMediaType)
	case r.Method == http.MethodPost && r.URL.Path == "/lnurlauth":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "Missing form parameter lnurl")
	case r.Method == http.MethodPost && r.URL.Path == "/createinvoice":
		d.create(w, r)
	case r.Method == http.MethodGet && isLookup:
		d.lookup(w, hash)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "Unknown endpoint (check api doc)")
	}
}

func (d *daemon) create(w http.ResponseWriter, r *http.Request) {
	amount, err := strconv.ParseInt(r.FormValue("amountSat"), 10, 64)
	expiry, err2 := strconv.ParseInt(r.FormValue("expirySeconds"), 10, 64)
	if err != nil || err2 != nil || !r.PostForm.Has("description") || len(r.FormValue("description")) > 128 {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "Must provide either a description or descriptionHash")
		return
	}
	i := d.wallet.Make(amount*1000, r.FormValue("description"), nil, time.Duration(expiry)*time.Second)
	_ = json.NewEncoder(w).Encode(map[string]any{"amountSat": amount, "paymentHash": i.Hash, "serialized": i.Text})
}

// lookup answers with a request. It shows the preimage of every request, and the amount without the fees.
func (d *daemon) lookup(w http.ResponseWriter, hash string) {
	i, ok := d.wallet.Find(hash)
	if !ok {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answer := map[string]any{
		"type": "incoming_payment", "subType": "lightning", "paymentHash": i.Hash, "preimage": hex.EncodeToString(i.Preimage), "invoice": i.Text,
		"isPaid": false, "isExpired": false, "requestedSat": i.Request.MilliSatoshi / 1000, "receivedSat": 0, "fees": 0, "completedAt": nil,
		"createdAt": i.Request.Time.UnixMilli(),
	}
	if i.State == lightningtest.Settled {
		answer["isPaid"], answer["completedAt"], answer["receivedSat"], answer["fees"] = true, i.SettledAt.UnixMilli(), i.Paid/1000-1, 1000
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (d *daemon) stream(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	for {
		select {
		case message := <-d.events:
			if message == "" {
				return
			}
			_ = conn.Write(r.Context(), websocket.MessageText, []byte(message))
		case <-r.Context().Done():
			return
		}
	}
}

type fixture struct {
	*phoenixd.Provider
	daemon *daemon
	server *lightningtest.Server
	clock  *clocktest.Clock
}

func newFixture(t *testing.T, start time.Time, password string) *fixture {
	t.Helper()
	f := &fixture{clock: clocktest.New(start)}
	f.daemon = &daemon{wallet: lightningtest.NewWallet(t, f.clock.Now), events: make(chan string)}
	f.server = lightningtest.NewServer(t, f.daemon)
	config := lightningtest.Config(t, "type=phoenixd;server=https://example.com;password="+password, f.server)
	config.TLS = f.server.TLS()
	f.Provider = phoenixd.New(config)
	return f
}

// The fake is made after the source of phoenixd. No phoenixd was run.
func TestProvider_conforms(t *testing.T) {
	t.Parallel()
	lightningtest.Run(t, lightningtest.Names{Time: true}, func(t *testing.T, start time.Time) lightningtest.Lab {
		f := newFixture(t, start, limited)
		return lightningtest.Lab{Provider: f.Provider, Wallet: f.daemon.wallet, Clock: f.clock, SetDown: f.server.SetDown}
	})
}

var (
	noon = time.Unix(1_790_000_000, 0).UTC()
	ask  = lightning.Ask{MilliSatoshi: 21_000, Memo: "Shoes", Expiry: 20 * time.Minute}
)

func TestAccess_finds_the_password_that_may_spend(t *testing.T) {
	t.Parallel()
	for password, test := range map[string]struct {
		spending string
		is       error
	}{limited: {"", nil}, full: {"the full-access password", nil}, "wrong-secret": {"", lightning.ErrRevoked}} {
		access, err := newFixture(t, noon, password).Access(t.Context())
		if access.Spending != test.spending || !errors.Is(err, test.is) || err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%s: Access() = %+v, %v, want %q and %v", password, access, err, test.spending, test.is)
		}
	}
}

func TestCalls_name_the_fault(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		is     error
		want   string
	}{
		"a wrong password": {401, "Invalid authentication", lightning.ErrRevoked, "the password is wrong"},
		"a bad request":    {400, "Request parameter\ndescription is too long", lightning.ErrAnswered, "phoenixd answers with status 400: Request parameter description is too long"},
		"its password":     {400, "bad header :" + limited + " " + base64.StdEncoding.EncodeToString([]byte(":"+limited)), lightning.ErrAnswered, "bad header :[hidden] [hidden]"},
		"a proxy":          {404, "<html>no backend", nil, "status 404"},
		"a page":           {200, "<html>", nil, "not JSON of phoenixd"},
		"a redirect":       {302, "", nil, "redirect"},
		"too many calls":   {429, "", lightning.ErrRateLimited, ""},
	} {
		f := newFixture(t, noon, limited)
		f.daemon.set(func() {
			f.daemon.replace = func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}
		})
		_, makeErr := f.Make(t.Context(), ask)
		_, lookErr := f.Look(t.Context(), lightning.Sought{Hash: strings.Repeat("ab", 32)})
		_, accessErr := f.Access(t.Context())
		for call, err := range map[string]error{"Make": makeErr, "Look": lookErr, "Access": accessErr} {
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) || errors.Is(err, lightning.ErrUnknown) || strings.Contains(err.Error(), limited) {
				t.Errorf("%s: %s() = %v, want %q", name, call, err, test.want)
			}
		}
	}
}

func TestMake_refuses_parts_of_a_satoshi(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, limited)
	if made, err := f.Make(t.Context(), lightning.Ask{MilliSatoshi: 1001}); err == nil || f.server.Calls.Load() != 0 {
		t.Errorf("Make() = %+v, %v, want an error without a call", made, err)
	}
}

func TestLook_accepts_the_former_answer_for_an_unknown_request(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, limited)
	f.daemon.set(func() {
		f.daemon.replace = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Not found", 404) }
	})
	if status, err := f.Look(t.Context(), lightning.Sought{Hash: strings.Repeat("ab", 32)}); !errors.Is(err, lightning.ErrUnknown) {
		t.Errorf("Look() = %+v, %v, want ErrUnknown", status, err)
	}
}

func TestLook_refuses_another_request_as_paid(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, limited)
	f.daemon.set(func() {
		f.daemon.replace = func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"paymentHash":%q,"isPaid":true}`, strings.Repeat("cd", 32))
		}
	})
	if status, err := f.Look(t.Context(), lightning.Sought{Hash: strings.Repeat("ab", 32)}); !errors.Is(err, lightning.ErrFault) || status.Settled {
		t.Errorf("Look() = %+v, %v, want ErrFault", status, err)
	}
}

func TestRun_signals_payments_and_connects_again(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, limited)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	for range 2 {
		<-f.Wake() // of the connection
		if _, all := f.Notified(); !all {
			t.Error("a new connection does not make all requests due")
		}
		if !f.Subscribed() {
			t.Error("Subscribed() = false, want true")
		}
		f.daemon.events <- `{"type":"payment_sent"}`
		f.daemon.events <- `{"type":"payment_received","amountSat":21,"paymentHash":"ab"}`
		<-f.Wake()
		if hashes, _ := f.Notified(); !slices.Equal(hashes, []string{"ab"}) {
			t.Errorf("notified %v, want ab", hashes)
		}
		f.daemon.events <- ""
	}
	cancel()
	if err := <-done; err != nil || f.Subscribed() {
		t.Errorf("Run() = %v, subscribed %t", err, f.Subscribed())
	}
}
