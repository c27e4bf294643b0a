package lnd_test

import (
	"encoding/base64"
	"encoding/hex"
	"testing"
	"time"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/chain/lightning/lnd"
	"chequer/internal/clocktest"
)

type fixture struct {
	*lnd.Provider
	node   *lightningtest.LND
	server *lightningtest.Server
	clock  *clocktest.Clock
}

// newFixture returns a provider for a connection with a macaroon. The node accepts this macaroon.
func newFixture(t *testing.T, start time.Time, macaroon string) *fixture {
	t.Helper()
	f := &fixture{clock: clocktest.New(start)}
	f.node = lightningtest.NewLND(t, f.clock.Now, macaroon)
	f.server = lightningtest.NewServer(t, f.node)
	certificate := base64.RawURLEncoding.EncodeToString(f.server.Certificate().Raw)
	f.Provider = open(t, f.server, "lndconnect://example.com?macaroon="+macaroonText(t, macaroon)+"&cert="+certificate, nil)
	return f
}

func macaroonText(t *testing.T, macaroon string) string {
	t.Helper()
	raw, err := hex.DecodeString(macaroon)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// open returns a provider for a pasted connection.
func open(t *testing.T, server *lightningtest.Server, text string, change func(c *lightning.ProviderConfig)) *lnd.Provider {
	t.Helper()
	config := lightningtest.Config(t, text, server)
	if change != nil {
		change(&config)
	}
	return lnd.New(config)
}
