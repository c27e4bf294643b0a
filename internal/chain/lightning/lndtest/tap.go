package lndtest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/coder/websocket"
)

// Event is an event of NIP-01 as a relay sends it.
type Event struct {
	Kind int
	Tags [][]string
	Text json.RawMessage
}

// Tap collects the events of a wallet at a relay.
type Tap struct {
	mu     sync.Mutex
	events []Event
}

// StartTap starts a Tap for a wallet with a public key in hexadecimal digits.
func StartTap(t *testing.T, relay, wallet string) *Tap {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), relay, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	text, err := json.Marshal([]any{"REQ", "tap", map[string]any{"authors": []string{wallet}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(t.Context(), websocket.MessageText, text); err != nil {
		t.Fatal(err)
	}
	tap := &Tap{}
	go tap.read(t.Context(), conn)
	return tap
}

// read reads the messages of the relay until the connection ends.
func (tap *Tap) read(ctx context.Context, conn *websocket.Conn) {
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var parts []json.RawMessage
		var event Event
		if json.Unmarshal(message, &parts) != nil || len(parts) != 3 || json.Unmarshal(parts[2], &event) != nil || event.Kind == 0 {
			continue
		}
		event.Text = parts[2]
		tap.mu.Lock()
		tap.events = append(tap.events, event)
		tap.mu.Unlock()
	}
}

// Kind returns the events of a kind until now, in the order in which they came.
func (tap *Tap) Kind(kind int) []Event {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(tap.events), func(e Event) bool { return e.Kind != kind })
}
