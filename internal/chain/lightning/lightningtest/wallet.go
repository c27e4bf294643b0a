// Package lightningtest has a simulated Lightning wallet for fakes of providers, and the cases that every
// provider must pass.
package lightningtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"

	"chequer/internal/chain/lightning/bolt11"
)

// State is the state of a payment request.
type State string

// The states of payment requests.
const (
	Open      State = "open"
	Held      State = "held" // a payment arrived and can still be refused
	Cancelled State = "cancelled"
	Settled   State = "settled"
)

// Invoice is a payment request in a Wallet.
type Invoice struct {
	Text      string
	Request   bolt11.Request
	Hash      string // in hexadecimal digits
	Preimage  []byte
	State     State
	Paid      int64 // in millisatoshi: received, held or refused
	SettledAt time.Time
}

// Wallet makes payment requests. Tests decide which ones are paid.
type Wallet struct {
	// Network is the prefix of the currency of the requests after "ln"; "bcrt" in a new Wallet. It is set before the first
	// request.
	Network string

	key *btcec.PrivateKey
	now func() time.Time

	mu       sync.Mutex
	invoices map[string]*Invoice
	last     string // hash of the newest request
}

// NewWallet returns a new Wallet with a clock.
func NewWallet(t testing.TB, now func() time.Time) *Wallet {
	t.Helper()
	key, err := btcec.NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	return &Wallet{Network: "bcrt", key: key, now: now, invoices: map[string]*Invoice{}}
}

// Make makes a payment request. The hash of a description takes its place if it is not nil.
func (w *Wallet) Make(milliSatoshi int64, memo string, descriptionHash []byte, expiry time.Duration) Invoice {
	preimage := make([]byte, 32)
	r := bolt11.Request{
		Network: w.Network, MilliSatoshi: milliSatoshi, Time: w.now().UTC().Truncate(time.Second), Expiry: expiry.Truncate(time.Second),
		Description: memo, DescriptionHash: descriptionHash, FinalCLTV: 80, Features: []int{8, 14, 17},
	}
	_, _ = rand.Read(preimage)
	_, _ = rand.Read(r.PaymentSecret[:])
	r.PaymentHash = sha256.Sum256(preimage)
	text, err := r.Sign(w.key)
	if err != nil {
		panic(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = hex.EncodeToString(r.PaymentHash[:])
	w.invoices[w.last] = &Invoice{Text: text, Request: r, Hash: w.last, Preimage: preimage, State: Open}
	return *w.invoices[w.last]
}

// Find returns the payment request with a hash.
func (w *Wallet) Find(hash string) (Invoice, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, ok := w.invoices[hash]
	if !ok {
		return Invoice{}, false
	}
	return *i, true
}

// Last returns the newest payment request.
func (w *Wallet) Last() Invoice {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *w.invoices[w.last]
}

// Change changes a payment request.
func (w *Wallet) Change(hash string, change func(i *Invoice)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w.invoices[hash])
}

// Pay settles a payment request with its amount.
func (w *Wallet) Pay(hash string) {
	at := w.now().UTC().Truncate(time.Second)
	w.Change(hash, func(i *Invoice) { i.State, i.Paid, i.SettledAt = Settled, i.Request.MilliSatoshi, at })
}

// Hold accepts a payment that is not settled yet.
func (w *Wallet) Hold(hash string) {
	w.Change(hash, func(i *Invoice) { i.State, i.Paid = Held, i.Request.MilliSatoshi })
}

// Cancel refuses a payment that was held. Its amount stays visible.
func (w *Wallet) Cancel(hash string) {
	w.Change(hash, func(i *Invoice) { i.State = Cancelled })
}

// BreakPreimage replaces the preimage with one of another hash.
func (w *Wallet) BreakPreimage(hash string) {
	w.Change(hash, func(i *Invoice) { i.Preimage = make([]byte, 32) })
}
