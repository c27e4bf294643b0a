// Package exchangetest is a simulated exchange for tests. It answers as Kraken and Bitstamp do
// according to their documentation, checks keys, signatures, nonces and times of calls, and can
// misbehave on request.
package exchangetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/guard"
)

// Key and Secret are the credentials of the only account. A secret of Kraken is Base64.
const (
	Key    = "4/SDrDBcOOPnm3nPlNfEMMJDeRcIVqPz+QhRxIodyZbI9po/aVRiHsgX"
	Secret = "c2VjcmV0IG9mIGEgbWFkZS11cCBleGNoYW5nZQ=="
)

// Server is the exchange. It is safe for concurrent use.
type Server struct {
	now    func() time.Time
	server *http.Server
	pipes  *pipes
	done   chan struct{}

	mu          sync.Mutex
	permissions []string
	nonce       int64           // highest nonce of calls to Kraken
	nonces      map[string]bool // nonces of calls to Bitstamp
	totals      map[string]*big.Rat
	earning     map[string]map[string]*big.Rat // parts of the totals in earning programmes, by coin and Kraken's suffix
	bids        map[string]*big.Rat
	fill        *big.Rat // part of an order that is sold
	status      string   // of all markets, in Kraken's terms
	orders      []*order
	hidden      bool // the lists contain no orders
	unfiltered  bool // Kraken's filter by name finds only open orders
	faults      map[string][]Fault
	calls       []string
	hook        func(call string, done bool)
	wrong       []string // calls that no exchange should receive
}

// order is an accepted order.
type order struct {
	ref, id, coin   string
	volume, limit   *big.Rat
	sold, cost, fee *big.Rat
	status          string // in Kraken's terms: closed, canceled or open
	createdAt       time.Time
}

// New returns a new exchange with an empty account, a key that may sell, and bids in euro of 86,420 for
// BTC, 2,650.10 for ETH, 78.35 for LTC and 0.925 for USDC. It fails the test if it receives a call that no
// exchange should receive.
func New(t testing.TB, now func() time.Time) *Server {
	t.Helper()
	s := Start(now)
	t.Cleanup(func() {
		s.Close()
		for _, fault := range s.WrongCalls() {
			t.Errorf("the exchange received a wrong call: %s", fault)
		}
	})
	return s
}

// Start is New outside of a test. Close ends the exchange.
func Start(now func() time.Time) *Server {
	s := &Server{
		now: now, pipes: &pipes{conns: make(chan net.Conn), done: make(chan struct{})}, done: make(chan struct{}),
		permissions: []string{"query-funds", "query-open-trades", "query-closed-trades", "modify-trades"},
		nonces:      map[string]bool{}, totals: map[string]*big.Rat{}, earning: map[string]map[string]*big.Rat{}, faults: map[string][]Fault{}, status: "online", fill: big.NewRat(1, 1),
		bids: map[string]*big.Rat{"BTC": rat("86420"), "ETH": rat("2650.10"), "LTC": rat("78.35"), "USDC": rat("0.925")},
	}
	s.server = &http.Server{Handler: s}
	go func() { _ = s.server.Serve(s.pipes) }() // until Close
	return s
}

// Close ends the exchange and its connections.
func (s *Server) Close() {
	select {
	case <-s.done:
	default:
		close(s.done)
		_ = s.server.Close()
	}
}

// Listen also serves the exchange at an address on this machine.
func (s *Server) Listen(address string) (url string, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	go func() { _ = s.server.Serve(l) }()
	return "http://" + l.Addr().String(), nil
}

// URL is the address at which Dial reaches the exchange.
const URL = "http://exchange.example"

// Dial connects to the exchange without a network, so that it can be used in a synctest bubble. It
// implements exchange.Dialer.
func (s *Server) Dial(ctx context.Context, _ guard.Target, hostport string) (net.Conn, error) {
	if hostport != "exchange.example:80" {
		s.addWrongCall("a call to " + hostport)
		return nil, errors.New("no such host")
	}
	client, server := net.Pipe()
	select {
	case s.pipes.conns <- server:
		return client, nil
	case <-s.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pipes is a listener whose connections come from Dial.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// Deposit adds coins to the account; a negative amount removes them.
func (s *Server) Deposit(coin, amount string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(coin, rat(amount))
}

// SetEarning moves coins of the account to an earning programme of Kraken, or puts them on hold. suffix
// is the suffix of their name there: "F" is Kraken Rewards.
func (s *Server) SetEarning(coin, suffix, amount string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.earning[coin] == nil {
		s.earning[coin] = map[string]*big.Rat{}
	}
	s.earning[coin][suffix] = rat(amount)
}

// Bid sets the bid for a coin, in euro.
func (s *Server) Bid(coin, price string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bids[coin] = rat(price)
}

// Fill sets the part of an order that is sold: "1" for all of it.
func (s *Server) Fill(part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fill = rat(part)
}

// Status sets the status of all markets, in Kraken's terms: "online", "cancel_only".
func (s *Server) Status(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// Permit sets the permissions of the key, in Kraken's terms.
func (s *Server) Permit(permissions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permissions = permissions
}

// RaiseNonce sets the highest nonce that Kraken has received.
func (s *Server) RaiseNonce(nonce int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nonce = nonce
}

// Next makes the next calls of a kind misbehave, one after the other. The kind is the end of the
// call's path: "AddOrder", "sell/btceur".
func (s *Server) Next(call string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[call] = append(s.faults[call], faults...)
}

// ClearFaults removes all faults.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.faults)
}

// Sold returns how much of a coin has been sold in total.
func (s *Server) Sold(coin string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := new(big.Rat)
	for _, o := range s.orders {
		if o.coin == coin {
			sum.Add(sum, o.sold)
		}
	}
	return plain(sum)
}

// Orders returns the number of accepted orders, and how many of them sold something.
func (s *Server) Orders() (accepted, filled int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.orders {
		if o.sold.Sign() > 0 {
			filled++
		}
	}
	return len(s.orders), filled
}

// OrderNames returns the names that Chequer gave to the accepted orders.
func (s *Server) OrderNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, o := range s.orders {
		names = append(names, o.id)
	}
	return names
}

// ForgetNames removes the names from all orders, as if they had been placed by hand.
func (s *Server) ForgetNames() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.orders {
		o.id = ""
	}
}

// RemoveOrders removes all orders from the lists. Their sales remain.
func (s *Server) RemoveOrders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders = nil
}

// HideOrders sets whether the lists hide all orders.
func (s *Server) HideOrders(hidden bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = hidden
}

// DisableNameFilter makes Kraken's filter by name find only open orders.
func (s *Server) DisableNameFilter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unfiltered = true
}

// Calls returns the received calls, in order.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// WrongCalls returns the received calls that no exchange should receive.
func (s *Server) WrongCalls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.wrong)
}

func (s *Server) addWrongCall(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, call)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	path := strings.Trim(r.URL.Path, "/")
	call := path[strings.LastIndex(path, "/")+1:]
	if rest, ok := strings.CutPrefix(path, "api/v2/"); ok {
		call = rest
	}
	s.mu.Lock()
	s.calls = append(s.calls, call)
	var fault Fault
	if waiting := s.faults[call]; len(waiting) > 0 {
		fault, s.faults[call] = waiting[0], waiting[1:]
	}
	s.mu.Unlock()
	hook := s.currentHook()
	process := func() Answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		if strings.HasPrefix(path, "api/v2/") {
			return s.bitstamp(r, call, string(body))
		}
		return s.kraken(r, call, string(body))
	}
	hook(call, false)
	if fault != nil {
		fault(s, w, r, process)
		return
	}
	a := process()
	hook(call, true)
	a.write(w)
}

// SetHook sets a function that is called before each call is carried out, and again after it, before
// it is answered.
func (s *Server) SetHook(hook func(call string, done bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

func (s *Server) currentHook() func(call string, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook == nil {
		return func(string, bool) {}
	}
	return s.hook
}

// Answer is the answer to a call.
type Answer struct {
	status int
	header http.Header
	body   []byte
}

func (a Answer) write(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	if a.status == 0 {
		a.status = http.StatusOK
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// accept accepts an immediate-or-cancel order to sell. The caller must hold the lock.
func (s *Server) accept(id, coin string, volume, limit *big.Rat) *order {
	o := &order{
		ref: fmt.Sprintf("O%05d-CHEQR-ORDER", len(s.orders)+1), id: id, coin: coin, volume: volume, limit: limit, createdAt: s.now(),
		sold: new(big.Rat), cost: new(big.Rat), fee: new(big.Rat), status: "canceled",
	}
	if bid := s.bids[coin]; bid.Cmp(limit) >= 0 {
		o.sold = roundDown(new(big.Rat).Mul(volume, s.fill), 8)
		o.cost = roundDown(new(big.Rat).Mul(o.sold, bid), 5)
		o.fee = roundDown(new(big.Rat).Mul(o.cost, rat("0.004")), 5)
		if o.sold.Cmp(volume) == 0 {
			o.status = "closed"
		}
	}
	s.add(coin, new(big.Rat).Neg(o.sold))
	s.orders = append(s.orders, o)
	return o
}

// add adds to the account's balance. The caller must hold the lock.
func (s *Server) add(coin string, amount *big.Rat) {
	if s.totals[coin] == nil {
		s.totals[coin] = new(big.Rat)
	}
	s.totals[coin].Add(s.totals[coin], amount)
}

// total returns the account's balance. The caller must hold the lock.
func (s *Server) total(coin string) *big.Rat {
	if s.totals[coin] == nil {
		return new(big.Rat)
	}
	return s.totals[coin]
}

// rat parses a number of a test.
func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("exchangetest: " + text + " is not a number")
	}
	return r
}

// roundDown rounds down to a number of decimals.
func roundDown(r *big.Rat, decimals int64) *big.Rat {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals), nil)
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(scale))
	return new(big.Rat).SetFrac(new(big.Int).Quo(scaled.Num(), scaled.Denom()), scale)
}

// plain formats a number in plain digits.
func plain(r *big.Rat) string {
	text := r.FloatString(10)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// digits formats a number with a number of decimals, as exchanges do.
func digits(r *big.Rat, decimals int) string { return r.FloatString(decimals) }

// isMultiple reports whether a number is a multiple of a step.
func isMultiple(r *big.Rat, step string) bool { return new(big.Rat).Quo(r, rat(step)).IsInt() }

// unsold returns the unsold amount of an order.
func (o *order) unsold() *big.Rat { return new(big.Rat).Sub(o.volume, o.sold) }
