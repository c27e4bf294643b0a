package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/guard"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/storage/storagetest"
)

// pipes is a network within the process, for use in a synctest bubble. Each host is a function that
// serves connections.
type pipes struct {
	mu    sync.Mutex
	hosts map[string]func(net.Conn)
}

func (p *pipes) Dial(_ context.Context, _ guard.Target, hostport string) (net.Conn, error) {
	p.mu.Lock()
	serve := p.hosts[hostport]
	p.mu.Unlock()
	if serve == nil {
		return nil, errors.New("connection refused")
	}
	local, remote := net.Pipe()
	go serve(remote)
	return local, nil
}

// readForever reads everything and never answers.
func readForever(conn net.Conn) {
	buffer := make([]byte, 1<<16)
	for {
		if _, err := conn.Read(buffer); err != nil {
			conn.Close()
			return
		}
	}
}

// readRequest waits for the beginning of a request, and reads the rest of it.
func readRequest(conn net.Conn) {
	if _, err := conn.Read(make([]byte, 1<<16)); err == nil {
		go readForever(conn)
	}
}

// sendSlowHeader sends one byte of a header every five seconds.
func sendSlowHeader(conn net.Conn) {
	readRequest(conn)
	for _, b := range []byte("HTTP/1.1 200 OK\r\nX-Slow: 1\r\n\r\n") {
		if _, err := conn.Write([]byte{b}); err != nil {
			return
		}
		time.Sleep(5 * time.Second)
	}
}

// sendEndlessBody answers 200 with a body that does not end.
func sendEndlessBody(conn net.Conn) {
	readRequest(conn)
	text := "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
	for {
		if _, err := conn.Write([]byte(text)); err != nil {
			return
		}
		text = "."
		time.Sleep(time.Second)
	}
}

// serveWith returns a function that serves connections with a handler.
func serveWith(h http.Handler) func(net.Conn) {
	return func(conn net.Conn) {
		l := &singleListener{conn: conn, closed: make(chan struct{})}
		s := &http.Server{Handler: h, ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				l.Close()
			}
		}}
		_ = s.Serve(l)
	}
}

// singleListener is a listener with one connection.
type singleListener struct {
	conn   net.Conn
	closed chan struct{}
	close  sync.Once
}

func (l *singleListener) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *singleListener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

func (l *singleListener) Addr() net.Addr { return &net.TCPAddr{} }

// inBubble runs a test in a synctest bubble, on SQLite and a network of pipes.
func inBubble(t *testing.T, test func(t *testing.T, f *fixture, p *pipes)) {
	t.Helper()
	database := storagetest.File(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, database, bubble{})
		p := &pipes{hosts: map[string]func(net.Conn){}}
		f.connect(p, nil)
		test(t, f, p)
		time.Sleep(time.Minute) // until every connection is closed
	})
}

func TestWorker_bounds_an_attempt_to_ten_seconds(t *testing.T) {
	for name, test := range map[string]struct {
		serve func(net.Conn)
		state merchant.DeliveryState
		fault string
	}{
		"for an answer":            {readForever, merchant.DeliveryPending, "no answer within 10 seconds"},
		"for headers":              {sendSlowHeader, merchant.DeliveryPending, "no answer within 10 seconds"},
		"for the end of an answer": {sendEndlessBody, merchant.DeliveryDone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *fixture, p *pipes) {
				p.hosts["127.0.0.1:1"] = test.serve
				e := f.endpoint("http://127.0.0.1:1/")
				f.createInvoice("a")
				if err := f.worker.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
				f.worker.Wait()
				d, attempts := f.delivery(e, "evt_a_1")
				if d.State != test.state || d.LastFault != test.fault || len(attempts) != 1 || attempts[0].Duration != 10*time.Second {
					t.Errorf("got %+v, %+v, want %s, %q after 10 s", d, attempts, test.state, test.fault)
				}
			})
		})
	}
}

// 60 endpoints never answer, ten refuse connections, and one is healthy. In the first round the worker
// has no earlier results of them, in the second round it has.
func TestWorker_is_not_delayed_by_failing_endpoints(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *pipes) {
		for i := range 70 {
			host := fmt.Sprintf("127.0.1.%d:1", i)
			if i < 60 {
				p.hosts[host] = readForever
			}
			f.endpoint("http://" + host + "/")
		}
		healthy := &receiver{t: t, wake: make(chan struct{}, 1)}
		p.hosts["127.0.0.1:1"] = serveWith(healthy)
		f.endpoint("http://127.0.0.1:1/", "invoice.paid", "invoice.reverted")
		for i := range 20 {
			f.createInvoice(fmt.Sprint("i", i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.worker.Run(ctx) }()
		for round, event := range []invoice.EventType{invoice.EventPaid, invoice.EventReverted} {
			for i := range 20 {
				f.addEvents(fmt.Sprint("i", i), event)
			}
			start := time.Now()
			healthy.await(ctx, (round+1)*20)
			if elapsed := time.Since(start); elapsed > time.Second {
				t.Errorf("round %d: the healthy endpoint got its events after %s", round, elapsed)
			}
			time.Sleep(15 * time.Second)
		}
		start := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if elapsed := time.Since(start); elapsed > 3*time.Second {
			t.Errorf("Run ended after %s, want at most 3s", elapsed)
		}
	})
}

// A busy endpoint gets no attempts before the time of its Retry-After.
func TestWorker_observes_Retry_After(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *pipes) {
		busy := &receiver{t: t, wake: make(chan struct{}, 1)}
		busy.reply = func(w http.ResponseWriter, _ received) {
			w.Header().Set("Retry-After", "300")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		p.hosts["127.0.0.1:1"] = serveWith(busy)
		f.endpoint("http://127.0.0.1:1/")
		f.createInvoice("a")
		f.send()
		f.createInvoice("b")
		f.clock.Advance(299 * time.Second)
		f.send()
		if got := busy.ids(); len(got) != 1 {
			t.Errorf("before that time: got %q", got)
		}
		busy.answer(http.StatusOK)
		f.clock.Advance(time.Second)
		f.send()
		if got := busy.ids(); len(got) != 3 {
			t.Errorf("after that time: got %q, want both events", got)
		}
	})
}
