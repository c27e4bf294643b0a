package e2e_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/app"
)

const (
	// shutdownTimeout is the longest time in which the program must stop.
	shutdownTimeout = 5 * time.Second
	// takeoverTimeout bounds the time until the lease of a stopped process has expired and another
	// process has scanned the network.
	takeoverTimeout = 15 * time.Second
)

// TestStopped_demo_starts_again stops the demo by its context, as Ctrl-C does, while a stream is open,
// and starts it again on the same data.
func TestStopped_demo_starts_again(t *testing.T) {
	t.Parallel()
	c := settings(t)
	p := start(t, c, app.Options{Demo: true})
	invoices := newInvoicePair(newShop(t, p.url, p.key))
	streamEnded := invoices.openStream(p.url)
	stopRequested := time.Now()
	p.stop()
	if elapsed := time.Since(stopRequested); elapsed > shutdownTimeout {
		t.Errorf("with an open stream the shutdown took %s", elapsed)
	}
	<-streamEnded

	restarted := start(t, c, app.Options{Demo: true})
	if restarted.url != p.url || restarted.key.Key != p.key.Key || restarted.key.Secret != p.key.Secret {
		t.Errorf("the demo has another address or key: %s %s, was %s %s", restarted.url, restarted.key.Key, p.url, p.key.Key)
	}
	invoices.checkAt(restarted.url, newShop(t, restarted.url, restarted.key))
}

// TestStop_does_not_wait_for_spare_connections stops the program while a client has a connection without
// a request, as Chromium opens beside every page.
func TestStop_does_not_wait_for_spare_connections(t *testing.T) {
	t.Parallel()
	p := start(t, settings(t), app.Options{Demo: true})
	spare, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer spare.Close()
	readPage(t, p.url+"/", http.StatusOK) // afterwards the server has accepted the spare connection
	stopRequested := time.Now()
	p.stop()
	if elapsed := time.Since(stopRequested); elapsed > shutdownTimeout {
		t.Errorf("with a connection without a request the shutdown took %s", elapsed)
	}
}

// TestEnded_process_starts_again stops the program's process by a signal and by a kill.
func TestEnded_process_starts_again(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(*process)
	}{
		{"interrupted", (*process).interrupt},
		{"killed", (*process).kill},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			listen := freeAddress(t)
			p := &process{t: t, url: "http://" + listen, environ: append(os.Environ(),
				"CHEQUER_LISTEN="+listen, "CHEQUER_DATA_DIR="+t.TempDir())}
			p.demo()
			invoices := newInvoicePair(newShop(t, p.url, p.key))
			streamEnded := invoices.openStream(p.url)
			stopRequested := time.Now()
			tt.end(p)
			if elapsed := time.Since(stopRequested); elapsed > shutdownTimeout {
				t.Errorf("with an open stream the stop took %s", elapsed)
			}
			<-streamEnded

			key := p.key
			p.demo()
			if p.key.Key != key.Key || p.key.Secret != key.Secret {
				t.Errorf("the demo has another key: %s, was %s", p.key.Key, key.Key)
			}
			invoices.checkAt(p.url, newShop(t, p.url, p.key))
		})
	}
}

// invoicePair is a paid invoice and an open invoice.
type invoicePair struct {
	t          testing.TB
	paid, open string
	address    string // the open invoice's address
}

// newInvoicePair creates a paid and an open invoice.
func newInvoicePair(s shop) invoicePair {
	s.t.Helper()
	pair := invoicePair{t: s.t, paid: s.createInvoice(), open: s.createInvoice()}
	s.simulate(pair.paid, api.SimulateExact, api.SimulateConfirm)
	s.waitStatus(pair.paid, api.StatusPaid, waitTimeout)
	pair.address = s.invoice(pair.open).PaymentMethods[0].Address
	return pair
}

// openStream opens the event stream of the open invoice, and returns a channel that is closed when the
// stream ends.
func (p invoicePair) openStream(url string) (streamEnded <-chan struct{}) {
	p.t.Helper()
	response, err := http.Get(url + "/invoice/" + p.open + "/live")
	if err != nil {
		p.t.Fatal(err)
	}
	stream := bufio.NewReader(response.Body)
	if line, err := stream.ReadString('\n'); err != nil || !strings.HasPrefix(line, "retry:") {
		p.t.Fatalf("the stream begins with %q: %v", line, err)
	}
	end := make(chan struct{})
	go func() {
		defer close(end)
		defer response.Body.Close()
		_, _ = stream.WriteTo(io.Discard)
	}()
	return end
}

// checkAt fails if the restarted program lost data: the paid invoice must be paid, and the open invoice
// payable at its address.
func (p invoicePair) checkAt(url string, s shop) {
	p.t.Helper()
	if got := readPage(p.t, url+"/invoice/"+p.paid, http.StatusOK).Find("#st").Text(); got != "Paid. Thank you." {
		p.t.Errorf("the page of the paid invoice shows %q", got)
	}
	if got := s.invoice(p.open).PaymentMethods[0].Address; got != p.address {
		p.t.Errorf("the open invoice's address is %s, was %s", got, p.address)
	}
	s.simulate(p.open, api.SimulateExact)
	s.waitStatus(p.open, api.StatusPending, takeoverTimeout)
	s.simulate(p.open, api.SimulateConfirm)
	s.waitStatus(p.open, api.StatusPaid, waitTimeout)
}
