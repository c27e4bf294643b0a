package lndtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lndtest"
)

const recordedWallets = "../nwc/testdata/wallets.json"

// recordedWallet is a connection of NWC and the events of its wallet by their situation.
type recordedWallet struct {
	Connection string
	Events     map[string]json.RawMessage
}

// testWalletRecords compares the events that package nwc is tested with to those of a real wallet: their kinds and tags.
func testWalletRecords(t *testing.T, l lab) {
	got := map[string]recordedWallet{
		"NIP-44": l.walletEvents(t, lndtest.Service{Relay: l.relay}),
		"NIP-04": l.walletEvents(t, lndtest.Service{Relay: l.relay, LegacyEncryption: true}),
	}
	if *record {
		text, err := json.MarshalIndent(got, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(recordedWallets, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(recordedWallets)
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]recordedWallet
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(eventShapes(t, recorded), eventShapes(t, got)); diff != "" {
		t.Errorf("the recorded events differ from those of the wallet (-recorded +wallet); run the test with -record:\n%s", diff)
	}
}

// eventShape has the parts of an event that are the same in each recording.
type eventShape struct {
	Kind int
	Tags []string // names
}

func eventShapes(t *testing.T, wallets map[string]recordedWallet) map[string]eventShape {
	t.Helper()
	shapes := map[string]eventShape{}
	for name, w := range wallets {
		for situation, text := range w.Events {
			var e lndtest.Event
			if err := json.Unmarshal(text, &e); err != nil {
				t.Fatal(err)
			}
			shape := eventShape{Kind: e.Kind}
			for _, tag := range e.Tags {
				shape.Tags = append(shape.Tags, tag[0])
			}
			shapes[name+": "+situation] = shape
		}
	}
	return shapes
}

// walletEvents returns the events of a wallet in all situations in which package nwc calls it.
func (l lab) walletEvents(t *testing.T, s lndtest.Service) recordedWallet {
	t.Helper()
	w := lndtest.StartWallet(t, l.Shop, s)
	r := openWallet(t, l, w.Connection)
	awaitWallet(t, r)
	_, key, _ := strings.Cut(w.Connection, "://")
	key, _, _ = strings.Cut(key, "?")
	recorded := recordedWallet{strings.Replace(w.Connection, l.relay, "wss://example.com/0", 1), map[string]json.RawMessage{}}
	tap := lndtest.StartTap(t, l.relay, key)
	// keep waits for an event of a kind that act causes, and names it. It repeats act, because the relay may answer the
	// subscription of the tap before it passes events on.
	keep := func(situation string, kind int, act func() error) {
		t.Helper()
		waitFor(t, situation, func() bool {
			before := len(tap.Kind(kind))
			if err := act(); err != nil {
				t.Fatalf("%s: %v", situation, err)
			}
			for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				if found := tap.Kind(kind); len(found) > before {
					recorded.Events[situation] = found[len(found)-1].Text
					return true
				}
			}
			return false
		})
	}
	waitFor(t, "the info event", func() bool { return len(tap.Kind(13194)) > 0 })
	recorded.Events["info"] = tap.Kind(13194)[0].Text
	keep("methods", 23195, func() error {
		_, err := r.Access(t.Context())
		return err
	})
	var made lightning.Made
	keep("made", 23195, func() (err error) {
		made, err = r.Make(t.Context(), lightning.Ask{MilliSatoshi: 21_000, Memo: "Shoes", Expiry: 20 * time.Minute})
		return err
	})
	sought := lightning.Sought{Hash: made.Hash}
	look := func() error {
		_, err := r.Look(t.Context(), sought)
		return err
	}
	keep("open", 23195, look)
	l.Payer.Pay(t, made.Text)
	keep("settled", 23195, look)
	waitFor(t, "a notification", func() bool { return len(tap.Kind(23196)) > 0 })
	recorded.Events["notification of NIP-04"] = tap.Kind(23196)[0].Text
	if !s.LegacyEncryption {
		waitFor(t, "a notification of NIP-44", func() bool { return len(tap.Kind(23197)) > 0 })
		recorded.Events["notification"] = tap.Kind(23197)[0].Text
	}
	sought.Hash = lightning.UnusedHash
	keep("unknown", 23195, func() error {
		if err := look(); !errors.Is(err, lightning.ErrUnknown) {
			return fmt.Errorf("look up an unknown request: %w, want ErrUnknown", err)
		}
		return nil
	})
	return recorded
}
