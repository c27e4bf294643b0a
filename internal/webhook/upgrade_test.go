package webhook_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"chequer/internal/clocktest"
	"chequer/internal/merchant"
	"chequer/internal/storage/storagetest"
)

// switching answers with a switch of protocols and keeps the connection open: net/http does not
// close such a body when its context ends.
func switching(conn net.Conn) {
	if _, err := conn.Read(make([]byte, 1<<16)); err != nil {
		return
	}
	_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"))
	readForever(conn)
}

// listenSwitching starts a receiver on a real port that serves its connections with switching. requested receives an
// element for each connection.
func listenSwitching(t *testing.T) (url string, requested <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	calls := make(chan struct{}, 10)
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			calls <- struct{}{}
			go switching(c)
			go func() { <-done; c.Close() }()
		}
	}()
	return "http://" + l.Addr().String() + "/", calls
}

func TestWorker_ends_an_attempt_that_switches_protocols(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storagetest.File(t), clocktest.New(noon))
	url, _ := listenSwitching(t)
	e := f.endpoint(url)
	f.createInvoice("a")
	if err := f.worker.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { f.worker.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(13 * time.Second):
		t.Fatal("the attempt has not ended after 13 s, want at most 10 s")
	}
	d, attempts := f.delivery(e, "evt_a_1")
	if d.State != merchant.DeliveryPending || len(attempts) != 1 || attempts[0].Status != 101 || strings.Contains(attempts[0].Answer, "x") {
		t.Errorf("got %+v, %+v", d, attempts)
	}
}

func TestRun_ends_when_a_receiver_switches_protocols(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storagetest.File(t), clocktest.New(noon))
	url, requested := listenSwitching(t)
	f.endpoint(url)
	f.createInvoice("a")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.worker.Run(ctx) }()
	<-requested // the attempt is running
	cancel()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Error("Run has not returned 5 s after its context ended")
	}
}
