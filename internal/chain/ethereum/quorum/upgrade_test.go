package quorum_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"chequer/internal/chain/ethereum/quorum"
)

// An endpoint that answers 101 keeps the connection, and net/http then ignores the context of
// the request.
func TestScan_ends_if_an_endpoint_switches_protocols(t *testing.T) {
	t.Parallel()
	testDone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"))
		<-testDone
	}))
	t.Cleanup(func() { close(testDone); server.Close() })
	fake := newFakeChain(19)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	fake.mineBlock()
	s := openShop(t, fake, append(endpoints(newNode(t, fake), newNode(t, fake)), quorum.Endpoint{URL: server.URL, Operator: "Z"}))
	scanned := make(chan error, 1)
	go func() { _, err := s.scan(); scanned <- err }()
	select {
	case err := <-scanned:
		if err != nil {
			t.Errorf("scan fails with one faulty endpoint: %v", err)
		}
	case <-time.After(60 * time.Second):
		t.Error("scan has not ended after a minute")
	}
}
