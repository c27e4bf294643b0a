package networks_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/config"
	"chequer/internal/guard"
	"chequer/internal/networks"
)

// macaroon is a macaroon of lnd with the operations invoices:read and invoices:write.
const macaroon = "0201036c6e640221030a0207071201301a170a08696e766f6963657312047265616412057772697465000006200000000000000000000000000000000000000000000000000000000000000000"

const wallet = "b889ff5b1513b641e2a139f661a661364979c5beee91842f8f0ef42ab558e9d4"

// parse returns settings and a pasted connection.
func parse(t *testing.T, text string, environ ...string) (config.Config, lightning.Connection) {
	t.Helper()
	c, err := config.Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := lightning.ParseConnection(text)
	if err != nil {
		t.Fatal(err)
	}
	return c, connection
}

// examine examines a pasted connection.
func examine(t *testing.T, text string, environ ...string) error {
	t.Helper()
	c, connection := parse(t, text, environ...)
	_, err := networks.Examine(t.Context(), c, connection, time.Now, slog.New(slog.DiscardHandler))
	return err
}

// openLightning returns the Lightning network of a pasted connection.
func openLightning(t *testing.T, text string, environ ...string) networks.Network {
	t.Helper()
	c, connection := parse(t, text, environ...)
	n, err := networks.Lightning(c, "wlt_1", connection, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLightning_opens_every_kind_of_connection(t *testing.T) {
	t.Parallel()
	for text, source := range map[string]string{
		"nostr+walletconnect://" + wallet + "?relay=wss://127.0.0.1:1&secret=" + wallet: "NWC, 127.0.0.1:1",
		"type=lnd-rest;server=https://127.0.0.1:1;macaroon=" + macaroon:                 "lnd, 127.0.0.1:1",
		"type=phoenixd;server=http://127.0.0.1:1;password=x":                            "phoenixd, 127.0.0.1:1",
		"anna@localhost.localdomain.invalid":                                            "anna@localhost.localdomain.invalid",
	} {
		n := openLightning(t, text)
		reporter, ok := n.Network.(chain.Reporter)
		if !ok || reporter.Health().Source != source || n.ID() != "lightning-wlt_1" || n.Wallet() != "BTC-LN" || !n.Watched() || n.IsTest() {
			t.Errorf("%s: got %+v, want the source %q", text, n, source)
		}
		if strings.Contains(source, "127.0.0.1") {
			err := examine(t, text)
			if _, refused := errors.AsType[*guard.RefusedError](err); !refused {
				t.Errorf("%s: Examine() = %v, want addresses of this machine refused", text, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := n.Run(ctx); err != nil {
			t.Errorf("%s: Run() = %v", text, err)
		}
	}
}

func TestLightning_calls_the_ranges_that_the_operator_allows(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	text := "type=phoenixd;server=" + server.URL + ";password=x"
	if err := examine(t, text, "CHEQUER_CALLBACK_ALLOW=127.0.0.0/8"); err == nil || !strings.Contains(err.Error(), "status 404") {
		t.Errorf("Examine() = %v, want the answer of the server", err)
	}
}

func TestLightning_has_the_network_of_Bitcoin(t *testing.T) {
	t.Parallel()
	for network, want := range map[string]string{"mainnet": "bc", "testnet4": "tb", "signet": "tbs", "regtest": "bcrt"} {
		n := openLightning(t, "anna@pay.example", "CHEQUER_BITCOIN_NETWORK="+network)
		requester, ok := n.Network.(chain.Requester)
		if !ok || requester.RequestNetwork() != want || n.IsTest() != (network != "mainnet") {
			t.Errorf("%s: got %+v, want %q", network, n, want)
		}
	}
}

// newLND starts lnd on this machine, and returns the text of a connection to it.
func newLND(t *testing.T, macaroon string) (text string) {
	t.Helper()
	node := lightningtest.NewLND(t, time.Now, macaroon)
	server := httptest.NewTLSServer(node)
	t.Cleanup(server.Close)
	return node.Connection(server)
}

func TestExamineConnection_accepts_what_may_only_receive(t *testing.T) {
	t.Parallel()
	load := func(environ ...string) config.Config {
		c, err := config.Load(append(environ, "CHEQUER_CALLBACK_ALLOW=127.0.0.0/8"))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	log, regtest := slog.New(slog.DiscardHandler), load("CHEQUER_BITCOIN_NETWORK=regtest")
	text := newLND(t, lightningtest.InvoiceMacaroon)
	got, err := networks.ExamineConnection(t.Context(), regtest, "  "+text+"\n", time.Now, log)
	if err != nil || got.Text != text || !strings.HasPrefix(got.Name, "lnd, 127.0.0.1:") || got.Spending != "" {
		t.Errorf("ExamineConnection() = %+v, %v", got, err)
	}
	admin := newLND(t, lightningtest.Bake("invoices:read", "invoices:write", "offchain:write"))
	for name, test := range map[string]struct {
		settings   config.Config
		text, want string
	}{
		"a macaroon that may spend": {regtest, admin, "may spend from your wallet (offchain:write): use a macaroon of lncli bakemacaroon invoices:read invoices:write"},
		"requests of regtest":       {load(), text, `the network "lnbcrt", want "lnbc"`},
		"another text":              {regtest, lightningtest.InvoiceMacaroon, "not a connection"},
	} {
		_, err := networks.ExamineConnection(t.Context(), test.settings, test.text, time.Now, log)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), lightningtest.InvoiceMacaroon) {
			t.Errorf("%s: ExamineConnection() = %v, want %q", name, err, test.want)
		}
	}
}
