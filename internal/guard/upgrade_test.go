package guard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"chequer/internal/guard"
)

// A response that switches protocols keeps its connection, and net/http does not limit later reads
// by a context or a timeout.
func TestNoUpgrade_ends_a_response_that_switches_protocols(t *testing.T) {
	t.Parallel()
	testDone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		<-testDone
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(testDone) })
	client := http.Client{Transport: guard.NoUpgrade(http.DefaultTransport), Timeout: time.Minute}
	answer, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(answer.Body)
		read <- string(text)
	}()
	select {
	case text := <-read:
		if text != "" || answer.StatusCode != http.StatusSwitchingProtocols {
			t.Errorf("response %d with body %q, want 101 and no body", answer.StatusCode, text)
		}
	case <-time.After(30 * time.Second):
		t.Error("the body of the response does not end")
	}
}
