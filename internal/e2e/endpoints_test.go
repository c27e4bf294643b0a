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

// closableProxy is a proxy in front of a node that can be closed.
type closableProxy struct {
	*httptest.Server
	closed atomic.Bool
}

func newClosableProxy(t *testing.T, rpc string) *closableProxy {
	t.Helper()
	to, err := url.Parse(rpc)
	if err != nil {
		t.Fatal(err)
	}
	p, proxy := &closableProxy{}, httputil.NewSingleHostReverseProxy(to)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.closed.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// TestPayment_page_follows_tokens_and_ether pays with a token and with the network's native coin while the page is
// open in a browser, one endpoint returns false data and one is down. While two of the three
// working endpoints are closed, the program must not change the invoice until one answers again.
func TestPayment_page_follows_tokens_and_ether(t *testing.T) {
	t.Parallel()
	var proxies []*closableProxy
	shop := openTokenShop(t,
		func(*tokenShop) string { return "CHEQUER_EVM_ADDRESS_QUERIES=on" },
		func(s *tokenShop) string {
			proxies = []*closableProxy{newClosableProxy(t, s.base.RPC), newClosableProxy(t, s.base.RPC)}
			return "CHEQUER_BASE_RPC=one=" + proxies[0].URL + ",two=" + proxies[1].URL + ",false=" + falseBalances(t, s.base.RPC) + ",dead=http://" + freeAddress(t)
		})
	node := shop.base
	tab := open(t, phoneScreen)
	for _, tt := range []struct {
		name   string
		create func() (id string, pay func() (tx string))
	}{
		{"token", func() (string, func() string) {
			id, due := shop.createEuroInvoice()
			return id, func() string { return node.Send(t, due) }
		}},
		{"own_coin", func() (string, func() string) {
			id, to, wei := shop.createEtherInvoice()
			return id, func() string { return node.TransactWith(t, wei, to, "") }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id, pay := tt.create()
			tab.visit(shop.url + "/invoice/" + id)
			tab.waitFor("#st", "Waiting for your payment", nil)
			tab.markPage()
			tab.picture(phoneScreen, "real_base_"+tt.name+"_waiting")
			node.Mine(t, pay())
			tab.waitFor("#st", "Payment seen", nil)
			tab.picture(phoneScreen, "real_base_"+tt.name+"_seen")
			mine(t, node, 30)
			tab.waitFor("#st", "Paid. Thank you.", nil)
			tab.picture(phoneScreen, "real_base_"+tt.name+"_paid")
			tab.checkNotReloaded()
			tab.checkConsole()
		})
	}
	t.Run("without_a_second_endpoint_to_agree", func(t *testing.T) {
		id, due := shop.createEuroInvoice()
		tab.visit(shop.url + "/invoice/" + id)
		tab.waitFor("#st", "Waiting for your payment", nil)
		tab.markPage()
		proxies[0].closed.Store(true)
		proxies[1].closed.Store(true)
		before := shop.scannedHeight("base")
		node.Mine(t, node.Send(t, due))
		mine(t, node, 40)
		until(t, waitTimeout, "the program reports that too few endpoints answer", func() bool {
			return shop.networkHealth("base").Fault != ""
		})
		if got := shop.invoice(id).Status; got != api.StatusCreated || shop.scannedHeight("base") > before+1 {
			t.Errorf("the invoice is %s at block %d after %d, although no two endpoints agree", got, shop.scannedHeight("base"), before)
		}
		proxies[1].closed.Store(false)
		proxies[0].closed.Store(false)
		tab.waitFor("#st", "Paid. Thank you.", nil)
		tab.checkNotReloaded()
		tab.checkConsole()
	})
}
