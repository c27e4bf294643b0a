package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"chequer/internal/api"
)

// gate is a proxy in front of a node that can be closed.
type gate struct {
	*httptest.Server
	shut atomic.Bool
}

func newGate(t *testing.T, rpc string) *gate {
	t.Helper()
	to, err := url.Parse(rpc)
	if err != nil {
		t.Fatal(err)
	}
	d, proxy := &gate{}, httputil.NewSingleHostReverseProxy(to)
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.shut.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

// TestOpen_page_of_tokens_and_ether pays with a token and with the network's own coin while the page is
// open in a browser, one endpoint returns false data and one is down. While two of the three
// working endpoints are closed, the program must not change the invoice until one answers again.
func TestOpen_page_of_tokens_and_ether(t *testing.T) {
	t.Parallel()
	var gates []*gate
	s := openTokenShop(t,
		func(*tokenShop) string { return "CHEQUER_EVM_ADDRESS_QUERIES=on" },
		func(s *tokenShop) string {
			gates = []*gate{newGate(t, s.base.RPC), newGate(t, s.base.RPC)}
			return "CHEQUER_BASE_RPC=one=" + gates[0].URL + ",two=" + gates[1].URL + ",false=" + falseBalances(t, s.base.RPC) + ",dead=http://" + freePort(t)
		})
	n := s.base
	b := open(t, screens[0])
	for _, tt := range []struct {
		name string
		make func() (id string, pay func() (tx string))
	}{
		{"token", func() (string, func() string) {
			id, due := s.euros()
			return id, func() string { return n.Send(t, due) }
		}},
		{"own_coin", func() (string, func() string) {
			id, to, wei := s.ether()
			return id, func() string { return n.TransactWith(t, wei, to, "") }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id, pay := tt.make()
			b.visit(s.url + "/invoice/" + id)
			b.waitFor("#st", "Waiting for your payment", nil)
			b.mark()
			b.picture(screens[0], "real_base_"+tt.name+"_waiting")
			n.Mine(t, pay())
			b.waitFor("#st", "Payment seen", nil)
			b.picture(screens[0], "real_base_"+tt.name+"_seen")
			mine(t, n, 30)
			b.waitFor("#st", "Paid. Thank you.", nil)
			b.picture(screens[0], "real_base_"+tt.name+"_paid")
			b.checkNotReloaded()
			b.checkConsole()
		})
	}
	t.Run("without_a_second_endpoint_to_agree", func(t *testing.T) {
		id, due := s.euros()
		b.visit(s.url + "/invoice/" + id)
		b.waitFor("#st", "Waiting for your payment", nil)
		b.mark()
		gates[0].shut.Store(true)
		gates[1].shut.Store(true)
		before := s.tip("base")
		n.Mine(t, n.Send(t, due))
		mine(t, n, 40)
		until(t, waitTimeout, "the program reports that too few endpoints answer", func() bool {
			return s.network("base").Fault != ""
		})
		if got := s.invoice(id).Status; got != api.StatusCreated || s.tip("base") > before+1 {
			t.Errorf("the invoice is %s at block %d after %d, although no two endpoints agree", got, s.tip("base"), before)
		}
		gates[1].shut.Store(false)
		gates[0].shut.Store(false)
		b.waitFor("#st", "Paid. Thank you.", nil)
		b.checkNotReloaded()
		b.checkConsole()
	})
}
