package lightningtest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// LND is the REST API of lnd, with the texts and statuses of lnd 0.20.
type LND struct {
	Wallet *Wallet

	mu sync.Mutex
	// The fields below are protected by mu; see Set.
	Macaroon string // the only one that is accepted
	State    string
	Replace  func(w http.ResponseWriter, r *http.Request) bool // answers in place of lnd, if it returns true
	Made     map[string]string                                 // content of the last call of /v1/invoices

	Events chan string // lines of /v1/invoices/subscribe
}

// NewLND returns a new LND that runs and accepts a macaroon.
func NewLND(t testing.TB, now func() time.Time, macaroon string) *LND {
	t.Helper()
	return &LND{Wallet: NewWallet(t, now), Macaroon: macaroon, State: "RPC_ACTIVE", Events: make(chan string)}
}

// Connection returns the text of a connection to lnd at a server, with its certificate.
func (n *LND) Connection(s *httptest.Server) string {
	return fmt.Sprintf("type=lnd-rest;server=%s;macaroon=%s;certthumbprint=%x", s.URL, n.Macaroon, sha256.Sum256(s.Certificate().Raw))
}

// Set calls change, which may change the fields.
func (n *LND) Set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// ServeHTTP implements http.Handler.
func (n *LND) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	state, replace, macaroon := n.State, n.Replace, n.Macaroon
	n.mu.Unlock()
	switch {
	case replace != nil && replace(w, r):
	case r.URL.Path == "/v1/state":
		fmt.Fprintf(w, `{"state":%q}`, state)
	case state == "LOCKED":
		RecordedLND("locked").Write(w)
	case r.Header.Get("Grpc-Metadata-macaroon") != macaroon:
		RecordedLND("another node").Write(w)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/invoices":
		n.add(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/v2/invoices/cancel":
		n.cancel(w, r)
	case r.Method == http.MethodGet && r.URL.Path == "/v1/invoices/subscribe":
		for {
			select {
			case line := <-n.Events:
				fmt.Fprintln(w, line)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/invoice/"):
		n.lookup(w, strings.TrimPrefix(r.URL.Path, "/v1/invoice/"))
	default:
		refuse(w, 404, 5, "Not Found")
	}
}

func refuse(w http.ResponseWriter, status, code int, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "message": message, "details": []any{}})
}

func (n *LND) add(w http.ResponseWriter, r *http.Request) {
	var content struct {
		Value   string `json:"value_msat"`
		Memo    string `json:"memo"`
		Expiry  string `json:"expiry"`
		Private bool   `json:"private"`
	}
	if err := json.NewDecoder(r.Body).Decode(&content); err != nil {
		refuse(w, 400, 3, err.Error())
		return
	}
	amount, err := strconv.ParseInt(content.Value, 10, 64)
	expiry, err2 := strconv.ParseInt(content.Expiry, 10, 64)
	if err != nil || err2 != nil {
		refuse(w, 400, 3, "invalid number")
		return
	}
	n.Set(func() {
		n.Made = map[string]string{"memo": content.Memo, "expiry": content.Expiry, "private": fmt.Sprint(content.Private)}
	})
	i := n.Wallet.Make(amount, content.Memo, nil, time.Duration(expiry)*time.Second)
	hash, _ := hex.DecodeString(i.Hash)
	_ = json.NewEncoder(w).Encode(map[string]any{"r_hash": hash, "payment_request": i.Text, "add_index": "1", "payment_addr": i.Request.PaymentSecret[:]})
}

func (n *LND) cancel(w http.ResponseWriter, r *http.Request) {
	var content struct {
		Hash []byte `json:"payment_hash"`
	}
	err := json.NewDecoder(r.Body).Decode(&content)
	i, ok := n.Wallet.Find(hex.EncodeToString(content.Hash))
	switch {
	case err != nil || !ok:
		RecordedLND("cancel unknown").Write(w)
	case i.State == Settled:
		RecordedLND("cancel settled").Write(w)
	default:
		n.Wallet.Cancel(i.Hash)
		RecordedLND("cancel").Write(w)
	}
}

// states are lnd's names of the states of requests.
var states = map[State]string{
	Open: "OPEN", Held: "ACCEPTED", Cancelled: "CANCELED", Settled: "SETTLED",
}

// lookup answers with a request. lnd shows the preimage of every request, and the amount of held and of refused
// payments.
func (n *LND) lookup(w http.ResponseWriter, hash string) {
	i, ok := n.Wallet.Find(hash)
	if !ok {
		RecordedLND("unknown").Write(w)
		return
	}
	raw, _ := hex.DecodeString(i.Hash)
	settleDate := "0"
	if i.State == Settled {
		settleDate = strconv.FormatInt(i.SettledAt.Unix(), 10)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"r_hash": raw, "r_preimage": i.Preimage, "state": states[i.State], "settled": i.State == Settled,
		"value_msat": strconv.FormatInt(i.Request.MilliSatoshi, 10), "amt_paid_msat": strconv.FormatInt(i.Paid, 10),
		"settle_date": settleDate, "payment_request": i.Text,
	})
}

// Bake returns a macaroon with operations of the form "entity:action" in hexadecimal digits.
func Bake(operations ...string) string {
	id := []byte{3, 10, 2, 7, 7, 18, 1, '0'}
	for _, o := range operations {
		entity, action, _ := strings.Cut(o, ":")
		id = append(id, field(26, append(field(10, []byte(entity)), field(18, []byte(action))...))...)
	}
	m := append([]byte{2}, field(1, []byte("lnd"))...)
	m = append(append(m, field(2, id)...), 0, 0)
	return hex.EncodeToString(append(m, field(6, make([]byte, 32))...))
}

func field(tag byte, value []byte) []byte {
	return append(binary.AppendUvarint([]byte{tag}, uint64(len(value))), value...)
}

// InvoiceMacaroon has the operations of lnd's invoice.macaroon.
var InvoiceMacaroon = Bake("address:read", "address:write", "invoices:read", "invoices:write", "onchain:read")
