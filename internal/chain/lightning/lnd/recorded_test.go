package lnd_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
)

// replay answers each call with the recorded answer of a situation.
func (f *fixture) replay(situation string) {
	f.node.Set(func() {
		f.node.Replace = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/v1/state" {
				return false
			}
			lightningtest.RecordedLND(situation).Write(w)
			return true
		}
		if situation == "locked" {
			f.node.State = "LOCKED"
		}
	})
}

func TestLook_reads_the_recorded_answers_of_lnd(t *testing.T) {
	t.Parallel()
	for situation, test := range map[string]struct {
		settled bool
		is      error
		want    string
	}{
		"open": {}, "cancelled": {}, "held": {}, "held and cancelled": {}, "settled": {settled: true},
		"unknown":       {is: lightning.ErrUnknown, want: "unable to locate invoice"},
		"locked":        {is: lightning.ErrLocked, want: "lnd is locked"},
		"revoked":       {is: lightning.ErrRevoked, want: "the macaroon was revoked or is of another node"},
		"another node":  {is: lightning.ErrRevoked, want: "the macaroon was revoked or is of another node"},
		"no permission": {is: lightning.ErrRevoked, want: "the macaroon was revoked or is of another node"},
		"cut macaroon":  {is: lightning.ErrRevoked, want: "the macaroon is not complete"},
	} {
		t.Run(situation, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, noon, lightningtest.InvoiceMacaroon)
			f.replay(situation)
			var body struct {
				Hash []byte           `json:"r_hash"`
				Date lightning.Number `json:"settle_date"`
			}
			if err := json.Unmarshal(lightningtest.RecordedLND(situation).Body, &body); err != nil {
				t.Fatal(err)
			}
			want := lightning.Status{}
			if test.settled {
				want = lightning.Status{Settled: true, MilliSatoshi: 21_000, SettledAt: time.Unix(int64(body.Date), 0).UTC()}
			}
			status, err := f.Look(t.Context(), lightning.Sought{Hash: hex.EncodeToString(body.Hash)})
			if diff := cmp.Diff(status, want); diff != "" || !errors.Is(err, test.is) || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Look() = %v, want %q; status differs (-got +want):\n%s", err, test.want, diff)
			}
		})
	}
}

func TestCancel_reads_the_recorded_answers_of_lnd(t *testing.T) {
	t.Parallel()
	for situation, test := range map[string]struct {
		is   error
		want string
	}{
		"cancel":         {},
		"cancel unknown": {lightning.ErrUnknown, "unable to locate invoice"},
		"cancel settled": {nil, "lnd answers: invoice already settled"},
	} {
		f := newFixture(t, noon, lightningtest.InvoiceMacaroon)
		f.replay(situation)
		err := f.Cancel(t.Context(), strings.Repeat("ab", 32))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: Cancel() = %v, want %q", situation, err, test.want)
		}
	}
}

func TestMake_reads_the_recorded_answer_of_lnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, lightningtest.InvoiceMacaroon)
	f.replay("made")
	made, err := f.Make(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := lightning.Check(made, ask, "bcrt", time.Time{}); err != nil || r.Description != "Shoes" || r.Expiry != ask.Expiry {
		t.Errorf("Check(%+v) = %+v, %v, want a request for %+v", made, r, err, ask)
	}
}
