package nwc

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/bolt11"
	"chequer/internal/chain/lightning/lightningtest"
)

// recordedWallet is a connection and the events of its wallet by their situation. The nightly tests of package lndtest
// record them from the wallet service of @getalby/sdk 8.0.3.
type recordedWallet struct {
	Connection string
	Events     map[string]*event
}

func TestProvider_reads_the_recorded_events_of_wallets(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/wallets.json")
	if err != nil {
		t.Fatal(err)
	}
	var wallets map[string]recordedWallet
	if err := json.Unmarshal(text, &wallets); err != nil {
		t.Fatal(err)
	}
	for name, form := range map[string]encryption{"NIP-44": nip44, "NIP-04": nip04} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRecorded(t, wallets[name], form)
		})
	}
}

func checkRecorded(t *testing.T, w recordedWallet, form encryption) {
	t.Helper()
	p, err := New(lightningtest.Config(t, w.Connection, nil))
	if err != nil {
		t.Fatal(err)
	}
	for situation, e := range w.Events {
		if err := e.verify(); err != nil || e.Author != p.wallet {
			t.Errorf("%s: verify() = %v, author %s, want %s", situation, err, e.Author, p.wallet)
		}
	}
	p.receive(w.Events["info"])
	if got := p.encryption(); got != form || joined(p.infoMethods()) != "get_info make_invoice lookup_invoice" {
		t.Errorf("info event: encryption %s, methods %q, want %s", got, p.infoMethods(), form)
	}
	var info struct{ Methods []string }
	read := func(situation, method string, result any) {
		t.Helper()
		if err := p.read(w.Events[situation], method, result); err != nil {
			t.Errorf("%s: %v", situation, err)
		}
	}
	var made, open, settled transaction
	read("methods", "get_info", &info)
	read("made", "make_invoice", &made)
	read("open", "lookup_invoice", &open)
	read("settled", "lookup_invoice", &settled)
	r, err := bolt11.Parse(made.Invoice)
	if err != nil || r.MilliSatoshi != 21_000 || r.Expiry != 20*time.Minute || joined(info.Methods) != joined(p.infoMethods()) {
		t.Errorf("made %+v, %v, methods %q, want a request of 21,000 msat for 20 minutes", r, err, info.Methods)
	}
	for situation, want := range map[string]lightning.Status{"open": {}, "settled": {Settled: true, SettledAt: time.Unix(int64(settled.SettledAt), 0).UTC()}} {
		x := map[string]transaction{"open": open, "settled": settled}[situation]
		if got, err := x.status(made.PaymentHash); err != nil || got != want || x.PaymentHash != made.PaymentHash {
			t.Errorf("%s: status() of %s = %+v, %v, want %+v", situation, x.PaymentHash, got, err, want)
		}
	}
	if err := p.read(w.Events["unknown"], "lookup_invoice", &transaction{}); !errors.Is(err, lightning.ErrUnknown) {
		t.Errorf("unknown: %v, want ErrUnknown", err)
	}
	for _, situation := range []string{"notification of NIP-04", "notification"} {
		if e := w.Events[situation]; e != nil {
			p.receive(e)
			select {
			case <-p.Wake():
			default:
				t.Errorf("%s: no signal", situation)
			}
		}
	}
}
