package lndtest_test

import (
	"context"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
)

// testSignals receives notifications of real providers.
func testSignals(t *testing.T, l lab) {
	for _, name := range []string{"lnd", "nwc", "nwc_NIP-04", "nwc_silent"} {
		t.Run(name, func(t *testing.T) {
			r := kinds[name].prepare(t, l)(t)
			waker := r.Provider.(lightning.Waker)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- waker.Run(ctx) }()
			s := openShop(r, 0)
			request := s.ask(t)
			waitFor(t, "a subscription", func() bool {
				if name == "lnd" && !waker.Subscribed() {
					s.ask(t) // lnd begins its answer with the first change
				}
				return waker.Subscribed()
			})
			receive(t, waker, "the start of the stream")
			l.Payer.Pay(t, request.Text)
			if name != "nwc_silent" {
				receive(t, waker, "the payment")
			}
			s.pending = map[string]chain.PendingRequest{request.Hash: request}
			s.check(t, request)
			if name == "nwc_silent" && len(waker.Wake()) > 0 {
				t.Error("there is a signal without a notification")
			}
			cancel()
			if err := <-done; err != nil || waker.Subscribed() {
				t.Errorf("Run() = %v, subscribed %t, want none", err, waker.Subscribed())
			}
		})
	}
}

// receive receives a signal.
func receive(t *testing.T, w lightning.Waker, of string) {
	t.Helper()
	select {
	case <-w.Wake():
	case <-time.After(2 * time.Minute):
		t.Fatalf("no signal of %s", of)
	}
}
