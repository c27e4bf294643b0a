package nwc

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
)

func TestProvider_conforms(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		encryptions string
		only        encryption
		relays      int
	}{
		"NIP-44":                 {"nip44_v2 nip04", nip44, 1},
		"NIP-04":                 {"", nip04, 1},
		"two relays":             {"nip44_v2", nip44, 2},
		"two relays with NIP-04": {"nip04", nip04, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lightningtest.Run(t, lightningtest.Names{Held: true, Time: true}, func(t *testing.T, start time.Time) lightningtest.Lab {
				f := newFixture(t, start, test.relays)
				f.wallet.only = test.only
				f.wallet.announce(t, test.encryptions, receiving...)
				return lightningtest.Lab{Provider: f.Provider, Wallet: f.wallet.Wallet, Clock: f.clock, SetDown: f.setDown}
			})
		})
	}
}

var (
	noon = time.Unix(1_790_000_000, 0).UTC()
	ask  = lightning.Ask{MilliSatoshi: 21_000, Memo: "Shoes", Expiry: 20 * time.Minute}
)

// newReady returns a fixture whose wallet has announced NIP-44.
func newReady(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, noon, 1)
	f.wallet.announce(t, "nip44_v2 nip04", receiving...)
	return f
}

func TestMake_sends_one_request_with_an_expiration(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, 2)
	f.wallet.announce(t, "nip44_v2", receiving...)
	made, err := f.Make(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	i := f.wallet.Last()
	if diff := cmp.Diff(made, lightning.Made{Text: i.Text, Hash: i.Hash}); diff != "" || i.Request.Description != "Shoes" || i.Request.Expiry != 20*time.Minute {
		t.Errorf("Make() differs (-got +want):\n%s\nrequest %+v", diff, i.Request)
	}
	f.wallet.mu.Lock()
	defer f.wallet.mu.Unlock()
	for _, r := range f.wallet.requests {
		if r.ID != f.wallet.requests[0].ID || r.tag("encryption") != "nip44_v2" || r.tag("expiration") == "" || r.tag("p") != f.wallet.public {
			t.Errorf("request %+v, want the same request with its tags at each relay", r)
		}
	}
}

func TestAccess_reads_the_methods_of_the_connection(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		info, methods []string
		reply         map[string]any
		spending      string
		is            error
		want          string
	}{
		"receiving":                     {receiving, receiving, nil, "", nil, ""},
		"spending by get_info":          {receiving, append([]string{"pay_invoice"}, receiving...), nil, "pay_invoice", nil, ""},
		"spending by the info event":    {append([]string{"multi_pay_keysend"}, receiving...), receiving, nil, "multi_pay_keysend", nil, ""},
		"a maker of connections":        {receiving, append(receiving, "create_connection"), nil, "create_connection", nil, ""},
		"no lookup":                     {[]string{"make_invoice"}, []string{"make_invoice"}, nil, "", lightning.ErrUnsupported, "does not allow lookup_invoice"},
		"no info event, methods":        {nil, receiving, nil, "", nil, ""},
		"no get_info":                   {receiving, nil, refusal("NOT_IMPLEMENTED"), "", nil, ""},
		"get_info is not allowed":       {receiving, nil, refusal("RESTRICTED"), "", nil, ""},
		"no info event and no get_info": {nil, nil, refusal("NOT_IMPLEMENTED"), "", lightning.ErrUnsupported, "does not allow make_invoice"},
		"revoked":                       {receiving, nil, refusal("UNAUTHORIZED"), "", lightning.ErrRevoked, "the wallet answers UNAUTHORIZED: sorry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, noon, 1)
			f.wallet.methods = test.methods
			f.wallet.set(func() { f.wallet.change = replaceBy(test.reply) })
			if test.info != nil {
				f.wallet.announce(t, "nip44_v2", test.info...)
			}
			access, err := f.Access(t.Context())
			if access != (lightning.Access{Spending: test.spending}) || test.want == "" && err != nil || test.want != "" && (err == nil || !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("Access() = %+v, %v, want %q and %q", access, err, test.spending, test.want)
			}
		})
	}
}

func refusal(code string) map[string]any {
	return map[string]any{"result": nil, "error": map[string]any{"code": code, "message": "sorry"}}
}

// replaceBy returns a change of replies that sets fields.
func replaceBy(fields map[string]any) func(string, map[string]any) {
	return func(_ string, reply map[string]any) {
		for name, value := range fields {
			reply[name] = value
		}
	}
}

// The relay may have lost the info event, or have an old one.
func TestCall_finds_the_encryption_of_the_wallet(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		announce bool
		only     encryption
	}{"no info event, NIP-44": {false, nip44}, "no info event, NIP-04": {false, nip04}, "an old info event": {true, nip04}} {
		f := newFixture(t, noon, 1)
		f.wallet.only = test.only
		if test.announce {
			f.wallet.announce(t, "nip44_v2", receiving...)
		}
		for range 2 {
			if made, err := f.Make(t.Context(), ask); err != nil {
				t.Errorf("%s: Make() = %+v, %v", name, made, err)
			}
		}
		f.wallet.set(func() {
			if n := len(f.wallet.requests); n > 3 {
				t.Errorf("%s: %d requests, want the encryption to be remembered", name, n)
			}
		})
	}
}

func TestMake_returns_the_error_of_the_wallet(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reply map[string]any
		is    error
		want  string
	}{
		"rate limited":   {refusal("RATE_LIMITED"), lightning.ErrRateLimited, "RATE_LIMITED: sorry"},
		"restricted":     {refusal("RESTRICTED"), lightning.ErrRevoked, "RESTRICTED: sorry"},
		"not offered":    {refusal("NOT_IMPLEMENTED"), lightning.ErrUnsupported, "NOT_IMPLEMENTED: sorry"},
		"another code":   {refusal("QUOTA\nEXCEEDED"), lightning.ErrAnswered, "QUOTA EXCEEDED: sorry"},
		"no result":      {map[string]any{"result": nil}, nil, "has no result"},
		"another method": {map[string]any{"result_type": "get_balance"}, nil, "another method than make_invoice"},
		"a text":         {map[string]any{"result": "lnbc1"}, nil, "not that of NIP-47"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newReady(t)
			f.wallet.set(func() { f.wallet.change = replaceBy(test.reply) })
			made, err := f.Make(t.Context(), ask)
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("Make() = %+v, %v, want %q", made, err, test.want)
			}
		})
	}
}

func TestLook_reads_the_forms_of_wallets(t *testing.T) {
	t.Parallel()
	settled := lightning.Status{Settled: true, SettledAt: noon}
	for name, test := range map[string]struct {
		paid   bool
		change func(result map[string]any)
		want   lightning.Status
		is     error
	}{
		"a time as a text":      {true, func(r map[string]any) { r["settled_at"] = "1790000000" }, settled, nil},
		"a time with a point":   {true, func(r map[string]any) { r["settled_at"] = 1790000000.0 }, settled, nil},
		"no state":              {true, func(r map[string]any) { delete(r, "state") }, settled, nil},
		"no state, open":        {false, func(r map[string]any) { delete(r, "state") }, lightning.Status{}, nil},
		"no state, a time of 0": {false, func(r map[string]any) { delete(r, "state"); r["settled_at"] = 0 }, lightning.Status{}, nil},
		"no time":               {true, func(r map[string]any) { delete(r, "settled_at") }, lightning.Status{Settled: true}, nil},
		"no preimage":           {true, func(r map[string]any) { delete(r, "preimage") }, settled, nil},
		"a hash in upper case":  {true, func(r map[string]any) { r["payment_hash"] = strings.ToUpper(r["payment_hash"].(string)) }, settled, nil},
		"expired, with a time":  {false, func(r map[string]any) { r["state"] = "expired"; r["settled_at"] = 1790000000 }, lightning.Status{}, nil},
		"an outgoing payment":   {true, func(r map[string]any) { r["type"] = "outgoing" }, lightning.Status{}, lightning.ErrFault},
		"another request":       {true, func(r map[string]any) { r["payment_hash"] = strings.Repeat("ab", 32) }, lightning.Status{}, lightning.ErrFault},
		"no payment hash":       {true, func(r map[string]any) { delete(r, "payment_hash") }, lightning.Status{}, lightning.ErrFault},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newReady(t)
			made, err := f.Make(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			if test.paid {
				f.wallet.Pay(made.Hash)
			}
			f.wallet.set(func() {
				f.wallet.change = func(_ string, reply map[string]any) { test.change(reply["result"].(map[string]any)) }
			})
			got, err := f.Look(t.Context(), lightning.Sought{Hash: made.Hash, Text: made.Text})
			if diff := cmp.Diff(got, test.want); diff != "" || !errors.Is(err, test.is) || test.is == nil && err != nil {
				t.Errorf("Look() = %v, status differs (-got +want):\n%s", err, diff)
			}
		})
	}
}

func TestLook_looks_up_the_request_after_an_error(t *testing.T) {
	t.Parallel()
	f := newReady(t)
	made, err := f.Make(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	f.wallet.Pay(made.Hash)
	calls := 0
	f.wallet.set(func() {
		f.wallet.change = func(_ string, reply map[string]any) {
			if calls++; calls == 1 {
				replaceBy(refusal("OTHER"))("", reply)
			}
		}
	})
	status, err := f.Look(t.Context(), lightning.Sought{Hash: made.Hash, Text: made.Text})
	if err != nil || !status.Settled || calls != 2 {
		t.Errorf("Look() = %+v, %v after %d calls, want settled after 2", status, err, calls)
	}
}

// Replies count only if the wallet signed them and they name the request.
func TestCall_ignores_events_that_are_not_its_reply(t *testing.T) {
	t.Parallel()
	f := newReady(t)
	f.wallet.set(func() {
		f.wallet.intercept = func(request, reply *event) []*event {
			unsigned := *reply
			unsigned.Content = "x"
			foreign := *reply
			if err := foreign.sign(f.key); err != nil {
				t.Error(err)
			}
			other := f.wallet.event(kindReply, map[string]any{"result_type": "make_invoice", "result": map[string]any{"invoice": "wrong"}}, nip44, []string{"e", request.Author}, []string{"p", request.Author})
			return []*event{&foreign, other, reply, reply}
		}
	})
	for range 2 {
		made, err := f.Make(t.Context(), ask)
		if err != nil || made.Text != f.wallet.Last().Text {
			t.Errorf("Make() = %+v, %v, want the request of the wallet", made, err)
		}
	}
}

// A relay that passes on events of others does not reach the call.
func TestHandle_ignores_events_of_others(t *testing.T) {
	t.Parallel()
	f := newReady(t)
	reply := f.expect("id")
	s := &session{ready: make(chan struct{})}
	genuine := f.wallet.event(kindReply, map[string]any{}, nip44, []string{"e", "id"})
	changed := *genuine
	changed.Content += "x"
	foreign := *genuine
	if err := foreign.sign(f.key); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*event{"changed": &changed, "foreign": &foreign} {
		if err := f.relays[0].handle(s, encoded(t, "EVENT", subscription, e)); err != nil {
			t.Error(err)
		}
		select {
		case <-reply:
			t.Errorf("%s: the event is taken for a reply", name)
		default:
		}
	}
	for _, text := range []string{"", "{}", "[]", `["EVENT"]`, `["EVENT","nwc",7]`, `[7,8]`, `["OK",1]`, `["OK","x",true]`, `["EOSE","other"]`, `["NOTICE","x"]`} {
		if err := f.relays[0].handle(s, []byte(text)); err != nil || isDone(s.ready) {
			t.Errorf("handle(%s) = %v, ready %t", text, err, isDone(s.ready))
		}
	}
	if err := f.relays[0].handle(s, encoded(t, "EVENT", subscription, genuine)); err != nil {
		t.Error(err)
	}
	if e := <-reply; e.ID != genuine.ID {
		t.Errorf("reply %+v, want %+v", e, genuine)
	}
}

func TestCall_waits_for_a_slow_wallet(t *testing.T) {
	t.Parallel()
	f := newReady(t)
	release := make(chan struct{})
	f.wallet.set(func() { f.wallet.delay = release })
	done := make(chan error)
	go func() {
		_, err := f.Make(t.Context(), ask)
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("Make() = %v before the wallet answers", err)
	case <-time.After(300 * time.Millisecond):
	}
	close(release)
	if err := <-done; err != nil {
		t.Errorf("Make() = %v", err)
	}
}

func TestCall_names_the_fault_of_relays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(f *fixture)
		is     error
		want   string
	}{
		"a wallet that is asleep": {func(f *fixture) { f.wallet.asleep = true }, lightning.ErrSilent, "the relay answers, the wallet does not: is it switched on?"},
		"no wallet":               {func(f *fixture) { f.wallet.connect(false) }, lightning.ErrSilent, "the relay answers, the wallet does not: is it switched on?"},
		"no wallet, older relay":  {func(f *fixture) { f.wallet.relays[0].verdict = "error: no one was listening" }, lightning.ErrSilent, "is it switched on?"},
		"a refused subscription":  {func(f *fixture) { f.wallet.relays[0].refusal = "auth-required: sign in" }, nil, "the relay refuses the subscription: auth-required: sign in"},
		"a wrong clock": {func(f *fixture) {
			f.wallet.relays[0].date = time.Now().Add(-time.Hour)
			f.wallet.relays[0].verdict = "invalid: created_at too late"
		}, nil, "invalid: created_at too late; this computer's clock is 36"},
		"no answers to events": {func(f *fixture) { f.wallet.relays[0].silent, f.wallet.asleep = true, true }, nil, "no answer of a relay"},
		"no relay":             {func(f *fixture) { f.server.SetDown(true) }, nil, "relay example.com: connection failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newReady(t)
			test.change(f)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if strings.HasPrefix(test.want, "the relay refuses") || strings.HasPrefix(test.want, "invalid") || strings.HasPrefix(test.want, "relay") {
				ctx = t.Context() // the call ends by itself
			}
			start := time.Now()
			_, err := f.Make(ctx, ask)
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("Make() = %v, want %q", err, test.want)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("Make() took %s", took)
			}
		})
	}
}

func TestCall_uses_the_relay_that_works(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *relayServer){
		"a refused subscription": func(r *relayServer) { r.refusal = "restricted: members only" },
		"a refused event":        func(r *relayServer) { r.verdict = "blocked: no" },
		"a silent relay":         func(r *relayServer) { r.silent = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, noon, 2)
			change(f.wallet.relays[0])
			f.wallet.announce(t, "nip44_v2", receiving...)
			for range 3 {
				if made, err := f.Make(t.Context(), ask); err != nil {
					t.Errorf("Make() = %+v, %v", made, err)
				}
			}
		})
	}
}

func TestRun_signals_payments_and_connects_again(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind int
		form encryption
	}{"NIP-44": {kindNotification, nip44}, "NIP-04": {kindNotificationLegacy, nip04}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newReady(t)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- f.Run(ctx) }()
			<-f.Wake()
			if !f.Subscribed() {
				t.Error("Subscribed() = false, want true")
			}
			client := f.relays[0].client
			f.wallet.notify(test.kind, test.form, "payment_sent", client)
			f.clock.Advance(time.Second) // another event ID
			f.wallet.notify(test.kind, test.form, "payment_received", client)
			<-f.Wake()
			f.wallet.relays[0].drop()
			<-f.Wake() // of the new session
			f.wallet.relays[0].mu.Lock()
			last := f.wallet.relays[0].reqs[len(f.wallet.relays[0].reqs)-2]
			f.wallet.relays[0].mu.Unlock()
			if want := f.clock.Now().Unix() - 60; last.Since != want {
				t.Errorf("since %d, want %d", last.Since, want)
			}
			cancel()
			if err := <-done; err != nil || f.Subscribed() {
				t.Errorf("Run() = %v, subscribed %t", err, f.Subscribed())
			}
		})
	}
}

func TestReceive_signals_a_repeated_notification_once(t *testing.T) {
	t.Parallel()
	f := newReady(t)
	f.Notified()
	e := f.wallet.event(kindNotification, map[string]any{"notification_type": "payment_received", "notification": map[string]any{"payment_hash": "AB"}}, nip44)
	f.receive(e)
	<-f.Wake()
	if hashes, all := f.Notified(); all || !slices.Equal(hashes, []string{"ab"}) {
		t.Errorf("notified %v %t, want ab", hashes, all)
	}
	f.receive(e)
	select {
	case <-f.Wake():
		t.Error("the repeated event is signalled")
	default:
	}
}

func TestClose_ends_the_sessions(t *testing.T) {
	t.Parallel()
	f := newReady(t)
	if _, err := f.Make(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := f.Make(t.Context(), ask); !errors.Is(err, errClosed) {
		t.Errorf("Make() after Close() = %v, want errClosed", err)
	}
}

// encoded returns a message of a relay.
func encoded(t *testing.T, parts ...any) []byte {
	t.Helper()
	text, err := json.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
