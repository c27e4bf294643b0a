package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/config"
	"chequer/internal/merchant"
	"chequer/internal/networks"
)

// storedConnections are connections in storage.
type storedConnections struct {
	mu  sync.Mutex
	all []merchant.Wallet
	err error
}

func (s *storedConnections) Connections(context.Context) ([]merchant.Wallet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all, s.err
}

// set replaces the connections, or lets reading them fail.
func (s *storedConnections) set(err error, all ...merchant.Wallet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.err = all, err
}

// newRegistry returns connections with their storage and log.
func newRegistry(t *testing.T) (*connections, *storedConnections, *bytes.Buffer) {
	t.Helper()
	c, err := config.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := &storedConnections{}
	return newConnections(c, s, time.Now, slog.New(slog.NewTextHandler(&log, nil))), s, &log
}

func TestConnections_are_those_in_storage(t *testing.T) {
	t.Parallel()
	c, stored, log := newRegistry(t)
	expect := func(when string, want ...chain.ID) {
		t.Helper()
		if diff := cmp.Diff(c.Networks(), append([]chain.ID{}, want...)); diff != "" {
			t.Errorf("%s (-got +want):\n%s", when, diff)
		}
	}
	update := func() {
		t.Helper()
		if err := c.update(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	expect("at first")
	one := merchant.Wallet{ID: "wlt_1", MerchantID: "m", Asset: chain.CodeLightning, Secret: "anna@pay.example"}
	two := merchant.Wallet{ID: "wlt_2", MerchantID: "n", Asset: chain.CodeLightning, Secret: "ben@pay.example"}
	broken := merchant.Wallet{ID: "wlt_3", MerchantID: "n", Asset: chain.CodeLightning, Secret: "hunter2"}
	stored.set(nil, two, broken, one)
	update()
	expect("three connections, of which one cannot be read", "lightning-wlt_1", "lightning-wlt_2")
	update()
	if n := strings.Count(log.String(), "connection left out"); n != 1 || !strings.Contains(log.String(), "wlt_3") || strings.Contains(log.String(), "hunter2") {
		t.Errorf("the log is %q, want the wallet once and no secret", log)
	}
	first, found := c.Requester("lightning-wlt_1")
	if !found || first.RequestNetwork() != "bc" || c.owner("lightning-wlt_1") != "m" || c.owner("bitcoin") != "" {
		t.Errorf("Requester() = %v, %t, owner %q", first, found, c.owner("lightning-wlt_1"))
	}
	if _, found := c.Requester("lightning-wlt_3"); found {
		t.Error("a connection that cannot be read has a network")
	}

	errDown := errors.New("the database is down")
	stored.set(errDown)
	if err := c.update(t.Context()); !errors.Is(err, errDown) {
		t.Errorf("update() = %v, want the error of the storage", err)
	}
	expect("a database that is down", "lightning-wlt_1", "lightning-wlt_2")
	stored.set(fmt.Errorf("wallet wlt_2: %w", merchant.ErrTampered), one)
	update()
	expect("a row that was tampered with", "lightning-wlt_1")
	two.ArchivedAt = time.Now().Add(-61 * 24 * time.Hour)
	stored.set(nil, one, two)
	update()
	expect("a former connection whose requests may still be paid", "lightning-wlt_1", "lightning-wlt_2")
	two.ArchivedAt = two.ArchivedAt.Add(-2 * 24 * time.Hour)
	stored.set(nil, one, two)
	update()
	expect("a former connection whose requests have ended", "lightning-wlt_1")
	if same, _ := c.Requester("lightning-wlt_1"); same != first {
		t.Error("a connection that did not change has another network")
	}
	if got := c.Asset(); got.Code != "BTC-LN" || got.Network != "" {
		t.Errorf("Asset() = %+v", got)
	}
}

// The clock of a bubble moves only while the test waits.
func TestFollow_watches_each_connection_until_it_is_removed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, stored, _ := newRegistry(t)
		ctx, stop := context.WithCancel(t.Context())
		events, done := make(chan string, 10), make(chan error, 1)
		go func() {
			done <- c.follow(ctx, func(ctx context.Context, n networks.Network) {
				events <- "began " + string(n.ID())
				<-ctx.Done()
				events <- "ended " + string(n.ID())
			})
		}()
		next := func(want ...string) {
			t.Helper()
			time.Sleep(connectionsInterval)
			synctest.Wait()
			var got []string
			for len(events) > 0 {
				got = append(got, <-events)
			}
			slices.Sort(got)
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		}
		next()
		stored.set(nil, merchant.Wallet{ID: "wlt_1", Secret: "anna@pay.example"})
		next("began lightning-wlt_1")
		stored.set(errors.New("the database is down"))
		next()
		stored.set(nil, merchant.Wallet{ID: "wlt_2", Secret: "ben@pay.example"})
		next("began lightning-wlt_2", "ended lightning-wlt_1")
		stop()
		next("ended lightning-wlt_2")
		if err := <-done; err != nil {
			t.Errorf("follow() = %v", err)
		}
	})
}

func TestWarnSpending_asks_until_the_provider_answers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spending string
		want     int
	}{"a connection that may spend": {"pay_invoice", 1}, "a connection that may only receive": {"", 0}} {
		synctest.Test(t, func(t *testing.T) {
			c, stored, log := newRegistry(t)
			stored.set(nil, merchant.Wallet{ID: "wlt_1", Secret: "anna@pay.example"})
			if err := c.update(t.Context()); err != nil {
				t.Fatal(err)
			}
			n, calls, begin := c.opened()[0], 0, time.Now()
			n.Access = func(context.Context) (lightning.Access, error) {
				if calls++; calls < 3 {
					return lightning.Access{}, lightning.ErrSilent
				}
				return lightning.Access{Spending: test.spending}, nil
			}
			warnSpending(t.Context(), n, c.log)
			warned := strings.Count(log.String(), "level=WARN msg=\"a connection may spend from the wallet: replace it by a receive-only connection\" network=lightning-wlt_1 permission=pay_invoice")
			if calls != 3 || time.Since(begin) != 2*accessInterval || warned != test.want {
				t.Errorf("%s: %d calls in %s, log %q", name, calls, time.Since(begin), log)
			}
		})
	}
}
