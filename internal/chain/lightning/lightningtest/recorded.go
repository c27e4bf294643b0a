package lightningtest

import (
	_ "embed"
	"encoding/json"
	"net/http"
)

// recordedLND has answers of lnd 0.20.1 by their situation. The nightly tests of package lndtest compare them to those of
// a node, and write them with -record.
//
//go:embed testdata/lnd.json
var recordedLND []byte

// Answer is a recorded answer of an HTTP API.
type Answer struct {
	Status int
	Body   json.RawMessage
}

// RecordedLND returns the answer of the REST API of lnd in a situation, such as "settled" or "revoked".
func RecordedLND(situation string) Answer {
	var answers map[string]Answer
	if err := json.Unmarshal(recordedLND, &answers); err != nil {
		panic(err)
	}
	a, ok := answers[situation]
	if !ok {
		panic("no recorded answer: " + situation)
	}
	return a
}

// Write answers a call.
func (a Answer) Write(w http.ResponseWriter) {
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}
