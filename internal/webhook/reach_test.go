package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"chequer/internal/clocktest"
	"chequer/internal/guard"
	"chequer/internal/merchant"
	"chequer/internal/storage/storagetest"
)

// resolver returns the next answer at each look-up, and repeats the last answer.
type resolver struct {
	answers []string
	lookUps atomic.Int64
}

func (r *resolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	i := min(int(r.lookUps.Add(1)), len(r.answers)) - 1
	return []netip.Addr{netip.MustParseAddr(r.answers[i])}, nil
}

// The receiver has a certificate for example.com of a test authority.
func TestWorker_checks_certificates(t *testing.T) {
	t.Parallel()
	r := &receiver{t: t, wake: make(chan struct{}, 1)}
	s := httptest.NewTLSServer(r)
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	known := x509.NewCertPool()
	known.AddCert(s.Certificate())
	for name, test := range map[string]struct {
		host  string
		trust *x509.CertPool
		state merchant.DeliveryState
		fault string
	}{
		"right name":        {"example.com", known, merchant.DeliveryDone, ""},
		"wrong name":        {"shop.example", known, merchant.DeliveryPending, "tls: failed to verify certificate: x509: certificate is valid for example.com"},
		"unknown authority": {"example.com", x509.NewCertPool(), merchant.DeliveryPending, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
	} {
		f := newFixture(t, storagetest.File(t), clocktest.New(noon))
		f.connect(&guard.Dialer{Policy: allowLoopback, Resolver: &resolver{answers: []string{"127.0.0.1"}}}, &tls.Config{RootCAs: test.trust})
		e := f.endpoint("https://" + test.host + ":" + port + "/")
		f.createInvoice("a")
		f.send()
		d, _ := f.delivery(e, "evt_a_1")
		if d.State != test.state || !strings.HasPrefix(d.LastFault, test.fault) || test.fault == "" && d.LastFault != "" {
			t.Errorf("%s: got %+v, want %s, %q", name, d, test.state, test.fault)
		}
	}
}

// The name resolves first to the shop and then to an address in the operator's network.
func TestWorker_checks_the_address_at_every_attempt(t *testing.T) {
	t.Parallel()
	inside := newReceiver(t)
	_, port, _ := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(inside.url, "http://"), "/hook?token=hush"))
	f := newFixture(t, storagetest.File(t), clocktest.New(noon))
	names := &resolver{answers: []string{"127.8.8.8", "127.0.0.1"}}
	policy := guard.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.8.0.0/16")}}
	f.connect(&guard.Dialer{Policy: policy, Resolver: names}, nil)
	e := f.endpoint("http://shop.example:" + port + "/")
	f.createInvoice("a")
	f.send()
	f.run(1)
	f.run(5)
	d, attempts := f.delivery(e, "evt_a_1")
	if len(attempts) != 3 || !strings.Contains(attempts[0].Fault, "refused") || d.LastFault != "the address leads into the network of this server; the operator can allow it with CHEQUER_CALLBACK_ALLOW" {
		t.Errorf("got %+v, want the first attempt refused by the port and the others by the policy", attempts)
	}
	if got := inside.ids(); got != nil {
		t.Errorf("got %q at the server inside", got)
	}
	if n := names.lookUps.Load(); n != 3 {
		t.Errorf("the name was looked up %d times in 3 attempts", n)
	}
}
