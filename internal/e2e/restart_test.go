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
	// shutdown is how long the program may take to end.
	shutdown = 5 * time.Second
	// takeover is how long the lead of a network that ended may still run, and
	// the next scan take.
	takeover = 15 * time.Second
)

// TestStoppedDemoStartsAgain ends the demo by its context, as Ctrl-C does, while
// a page listens, and starts it again on the same data.
func TestStoppedDemoStartsAgain(t *testing.T) {
	t.Parallel()
	c := settings(t)
	p := start(t, c, app.Options{Demo: true})
	kept := makePair(newShop(t, p.url, p.key))
	ended := kept.listen(p.url)
	asked := time.Now()
	p.stop()
	if took := time.Since(asked); took > shutdown {
		t.Errorf("an open stream held the shutdown up for %s", took)
	}
	<-ended

	again := start(t, c, app.Options{Demo: true})
	if again.url != p.url || again.key.Key != p.key.Key || again.key.Secret != p.key.Secret {
		t.Errorf("the demo has another address or key: %s %s, was %s %s", again.url, again.key.Key, p.url, p.key.Key)
	}
	kept.standAt(again.url, newShop(t, again.url, again.key))
}

// TestStopDoesNotWaitForSpareConnections stops the program while a browser holds
// a connection that it opened ahead of need, as Chromium does beside every page.
func TestStopDoesNotWaitForSpareConnections(t *testing.T) {
	t.Parallel()
	p := start(t, settings(t), app.Options{Demo: true})
	spare, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer spare.Close()
	read(t, p.url+"/", http.StatusOK) // by then the server has taken the spare one
	asked := time.Now()
	p.stop()
	if took := time.Since(asked); took > shutdown {
		t.Errorf("a connection without a request held the shutdown up for %s", took)
	}
}

// TestEndedProcessStartsAgain ends the real program in both ways.
func TestEndedProcessStartsAgain(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name string
		end  func(*process)
	}{
		{"interrupted", (*process).interrupt},
		{"killed", (*process).kill},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			listen := freePort(t)
			p := &process{t: t, url: "http://" + listen, environ: append(os.Environ(),
				"CHEQUER_LISTEN="+listen, "CHEQUER_DATA_DIR="+t.TempDir())}
			p.demo()
			kept := makePair(newShop(t, p.url, p.key))
			ended := kept.listen(p.url)
			asked := time.Now()
			way.end(p)
			if took := time.Since(asked); took > shutdown {
				t.Errorf("an open stream held the end up for %s", took)
			}
			<-ended

			key := p.key
			p.demo()
			if p.key.Key != key.Key || p.key.Secret != key.Secret {
				t.Errorf("the demo has another key: %s, was %s", p.key.Key, key.Key)
			}
			kept.standAt(p.url, newShop(t, p.url, p.key))
		})
	}
}

// pair is a paid invoice and an open one.
type pair struct {
	t          testing.TB
	paid, open string
	address    string // to pay the open one to
}

func makePair(s shop) pair {
	s.t.Helper()
	v := pair{t: s.t, paid: s.order(), open: s.order()}
	s.simulate(v.paid, api.SimulateExact, api.SimulateConfirm)
	s.status(v.paid, api.StatusPaid, patience)
	v.address = s.invoice(v.open).PaymentMethods[0].Address
	return v
}

// listen opens the event stream of the open invoice, and returns a channel that
// is closed when the stream ends.
func (v pair) listen(url string) (ended <-chan struct{}) {
	v.t.Helper()
	response, err := http.Get(url + "/invoice/" + v.open + "/live")
	if err != nil {
		v.t.Fatal(err)
	}
	stream := bufio.NewReader(response.Body)
	if line, err := stream.ReadString('\n'); err != nil || !strings.HasPrefix(line, "retry:") {
		v.t.Fatalf("the stream begins with %q: %v", line, err)
	}
	end := make(chan struct{})
	go func() {
		defer close(end)
		defer response.Body.Close()
		_, _ = stream.WriteTo(io.Discard)
	}()
	return end
}

// standAt fails when the restarted program lost something: the paid invoice's
// page says so, and the open one can still be paid at its address.
func (v pair) standAt(url string, s shop) {
	v.t.Helper()
	if got := read(v.t, url+"/invoice/"+v.paid, http.StatusOK).Find("#st").Text(); got != "Paid. Thank you." {
		v.t.Errorf("the page of the paid invoice says %q", got)
	}
	if got := s.invoice(v.open).PaymentMethods[0].Address; got != v.address {
		v.t.Errorf("the open invoice is paid to %s, was %s", got, v.address)
	}
	s.simulate(v.open, api.SimulateExact)
	s.status(v.open, api.StatusPending, takeover)
	s.simulate(v.open, api.SimulateConfirm)
	s.status(v.open, api.StatusPaid, patience)
}
