package lndtest_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
)

var record = flag.Bool("record", false, "write the answers of lnd to the test data of package lightningtest")

const recordedFile = "../lightningtest/testdata/lnd.json"

// testRecords compares the answers that package lnd is tested with to those of a real node: the names of the fields, and
// the texts of errors.
func testRecords(t *testing.T, l lab) {
	got := l.answers(t)
	if *record {
		text, err := json.MarshalIndent(got, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(recordedFile, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(recordedFile)
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]lightningtest.Answer
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shapes(t, recorded), shapes(t, got)); diff != "" {
		t.Errorf("the recorded answers differ from those of lnd (-recorded +lnd); run the test with -record:\n%s", diff)
	}
}

// shape has the parts of an answer that are the same at each call.
type shape struct {
	Status  int
	Fields  []string
	State   any
	Message any // of an error
}

func shapes(t *testing.T, answers map[string]lightningtest.Answer) map[string]shape {
	t.Helper()
	list := map[string]shape{}
	for name, a := range answers {
		var body map[string]any
		if err := json.Unmarshal(a.Body, &body); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list[name] = shape{a.Status, slices.Sorted(maps.Keys(body)), body["state"], body["message"]}
	}
	return list
}

// answers returns the answers of lnd in all situations in which package lnd calls it.
func (l lab) answers(t *testing.T) map[string]lightningtest.Answer {
	t.Helper()
	list := map[string]lightningtest.Answer{}
	admin := l.Shop.Macaroon(t, "admin")
	call := func(name, method, path, macaroon string, content any) lightningtest.Answer {
		status, body := l.Shop.Answer(t, method, path, macaroon, content)
		list[name] = lightningtest.Answer{Status: status, Body: body}
		return list[name]
	}
	look := func(name, hash string) { call(name, http.MethodGet, "/v1/invoice/"+hash, admin, nil) }
	cancel := func(name, hash string) {
		raw, err := hex.DecodeString(hash)
		if err != nil {
			t.Fatal(err)
		}
		call(name, http.MethodPost, "/v2/invoices/cancel", admin, map[string]any{"payment_hash": base64.StdEncoding.EncodeToString(raw)})
	}
	ask := map[string]any{"value_msat": "21000", "memo": "Shoes", "expiry": "1200", "private": true}
	hash := func(a lightningtest.Answer) string {
		var made struct {
			Hash []byte `json:"r_hash"`
		}
		if err := json.Unmarshal(a.Body, &made); err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(made.Hash)
	}
	open, paid := hash(call("made", http.MethodPost, "/v1/invoices", admin, ask)), hash(call("made again", http.MethodPost, "/v1/invoices", admin, ask))
	delete(list, "made again")
	look("open", open)
	cancel("cancel", open)
	look("cancelled", open)
	l.Payer.Pay(t, l.Shop.Invoice(t, paid)["payment_request"].(string))
	look("settled", paid)
	cancel("cancel settled", paid)
	held := l.Shop.MakeHeld(t, 21, 1200)
	l.Payer.PayHeld(t, held)
	look("held", held.Hash)
	held.Cancel(t)
	look("held and cancelled", held.Hash)
	look("unknown", lightning.UnusedHash)
	cancel("cancel unknown", lightning.UnusedHash)
	l.refusals(t, call)
	locked := l.Locked(t)
	for name, path := range map[string]string{"locked": "/v1/invoice/" + open, "state locked": "/v1/state"} {
		status, body := locked.Answer(t, http.MethodGet, path, admin, nil)
		list[name] = lightningtest.Answer{Status: status, Body: body}
	}
	return list
}

// refusals calls lnd with macaroons that it refuses.
func (l lab) refusals(t *testing.T, call func(name, method, path, macaroon string, content any) lightningtest.Answer) {
	t.Helper()
	path := "/v1/invoice/" + lightning.UnusedHash
	revoked := l.Shop.Bake(t, "9", "invoices:read", "invoices:write")
	l.Shop.Revoke(t, "9")
	call("revoked", http.MethodGet, path, revoked, nil)
	call("another node", http.MethodGet, path, l.Payer.Macaroon(t, "invoice"), nil)
	call("no permission", http.MethodGet, path, l.Shop.Bake(t, "0", "info:read"), nil)
	call("no macaroon", http.MethodGet, path, "", nil)
	call("cut macaroon", http.MethodGet, path, l.Shop.Macaroon(t, "invoice")[:100], nil)
}
