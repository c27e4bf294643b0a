package server_test

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/httpapi"
	"chequer/internal/invoice"
	"chequer/internal/invoice/invoicetest"
	"chequer/internal/invoicing"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/proof"
	"chequer/internal/rates"
	"chequer/internal/server"
	"chequer/internal/signature"
)

// noon is the time at which the tests begin, unless they use another clock.
var noon = time.Date(2026, 11, 27, 12, 0, 32, 782_400_500, time.UTC)

// fixture is a server with the real invoice service, in-memory storage and a simulated network.
type fixture struct {
	t         testing.TB
	handler   http.Handler
	invoices  *invoice.Service
	storage   *invoicetest.Storage
	merchants *merchants
	rates     *prices
	simnet    *network
	log       *strings.Builder
	now       func() time.Time
	config    server.Config
	creation  invoicing.Config
}

// newFixture returns a new fixture. With a nil clock the time is always noon.
func newFixture(t testing.TB, now func() time.Time) *fixture {
	t.Helper()
	if now == nil {
		now = func() time.Time { return noon }
	}
	fixed, err := rates.ParseFixed("BTC-EUR=86420.00,ETH-EUR=2650.10,EUR-USD=1.08,EUR-CHF=0.95,EUR-JPY=163.05", "fixed")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, storage: invoicetest.New(), merchants: newMerchants(), rates: &prices{Fixed: fixed}, log: &strings.Builder{}, now: now}
	log := slog.New(slog.NewTextHandler(f.log, nil))
	f.simnet = &network{id: "simnet", assets: []chain.Asset{bitcoin("simnet"), ether, euroCoin}, bridged: []chain.Asset{bridgedEuro}, now: now}
	var created atomic.Int64
	f.invoices = invoice.NewService(invoice.Config{
		Storage: f.storage,
		Networks: map[invoice.Mode][]chain.Network{
			invoice.Test: {f.simnet},
			invoice.Live: {&network{id: "bitcoin", assets: []chain.Asset{bitcoin("bitcoin")}}},
		},
		Rates: func() invoice.Rates { return f.rates }, Now: now, Encode: encodeDocumented(t), Log: slog.New(slog.DiscardHandler),
		NewID: func() string { return fmt.Sprintf("inv%029d", created.Add(1)) },
	})
	f.simnet.start(f)
	f.creation = invoicing.Config{Invoices: f.invoices, Merchants: f.merchants}
	f.config = server.Config{
		Invoices: f.invoices, Merchants: f.merchants, Nonces: &nonces{}, Simnet: f.simnet, Proofs: proof.NewKeyring(proofKeys{}, now),
		BaseURL: "https://pay.example/shop/", BasePath: "/shop", Prices: merchant.NewPrices(nil, "1000000"), Now: now, Log: log,
	}
	f.restart()
	return f
}

// restart restarts the server with the fixture's configuration. Every answer is checked against the
// document.
func (f *fixture) restart() {
	f.config.Creator = invoicing.New(f.creation)
	f.handler = checkAnswers(f.t, f.config.BasePath, server.New(f.config))
}

// enableFiats restarts the server with currencies besides euro and dollar.
func (f *fixture) enableFiats(fiats ...money.Currency) {
	f.config.Prices = merchant.NewPrices(fiats, "1000000")
	f.restart()
}

// limit restarts the server with rate limits.
func (f *fixture) limit(limits httpapi.Limits) {
	f.config.Limits = limits
	f.restart()
}

// bitcoin, ether and euroCoin are the assets of the tests.
func bitcoin(network chain.ID) chain.Asset {
	return chain.Asset{
		Code: "BTC", Symbol: "BTC", Name: "Bitcoin", Network: network, NetworkName: "Bitcoin", Currency: money.BTC,
		Wallet: "BTC", Rate: "BTC", Dust: money.MustParse("0.00000546", money.BTC), Scheme: "bitcoin",
		Volatile: true, Policy: policy,
	}
}

var (
	chf = money.Currency{Code: "CHF", Decimals: 2}
	jpy = money.Currency{Code: "JPY"}
)

var (
	policy = chain.Policy{Mempool: true, Depth: []chain.Depth{{BelowCents: 500_00, Confirmations: 1}, {Confirmations: 2}}}
	ether  = chain.Asset{
		Code: "ETH", Symbol: "ETH", Name: "Ether", Network: "simnet", NetworkName: "Sepolia", Currency: money.ETH,
		Wallet: "ETH", Rate: "ETH", Dust: money.Zero(money.ETH), Scheme: "ethereum", ChainID: 11155111,
		Volatile: true, Policy: policy,
	}
	eurc     = money.Currency{Code: "EURC", Decimals: 6}
	euroCoin = chain.Asset{
		Code: "EURC-BASE", Symbol: "EURC", Name: "Euro Coin", Network: "simnet", NetworkName: "Base Sepolia", Currency: eurc,
		Wallet: "ETH", Rate: "EURC", Dust: money.Zero(eurc), Scheme: "ethereum", ChainID: 84532,
		Contract: "0x808456652fdb597867f38412077A9182bf77359F", Policy: policy,
	}
)

// bridgedEuro is a bridged token, which is never offered.
var bridgedEuro = chain.Asset{
	Code: "EURBC", Symbol: "EURbC", Name: "Bridged Euro Coin", BridgeOf: "EURC", Network: "simnet", NetworkName: "Base Sepolia",
	Currency: money.Currency{Code: "EURBC", Decimals: 6}, Wallet: "ETH", Dust: money.Zero(money.Currency{Code: "EURBC", Decimals: 6}),
	Scheme: "ethereum", ChainID: 84532, Contract: "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA", Policy: policy,
}

// prices are fixed rates that can be made unavailable.
type prices struct {
	*rates.Fixed
	unavailable atomic.Bool
	lacks       string // code of a coin or a fiat currency without a rate
	evidence    string // evidence of the rates
}

func (p *prices) Evidence(money.Currency, ...string) string { return p.evidence }

func (p *prices) Rate(code string, coin, fiat money.Currency) (money.Rate, error) {
	if p.unavailable.Load() || p.lacks == code || p.lacks == fiat.Code {
		return money.Rate{}, rates.ErrUnknown
	}
	return p.Fixed.Rate(code, coin, fiat)
}

// merchants are two merchants with keys of every kind.
type merchants struct {
	keys           map[string]merchant.Key
	wallets        []merchant.Wallet
	walletsBlocked chan struct{} // if not nil, Wallets waits until it is closed
	entered        chan struct{} // receives a value when Wallets begins to wait
	err            error
	choices        merchant.Choices
	mu             sync.Mutex
	usedKeys       []string                  // IDs of keys
	account        *merchant.ExchangeAccount // nil: no account
}

func (m *merchants) Exchange(context.Context, string) (merchant.ExchangeAccount, error) {
	if m.account == nil {
		return merchant.ExchangeAccount{}, merchant.ErrNotFound
	}
	return *m.account, nil
}

func newMerchants() *merchants {
	m := &merchants{
		keys: map[string]merchant.Key{},
		wallets: []merchant.Wallet{
			{Asset: "BTC", Key: "xpub", Counter: "btc"}, {Asset: "ETH", Key: "eth", Counter: "eth"},
		},
	}
	for _, k := range []merchant.Key{
		{ID: "all", MerchantID: "shop", Mode: merchant.Test, Scopes: merchant.AllScopes},
		{ID: "live", MerchantID: "shop", Mode: merchant.Live, Scopes: merchant.AllScopes},
		{ID: "create", MerchantID: "shop", Mode: merchant.Test, Scopes: []merchant.Scope{merchant.ScopeCreate}},
		{ID: "read", MerchantID: "shop", Mode: merchant.Test, Scopes: []merchant.Scope{merchant.ScopeRead}},
		{ID: "page", MerchantID: "operator", Mode: merchant.Live, Scopes: []merchant.Scope{merchant.ScopePage}, Builtin: true},
		{ID: "admin", MerchantID: "shop", Mode: merchant.Test, Scopes: []merchant.Scope{merchant.ScopeAdmin}},
		{ID: "other", MerchantID: "other", Mode: merchant.Test, Scopes: merchant.AllScopes},
		{ID: "otherlive", MerchantID: "other", Mode: merchant.Live, Scopes: merchant.AllScopes},
		{ID: "liveread", MerchantID: "shop", Mode: merchant.Live, Scopes: []merchant.Scope{merchant.ScopeRead, merchant.ScopeAdmin}},
		{ID: "revoked", MerchantID: "shop", Mode: merchant.Test, Scopes: merchant.AllScopes, RevokedAt: noon},
	} {
		k.Key, k.Secret = publicKey(k.ID), "secret of "+k.ID
		k.ID = merchant.KeyPrefix + k.ID
		m.keys[k.Key] = k
	}
	return m
}

// publicKey returns the public part of the key with a name, its ID without the prefix: 32 letters and digits.
func publicKey(id string) string { return id + strings.Repeat("0", 32-len(id)) }

func (m *merchants) Authenticate(_ context.Context, key string) (merchant.Key, error) {
	if m.err != nil {
		return merchant.Key{}, m.err
	}
	k, known := m.keys[key]
	if !known {
		return merchant.Key{}, merchant.ErrNotFound
	}
	return k, nil
}

func (m *merchants) UseKey(_ context.Context, k merchant.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usedKeys = append(m.usedKeys, k.ID)
	return nil
}

func (m *merchants) Merchant(_ context.Context, id string) (merchant.Merchant, error) {
	return merchant.Merchant{ID: id, Name: "Atelier Nord", Choices: m.choices}, nil
}

func (m *merchants) Wallets(ctx context.Context, _ string, _ merchant.Mode) ([]merchant.Wallet, error) {
	if m.walletsBlocked != nil {
		m.entered <- struct{}{}
		select {
		case <-m.walletsBlocked:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return m.wallets, nil
}

// nonces remembers nonces without a time limit.
type nonces struct {
	mu       sync.Mutex
	usedKeys map[string]bool
}

func (n *nonces) UseNonce(_ context.Context, key, nonce string, _ time.Time, ttl time.Duration) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ttl != 600*time.Second {
		return false, errors.New("a nonce must be kept for 600 s")
	}
	if n.usedKeys == nil {
		n.usedKeys = map[string]bool{}
	}
	used := n.usedKeys[key+nonce]
	n.usedKeys[key+nonce] = true
	return !used, nil
}

// message is a request that a key sends.
type message struct {
	method      string
	target      string // below the base path
	key         string // ID of the key; "" sends none
	body        string
	header      http.Header // set on the request; "" removes the header
	signRequest bool        // with a request signature
	signed      string      // signed in place of the body
	nonce       string
	skew        time.Duration // time by which the caller's clock is ahead
}

var nonceCount atomic.Int64

// request builds and signs the request of a message as a client does.
func (f *fixture) request(m message) *http.Request {
	target := "/shop" + m.target
	r := httptest.NewRequest(m.method, target, strings.NewReader(m.body))
	r.RequestURI = target
	if u, err := url.ParseRequestURI(target); err == nil {
		r.URL = u
	}
	if m.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range m.header {
		r.Header[name] = values
	}
	if m.key == "" {
		return r
	}
	r.Header.Set(api.HeaderKey, publicKey(m.key))
	secret := f.merchants.keys[publicKey(m.key)].Secret
	if !m.signRequest {
		if m.signed == "" {
			m.signed = m.body
		}
		r.Header.Set(api.HeaderSignature, signature.Sign(secret, []byte(m.signed)))
		return r
	}
	if m.nonce == "" {
		m.nonce = fmt.Sprintf("nonce%016d", nonceCount.Add(1))
	}
	signed := signature.Request{
		Timestamp: strconv.FormatInt(f.now().Add(m.skew).Unix(), 10), Nonce: m.nonce, Method: m.method, Target: target,
		IdempotencyKey: r.Header.Get(api.HeaderIdempotencyKey), Body: []byte(m.body),
	}
	r.Header.Set(api.HeaderTimestamp, signed.Timestamp)
	r.Header.Set(api.HeaderNonce, signed.Nonce)
	r.Header.Set(api.HeaderSignature, signature.Sign(secret, signed.Message()))
	return r
}

// send sends a message to the handler and returns the answer.
func (f *fixture) send(m message) *http.Response {
	return f.serve(f.request(m))
}

// serve sends a request to the handler and returns the answer.
func (f *fixture) serve(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return w.Result()
}

// create creates an invoice and returns its identifier.
func (f *fixture) create(t testing.TB, key, body string) string {
	t.Helper()
	response := f.send(message{method: "POST", target: "/api/v2/invoice/new", key: key, body: body})
	text := read(t, response)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("invoice/new: answer %d: %s", response.StatusCode, text)
	}
	_, id, _ := strings.Cut(text, `"foreign_id":"`)
	return id[:32]
}

// read returns the body of an answer.
func read(t testing.TB, r *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// proofKeys holds one signing key, that of RFC 8032, section 7.1, TEST 1.
type proofKeys struct{ proof.Storage }

func (proofKeys) ProofKeys(context.Context) ([]proof.Key, error) {
	seed, err := hex.DecodeString("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
	if err != nil {
		return nil, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	return []proof.Key{{Number: 1, Public: proof.NewPublicKey(private.Public().(ed25519.PublicKey)), Private: private, CreatedAt: noon}}, nil
}
