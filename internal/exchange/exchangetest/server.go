// Package exchangetest is a made-up exchange for tests: it answers as Kraken and as
// Bitstamp do by their documentation, checks keys, signatures, numbers and times of
// calls as they do, and misbehaves when it is told to.
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

// Key and Secret are those of the only account; a secret of Kraken is Base64.
const (
	Key    = "4/SDrDBcOOPnm3nPlNfEMMJDeRcIVqPz+QhRxIodyZbI9po/aVRiHsgX"
	Secret = "c2VjcmV0IG9mIGEgbWFkZS11cCBleGNoYW5nZQ=="
)

// Server is the exchange. It is safe for concurrent use.
type Server struct {
	now    func() time.Time
	server *http.Server
	pipes  *pipes
	ended  chan struct{}

	mu          sync.Mutex
	permissions []string
	nonce       int64           // the highest of Kraken's kind so far
	nonces      map[string]bool // of Bitstamp's kind
	totals      map[string]*big.Rat
	earning     map[string]map[string]*big.Rat // of the totals, by coin and Kraken's suffix
	bids        map[string]*big.Rat
	fill        *big.Rat // the part of an order that finds a buyer
	status      string   // of all markets, in Kraken's words
	orders      []*order
	hidden      bool // the lists show none of them
	unfiltered  bool // Kraken's filter by our name finds what is open alone
	faults      map[string][]Fault
	calls       []string
	watch       func(call string, done bool)
	wrong       []string // what no exchange should be sent
}

// order is one that was taken.
type order struct {
	ref, id, coin   string
	volume, limit   *big.Rat
	sold, cost, fee *big.Rat
	status          string // Kraken's: closed, canceled or open
	made            time.Time
}

// New makes an exchange with a merchant's account that holds nothing, buyers of BTC at
// 86,420, of ETH at 2,650.10 and of LTC at 78.35 euro, and a key that may sell.
func New(t testing.TB, now func() time.Time) *Server {
	t.Helper()
	s := Start(now)
	t.Cleanup(func() {
		s.Close()
		for _, fault := range s.Wrong() {
			t.Errorf("the exchange was sent what it should not be: %s", fault)
		}
	})
	return s
}

// Start is New outside of a test: it ends with Close.
func Start(now func() time.Time) *Server {
	s := &Server{
		now: now, pipes: &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}, ended: make(chan struct{}),
		permissions: []string{"query-funds", "query-open-trades", "query-closed-trades", "modify-trades"},
		nonces:      map[string]bool{}, totals: map[string]*big.Rat{}, earning: map[string]map[string]*big.Rat{}, faults: map[string][]Fault{}, status: "online", fill: big.NewRat(1, 1),
		bids: map[string]*big.Rat{"BTC": rat("86420"), "ETH": rat("2650.10"), "LTC": rat("78.35"), "USDC": rat("0.925")},
	}
	s.server = &http.Server{Handler: s}
	go func() { _ = s.server.Serve(s.pipes) }() // ends with Close
	return s
}

// Close ends the exchange.
func (s *Server) Close() {
	select {
	case <-s.ended:
	default:
		close(s.ended)
		_ = s.server.Close()
	}
}

// Listen has the exchange answer at an address on this machine, too.
func (s *Server) Listen(address string) (url string, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	go func() { _ = s.server.Serve(l) }()
	return "http://" + l.Addr().String(), nil
}

// URL is where it is called by Dial.
const URL = "http://exchange.example"

// Dial connects to the exchange without a network, so that tests may run in a bubble.
// It implements exchange.Dialer.
func (s *Server) Dial(ctx context.Context, _ guard.Target, hostport string) (net.Conn, error) {
	if hostport != "exchange.example:80" {
		s.note("a call to " + hostport)
		return nil, errors.New("no such host")
	}
	ours, theirs := net.Pipe()
	select {
	case s.pipes.conns <- theirs:
		return ours, nil
	case <-s.ended:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pipes is a listener whose connections come from Dial.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	ended chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.ended) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// Deposit adds coins to the account; a negative amount takes them.
func (s *Server) Deposit(coin, amount string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(coin, rat(amount))
}

// Earn moves coins of the account to one of Kraken's earning programmes, or on hold, by
// the suffix of their name there: "F" is Kraken Rewards.
func (s *Server) Earn(coin, suffix, amount string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.earning[coin] == nil {
		s.earning[coin] = map[string]*big.Rat{}
	}
	s.earning[coin][suffix] = rat(amount)
}

// Bid sets what is bid for a coin, in euro.
func (s *Server) Bid(coin, price string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bids[coin] = rat(price)
}

// Fill sets which part of an order finds a buyer: "1" for all of it.
func (s *Server) Fill(part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fill = rat(part)
}

// Status sets that of all markets, in Kraken's words: "online", "cancel_only".
func (s *Server) Status(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// Permit sets what the key may do, in Kraken's words.
func (s *Server) Permit(permissions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permissions = permissions
}

// Raise has Kraken believe that a number of a call was seen before.
func (s *Server) Raise(nonce int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nonce = nonce
}

// Next has the next calls of a kind misbehave, one after the other. A kind is the last
// word of its path: "AddOrder", "sell/btceur".
func (s *Server) Next(call string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[call] = append(s.faults[call], faults...)
}

// Behave has all calls answered as they should be from now on.
func (s *Server) Behave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.faults)
}

// Sold is how much of a coin was sold in all.
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

// Orders is how many orders were taken, and how many of them sold something.
func (s *Server) Orders() (taken, filled int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.orders {
		if o.sold.Sign() > 0 {
			filled++
		}
	}
	return len(s.orders), filled
}

// Names lists our own names of the orders that were taken.
func (s *Server) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, o := range s.orders {
		names = append(names, o.id)
	}
	return names
}

// Forget takes the names off all orders, as if they had been made by hand.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.orders {
		o.id = ""
	}
}

// Lose takes all orders off the lists, while what they sold stays sold.
func (s *Server) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders = nil
}

// Hide has the lists not show any order, or show all again.
func (s *Server) Hide(hidden bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = hidden
}

// Unfiltered has Kraken's filter by our name find open orders alone.
func (s *Server) Unfiltered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unfiltered = true
}

// Calls lists the calls that came, in order.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Wrong lists what no exchange should be sent.
func (s *Server) Wrong() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.wrong)
}

func (s *Server) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, what)
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
	watch := s.watcher()
	process := func() Answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		if strings.HasPrefix(path, "api/v2/") {
			return s.bitstamp(r, call, string(body))
		}
		return s.kraken(r, call, string(body))
	}
	watch(call, false)
	if fault != nil {
		fault(s, w, r, process)
		return
	}
	a := process()
	watch(call, true)
	a.write(w)
}

// Watch has a function called before each call is processed, and when it was, before
// it is answered.
func (s *Server) Watch(watch func(call string, done bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch = watch
}

func (s *Server) watcher() func(call string, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		return func(string, bool) {}
	}
	return s.watch
}

// Answer is what a call is answered.
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

// take makes an immediate-or-cancel order to sell. The caller holds the lock.
func (s *Server) take(id, coin string, volume, limit *big.Rat) *order {
	o := &order{
		ref: fmt.Sprintf("O%05d-CHEQR-ORDER", len(s.orders)+1), id: id, coin: coin, volume: volume, limit: limit, made: s.now(),
		sold: new(big.Rat), cost: new(big.Rat), fee: new(big.Rat), status: "canceled",
	}
	if bid := s.bids[coin]; bid.Cmp(limit) >= 0 {
		o.sold = down(new(big.Rat).Mul(volume, s.fill), 8)
		o.cost = down(new(big.Rat).Mul(o.sold, bid), 5)
		o.fee = down(new(big.Rat).Mul(o.cost, rat("0.004")), 5)
		if o.sold.Cmp(volume) == 0 {
			o.status = "closed"
		}
	}
	s.add(coin, new(big.Rat).Neg(o.sold))
	s.orders = append(s.orders, o)
	return o
}

// add adds to what the account holds. The caller holds the lock.
func (s *Server) add(coin string, amount *big.Rat) {
	if s.totals[coin] == nil {
		s.totals[coin] = new(big.Rat)
	}
	s.totals[coin].Add(s.totals[coin], amount)
}

// total is what the account holds. The caller holds the lock.
func (s *Server) total(coin string) *big.Rat {
	if s.totals[coin] == nil {
		return new(big.Rat)
	}
	return s.totals[coin]
}

// rat reads a number that a test wrote.
func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("exchangetest: " + text + " is no number")
	}
	return r
}

// down rounds to decimals.
func down(r *big.Rat, decimals int64) *big.Rat {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals), nil)
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(scale))
	return new(big.Rat).SetFrac(new(big.Int).Quo(scaled.Num(), scaled.Denom()), scale)
}

// plain is a number in plain digits.
func plain(r *big.Rat) string {
	text := r.FloatString(10)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// digits is a number with so many decimals, as exchanges write it.
func digits(r *big.Rat, decimals int) string { return r.FloatString(decimals) }

// multiple tells whether a number is one of a step.
func multiple(r *big.Rat, step string) bool { return new(big.Rat).Quo(r, rat(step)).IsInt() }

// left is what an order did not sell.
func (o *order) left() *big.Rat { return new(big.Rat).Sub(o.volume, o.sold) }
