package lndtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain/lightning/lightningtest"
)

// AddressName is the Lightning address of every Address.
const AddressName = "anna@" + lightningtest.Host

// metadata describe the payments to an Address. See LUD-06.
const metadata = `[["text/plain","Payment to anna"],["text/identifier","` + AddressName + `"]]`

// Address is the service of a Lightning address before a node. See LUD-06, LUD-16 and LUD-21.
type Address struct {
	*lightningtest.Server
	node *Node

	mu     sync.Mutex
	expiry time.Duration
	change func(path string, answer map[string]any)
	moved  string
}

// StartAddress starts an Address.
func StartAddress(t *testing.T, n *Node) *Address {
	t.Helper()
	a := &Address{node: n, expiry: 10 * time.Minute, change: func(string, map[string]any) {}}
	a.Server = lightningtest.NewServer(t, a)
	return a
}

// SetExpiry sets the expiry of later requests.
func (a *Address) SetExpiry(d time.Duration) { a.set(func() { a.expiry = d }) }

// SetChange sets a function that changes each answer. The path begins with "/.well-known", "/callback" or "/verify".
func (a *Address) SetChange(change func(path string, answer map[string]any)) {
	a.set(func() { a.change = change })
}

// SetMoved makes each answer of paths with a prefix a redirect.
func (a *Address) SetMoved(prefix string) { a.set(func() { a.moved = prefix }) }

func (a *Address) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// LookupURL returns the URL that shows whether the request with a payment hash is settled.
func (a *Address) LookupURL(hash string) string {
	return "https://" + lightningtest.Host + "/verify/" + hash
}

// ServeHTTP implements http.Handler.
func (a *Address) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.moved != "" && strings.HasPrefix(r.URL.Path, a.moved) {
		http.Redirect(w, r, "https://"+lightningtest.Host+"/other"+r.URL.Path, http.StatusFound)
		return
	}
	var answer map[string]any
	status := http.StatusOK
	switch {
	case r.URL.Path == "/.well-known/lnurlp/anna":
		answer = map[string]any{
			"tag": "payRequest", "callback": "https://" + lightningtest.Host + "/callback", "minSendable": 1000, "maxSendable": 10_000_000_000, "metadata": metadata,
		}
	case r.URL.Path == "/callback":
		answer = a.make(r)
	case strings.HasPrefix(r.URL.Path, "/verify/"):
		answer = a.verify(r, strings.TrimPrefix(r.URL.Path, "/verify/"))
	}
	if answer == nil {
		status, answer = http.StatusNotFound, map[string]any{"status": "ERROR", "reason": "Not found"}
	}
	a.change(r.URL.Path, answer)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// make makes a request.
func (a *Address) make(r *http.Request) map[string]any {
	hash := sha256.Sum256([]byte(metadata))
	var made struct {
		Hash    []byte `json:"r_hash"`
		Request string `json:"payment_request"`
	}
	err := a.node.call(r.Context(), http.MethodPost, "/v1/invoices", map[string]any{
		"value_msat": r.URL.Query().Get("amount"), "description_hash": hash[:], "expiry": strconv.Itoa(int(a.expiry / time.Second)), "private": true,
	}, &made)
	if err != nil {
		return map[string]any{"status": "ERROR", "reason": err.Error()}
	}
	return map[string]any{"status": "OK", "pr": made.Request, "routes": []any{}, "verify": a.LookupURL(hex.EncodeToString(made.Hash))}
}

// verify answers whether a request is settled, nil if there is none.
func (a *Address) verify(r *http.Request, hash string) map[string]any {
	var invoice struct {
		State    string
		Preimage []byte `json:"r_preimage"`
		Request  string `json:"payment_request"`
	}
	err := a.node.call(r.Context(), http.MethodGet, "/v1/invoice/"+hash, nil, &invoice)
	if err != nil {
		return nil
	}
	return map[string]any{"status": "OK", "settled": invoice.State == "SETTLED", "preimage": hex.EncodeToString(invoice.Preimage), "pr": invoice.Request}
}
