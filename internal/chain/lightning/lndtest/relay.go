package lndtest

import (
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"chequer/internal/programtest"
)

// Relay is a relay of Nostr, which keeps its events in memory.
type Relay struct {
	URL string

	process *programtest.Process
}

// StartRelay starts a Relay.
func StartRelay(t *testing.T) *Relay {
	t.Helper()
	r := &Relay{URL: "ws://" + programtest.FreeAddress(t, "127.0.0.1")}
	t.Cleanup(r.Stop)
	r.Start(t)
	return r
}

// Start starts a stopped relay at its address, without the events from before.
func (r *Relay) Start(t *testing.T) {
	t.Helper()
	address := strings.TrimPrefix(r.URL, "ws://")
	var err error
	if r.process, err = programtest.Start(exec.Command(programtest.FetchedPath("nostr-relay"), address)); err != nil {
		t.Fatalf("start relay: %v", err)
	}
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the relay does not answer: %v", err)
		}
	}
}

// Stop ends the relay.
func (r *Relay) Stop() {
	if r.process != nil {
		r.process.Kill()
		r.process = nil
	}
}
