package app_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chequer/internal/app"
	"chequer/internal/chain"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/config"
	"chequer/internal/logtest"
	"chequer/internal/merchant"
	"chequer/internal/readiness"
	"chequer/internal/storage/backup"
)

// shopServer is a running server with a shop that takes live payments.
type shopServer struct {
	t       *testing.T
	config  config.Config
	core    *app.Core // of a command on the same database
	shopID  string
	log     *logtest.Journal
	metrics string // URL
}

// freeAddress returns a free address of this machine.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// newShopServer starts a server whose networks other than those of connections are off.
func newShopServer(t *testing.T) *shopServer {
	t.Helper()
	metrics := freeAddress(t)
	c, err := config.Load([]string{
		"CHEQUER_LISTEN=" + freeAddress(t), "CHEQUER_METRICS=" + metrics, "CHEQUER_DATA_DIR=" + t.TempDir(), "CHEQUER_RATES=fixed:BTC-EUR=80000,EUR-USD=1.08",
		"CHEQUER_BITCOIN_NODE=off", "CHEQUER_BITCOIN_NETWORK=regtest", "CHEQUER_ETHEREUM_RPC=off", "CHEQUER_BASE_RPC=off", "CHEQUER_CALLBACK_ALLOW=127.0.0.0/8",
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &shopServer{t: t, config: c, log: &logtest.Journal{}, metrics: "http://" + metrics + "/metrics"}
	o := app.Options{Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	server, err := app.New(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := server.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if s.core, err = app.OpenCore(t.Context(), c, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.core.Close() })
	shops, err := s.core.Shops(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.shopID = shops[0].ID
	return s
}

// connect connects a node, which replaces a connection.
func (s *shopServer) connect(text, replaces string) merchant.Wallet {
	s.t.Helper()
	c, err := s.core.Wallets.AddConnection(s.t.Context(), s.shopID, merchant.ConnectionAddition{Text: text, Replaces: replaces})
	if err != nil {
		s.t.Fatal(err)
	}
	return c.Wallet
}

// networks returns the networks that the server reports to the operator.
func (s *shopServer) networks() map[chain.ID]readiness.Network {
	found := map[chain.ID]readiness.Network{}
	for _, n := range app.QueryServer(s.t.Context(), s.core, s.config) {
		found[n.Network] = n
	}
	return found
}

// await waits until the networks of the server are as wanted.
func (s *shopServer) await(what string, isWanted func(map[chain.ID]readiness.Network) bool) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !isWanted(s.networks()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: the server reports %+v\n%s", what, s.networks(), s.log)
		}
	}
}

// get returns the body of a page.
func (s *shopServer) get(url string) string {
	s.t.Helper()
	answer, err := http.Get(url) //nolint:noctx // the test ends with the server
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

// startNode starts lnd on this machine.
func startNode(t *testing.T) (*lightningtest.LND, *httptest.Server) {
	t.Helper()
	node := lightningtest.NewLND(t, time.Now, lightningtest.InvoiceMacaroon)
	server := httptest.NewTLSServer(node)
	t.Cleanup(func() {
		server.CloseClientConnections() // the program may still read notifications
		server.Close()
	})
	return node, server
}

// isScanned reports whether the newest scan of a network succeeded.
func isScanned(n readiness.Network) bool { return n.ScannedAgo != nil && n.Reached && n.Fault == "" }

func TestServer_follows_the_connections_in_storage(t *testing.T) {
	t.Parallel()
	s := newShopServer(t)
	node, server := startNode(t)
	first := s.connect(node.Connection(server), "")
	firstID := chain.LightningID(first.ID)
	s.await("a new connection", func(all map[chain.ID]readiness.Network) bool {
		return isScanned(all[firstID]) && strings.HasPrefix(all[firstID].Source, "lnd, 127.0.0.1:")
	})
	if metrics := s.get(s.metrics); !strings.Contains(metrics, fmt.Sprintf("chequer_network_reached{network=%q} 1", firstID)) {
		t.Errorf("the metrics lack the network %s:\n%s", firstID, metrics)
	}

	// The watchers of other connections do not wait for a node that does not answer.
	dead, deadServer := startNode(t)
	other, err := s.core.Merchants.CreateShop(t.Context(), "Other", "")
	if err != nil {
		t.Fatal(err)
	}
	change, err := s.core.Wallets.AddConnection(t.Context(), other.ID, merchant.ConnectionAddition{Text: dead.Connection(deadServer)})
	if err != nil {
		t.Fatal(err)
	}
	deadServer.CloseClientConnections()
	deadServer.Close()
	deadID := chain.LightningID(change.Wallet.ID)
	s.await("two connections", func(all map[chain.ID]readiness.Network) bool {
		_, found := all[deadID]
		return found && isScanned(all[firstID])
	})

	// A connection is replaced and removed.
	next, nextServer := startNode(t)
	second := s.connect(next.Connection(nextServer), first.ID)
	s.await("a replaced connection", func(all map[chain.ID]readiness.Network) bool {
		_, former := all[firstID]
		return !former && isScanned(all[chain.LightningID(second.ID)])
	})
	if _, err := s.core.Wallets.Remove(t.Context(), s.shopID, chain.CodeLightning, second.ID); err != nil {
		t.Fatal(err)
	}
	s.await("a removed connection", func(all map[chain.ID]readiness.Network) bool {
		_, former := all[chain.LightningID(second.ID)]
		_, deadFound := all[deadID]
		return !former && deadFound
	})
}

// The secret of a connection is in no log, error, page, metric, file or backup.
func TestServer_reveals_no_secret_of_a_connection(t *testing.T) {
	t.Parallel()
	s := newShopServer(t)
	node, server := startNode(t)
	text := node.Connection(server)
	w := s.connect(text, "")
	id := chain.LightningID(w.ID)
	s.await("a connection", func(all map[chain.ID]readiness.Network) bool { return isScanned(all[id]) })
	node.Set(func() { node.State = "LOCKED" })
	findings, err := s.core.Examine(t.Context(), s.config, merchant.Merchant{ID: s.shopID, Name: "Shop"})
	if err != nil {
		t.Fatal(err)
	}
	_, refused := s.core.Wallets.AddConnection(t.Context(), s.shopID, merchant.ConnectionAddition{Text: text, Replaces: w.ID})
	_, unreadable := s.core.Wallets.AddConnection(t.Context(), s.shopID, merchant.ConnectionAddition{Text: "x" + text, Replaces: w.ID})
	if refused == nil || unreadable == nil {
		t.Fatalf("a locked node is connected: %v, %v", refused, unreadable)
	}
	var stored bytes.Buffer
	masterText, err := os.ReadFile(filepath.Join(s.config.DataDir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	master, err := hex.DecodeString(strings.TrimSpace(string(masterText)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Write(t.Context(), "sqlite://"+filepath.Join(s.config.DataDir, "chequer.db"), master, time.Now(), &stored); err != nil {
		t.Fatal(err)
	}
	places := map[string]string{
		"the log": s.log.String(), "the findings of doctor": fmt.Sprintf("%+v", findings), "errors": refused.Error() + unreadable.Error(), "the metrics": s.get(s.metrics),
		"/readyz": s.get("http://" + s.config.Listen + "/readyz"), "the networks": fmt.Sprintf("%+v", s.networks()), "a backup": stored.String(),
	}
	files, err := filepath.Glob(filepath.Join(s.config.DataDir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of the server: %v", err)
	}
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && len(content) > 0 { // a lock is empty
			places[file] = string(content)
		}
	}
	for place, content := range places {
		if content == "" || strings.Contains(content, lightningtest.InvoiceMacaroon) {
			t.Errorf("%s has %d bytes, and contains the secret or nothing", place, len(content))
		}
	}
	if !strings.Contains(places["the findings of doctor"], "lnd is locked") || !strings.Contains(places["a backup"], w.ID) {
		t.Error("the findings do not name the fault, or the backup has no connection")
	}
}
