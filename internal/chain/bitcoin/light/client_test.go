package light_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/chain/bitcoin/light"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/utxo"
	"chequer/internal/money"
)

// half is the amount of a payment in these tests.
var half = money.MustParse("0.5", money.BTC)

func TestBest_needs_peers_in_different_groups(t *testing.T) {
	t.Parallel()
	first := bitcointest.Btcd(t, bitcointest.Listen("127.1.0.1"))
	second := bitcointest.Btcd(t, bitcointest.Listen("127.2.0.1"), bitcointest.Peer(first))
	sameGroup := bitcointest.Btcd(t, bitcointest.Listen("127.2.0.2"), bitcointest.Peer(first))
	third := bitcointest.Btcd(t, bitcointest.Listen("127.3.0.1"), bitcointest.Peer(first))
	network := light.Regtest
	network.Trust = light.Trust{Peers: 4, Filters: 3, Announcers: 2, MaxTipAge: 3 * time.Hour}

	fourth := bitcointest.Btcd(t, bitcointest.Listen("127.4.0.1"), bitcointest.Peer(first))
	fourth.Stop(t)
	client := startClient(t, network, t.TempDir(), first.P2P, second.P2P, sameGroup.P2P, third.P2P, fourth.P2P)
	until(t, func() string {
		if h := client.Health(); h.Peers != 4 || h.Fault != "3 of 4 peers agree on block 110" {
			return fmt.Sprintf("%+v", h)
		}
		return ""
	})
	if _, err := client.Best(t.Context()); err == nil || err.Error() != "3 of 4 peers agree on block 110" {
		t.Errorf("Best with three groups: %v", err)
	}
	waiting, err := client.Waiting(t.Context(), chaintest.Watch{})
	if err != nil || !waiting.Since.IsZero() {
		t.Errorf("view since %s with three groups, error %v; want none", waiting.Since, err)
	}

	fourth.Start(t)
	h := &harness{Node: first, client: client}
	h.catchUp(t)
	if waiting, err = client.Waiting(t.Context(), chaintest.Watch{}); err != nil || waiting.Since.IsZero() {
		t.Errorf("no view with four groups, error %v", err)
	}
	for range 3 {
		first.Mine(t)
		h.catchUp(t)
	}
	if h := client.Health(); h.Height != 113 || h.Peers != 5 || h.Fault != "" || h.Progress != "" {
		t.Errorf("%+v", h)
	}
}

func TestBest_needs_peers_with_the_same_filters(t *testing.T) {
	t.Parallel()
	n := bitcointest.Btcd(t, bitcointest.Listen("127.1.0.1"))
	address := changingProxy(t, "127.2.0.1", n.P2P, func(m wire.Message) {
		if h, ok := m.(*wire.MsgCFHeaders); ok && len(h.FilterHashes) == 1 {
			h.FilterHashes[0] = &chainhash.Hash{1}
		}
	})
	network := light.Regtest
	network.Trust.Peers = 2
	client := startClient(t, network, t.TempDir(), n.P2P, address)
	network.Trust.Filters = 2
	strict := startClient(t, network, t.TempDir(), n.P2P, address)
	// If one filter header is enough, the peer with the other one is disconnected. So either
	// one of two peers is missing, or its filter header.
	until(t, func() string {
		if f := client.Health().Fault; f != "1 of 2 peers agree on block 110" {
			return "fault: " + f
		}
		return ""
	})
	until(t, func() string {
		if f := strict.Health().Fault; f != "1 of 2 peers serve the same filter header for block 110" {
			return "fault: " + f
		}
		return ""
	})
}

func TestWaiting_needs_a_second_group(t *testing.T) {
	t.Parallel()
	first := bitcointest.Btcd(t, bitcointest.Listen("127.1.0.1"))
	second := bitcointest.Btcd(t, bitcointest.Listen("127.2.0.1"), bitcointest.Peer(first))
	network := light.Regtest
	network.Trust.Announcers = 2
	second.Stop(t)
	dir := t.TempDir()
	client := light.New(light.Config{Network: network, Dir: dir, Peers: []string{first.P2P, second.P2P}, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	stop := runClient(t, client)
	(&harness{Node: first, client: client}).catchUp(t)
	script := first.NewScript(t)
	watch := chaintest.Watch{script: true}
	waiting := func() []utxo.Tx {
		w, err := client.Waiting(t.Context(), watch)
		if err != nil {
			t.Fatal(err)
		}
		return w.Txs
	}
	waiting()
	tx := first.Send(t, chaintest.Output{Script: script, Amount: half})
	until(t, func() string {
		if entries, fetches := light.Stored(client); entries != 1 || fetches != 0 {
			return "announcement has not arrived"
		}
		return ""
	})
	if txs := waiting(); len(txs) != 0 {
		t.Errorf("waiting transactions %v after the announcement of one group, want none", txs)
	}
	// The same after a restart: the first peer does not announce it again.
	stop()
	client = light.New(light.Config{Network: network, Dir: dir, Peers: []string{first.P2P, second.P2P}, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	runClient(t, client)
	second.Start(t)
	until(t, func() string {
		if client.Health().Peers != 2 {
			return "second peer is not connected"
		}
		return ""
	})
	if txs := waiting(); len(txs) != 0 {
		t.Errorf("waiting transactions %v after the announcement of one group, want none", txs)
	}
	second.Broadcast(t, tx)
	until(t, func() string {
		if txs := waiting(); len(txs) != 1 || txs[0].ID != tx {
			return "second announcement has not arrived"
		}
		return ""
	})
}

func TestRun_again_keeps_waiting_transactions(t *testing.T) {
	t.Parallel()
	n := bitcointest.Btcd(t)
	dir := t.TempDir()
	client := light.New(light.Config{Network: light.Regtest, Dir: dir, Peers: []string{n.P2P}, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	stop := runClient(t, client)
	h := &harness{Node: n, client: client, net: bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), client, time.Now)}
	h.catchUp(t)
	script := n.NewScript(t)
	watch := chaintest.Watch{script: true}
	tx := h.Send(t, chaintest.Output{Script: script, Amount: half})
	before := scan(t, h, chain.Cursor{}, watch)
	stop()
	if _, err := client.Best(t.Context()); err == nil || client.Health().Fault == "" {
		t.Error("stopped client returns no error")
	}
	// After a restart the node does not have the transaction any more, but the client does.
	n.Restart(t)
	h.client = startClient(t, light.Regtest, dir, n.P2P)
	h.net = bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), h.client, time.Now)
	h.catchUp(t)
	after := scan(t, h, before.Next, watch)
	if len(after.Transfers) != 1 || after.Transfers[0].Tx != tx || !after.Transfers[0].FirstSeen.Equal(before.Transfers[0].FirstSeen) {
		t.Errorf("transfers %+v, want %+v", after.Transfers, before.Transfers)
	}
	if !after.ViewSince.After(before.ViewSince) {
		t.Errorf("ViewSince is %s, want a time after the restart", after.ViewSince)
	}
}

func TestRun_waits_for_another_process(t *testing.T) {
	t.Parallel()
	n := bitcointest.Btcd(t)
	dir := t.TempDir()
	first := light.New(light.Config{Network: light.Regtest, Dir: dir, Peers: []string{n.P2P}, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	stop := runClient(t, first)
	(&harness{Node: n, client: first}).catchUp(t)
	second := startClient(t, light.Regtest, dir, n.P2P)
	until(t, func() string {
		if f := second.Health().Fault; f != "another process uses the folder "+dir {
			return "fault: " + f
		}
		return ""
	})
	stop()
	(&harness{Node: n, client: second}).catchUp(t)
}

func TestRun_names_an_unusable_folder(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"other_network": func(t *testing.T, dir string) {
			stop := runClient(t, light.New(light.Config{Network: light.Signet, Dir: dir, Log: slog.New(slog.DiscardHandler), Now: time.Now}))
			until(t, func() string {
				if _, err := os.Stat(filepath.Join(dir, "block_headers.bin")); err != nil {
					return err.Error()
				}
				return ""
			})
			stop()
		},
		"no_database": func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "light.db"), bytes.Repeat([]byte("scribble"), 4096), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			prepare(t, dir)
			err := light.New(light.Config{Network: light.Regtest, Dir: dir, Log: slog.New(slog.DiscardHandler), Now: time.Now}).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "may be deleted") {
				t.Errorf("run: %v", err)
			}
		})
	}
}

func TestHealth_without_peers_names_the_missing_peers(t *testing.T) {
	t.Parallel()
	network := light.Mainnet
	params := *network.Params
	params.DNSSeeds, network.Params = nil, &params
	client := startClient(t, network, t.TempDir())
	until(t, func() string {
		if h := client.Health(); h.Fault != "0 of 4 peers agree on block 0" || h.Source != "light client" {
			return fmt.Sprintf("%+v", h)
		}
		return ""
	})
	if _, err := client.AtHeight(t.Context(), 1); !errors.Is(err, utxo.ErrNoBlock) {
		t.Errorf("block 1: %v", err)
	}
}

func TestHealth_reports_the_progress_of_the_headers(t *testing.T) {
	t.Parallel()
	// The peer claims a chain of 5,000 blocks, and has none of them.
	address := startFakePeer(t, "127.1.0.1", waitDisconnected)
	client := startClient(t, light.Regtest, t.TempDir(), address)
	until(t, func() string {
		if h := client.Health(); h.Progress != "reading headers: 0 of about 5,000" || h.Peers != 1 {
			return fmt.Sprintf("%+v", h)
		}
		return ""
	})
	if _, err := client.Best(t.Context()); err == nil || err.Error() != "reading headers: 0 of about 5,000" {
		t.Errorf("best: %v", err)
	}
}

func TestRun_ends_its_goroutines(t *testing.T) {
	n := bitcointest.Btcd(t)
	client := light.New(light.Config{Network: light.Regtest, Dir: t.TempDir(), Peers: []string{n.P2P}, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	stop := runClient(t, client)
	(&harness{Node: n, client: client}).catchUp(t)
	stop()
	until(t, func() string {
		stacks := make([]byte, 1<<20)
		for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "neutrino") || strings.Contains(stack, "btcd/peer") || strings.Contains(stack, "bitcoin/light.(") {
				return stack
			}
		}
		return ""
	})
}

func TestMessages_contain_no_destination(t *testing.T) {
	t.Parallel()
	n := bitcointest.Btcd(t)
	tap := newTap(t, n.P2P)
	client := startClient(t, light.Regtest, t.TempDir(), tap.address)
	h := &harness{Node: n, client: client, net: bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), client, time.Now)}
	h.catchUp(t)
	script := n.NewScript(t)
	watch := chaintest.Watch{script: true}
	s := scan(t, h, chain.Cursor{}, watch)
	tx := h.Send(t, chaintest.Output{Script: script, Amount: half})
	h.Mine(t, tx)
	h.Send(t, chaintest.Output{Script: script, Amount: half})
	if s = scan(t, h, s.Next, watch); len(s.Transfers) != 2 {
		t.Fatalf("transfers: %+v", s.Transfers)
	}

	raw, err := hex.DecodeString(script)
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	tap.mu.Lock()
	defer tap.mu.Unlock()
	for _, sent := range tap.sent {
		if bytes.Contains(sent, raw[2:]) {
			t.Error("destination was sent")
		}
		for r := bytes.NewReader(sent); r.Len() > 0; {
			m, _, err := wire.ReadMessage(r, wire.AddrV2Version, magic)
			if err != nil {
				t.Fatal(err)
			}
			commands[m.Command()] = true
			if v, ok := m.(*wire.MsgVersion); ok && (v.UserAgent != "/btcwire:0.5.0/neutrino:0.17.0/" || !v.AddrMe.IP.Equal(nil) && !v.AddrMe.IP.IsUnspecified()) {
				t.Errorf("version message identifies the client: %+v", v)
			}
		}
	}
	allowed := []string{
		"version", "verack", "sendaddrv2", "sendheaders", "ping", "pong",
		"getheaders", "getcfheaders", "getcfcheckpt", "getcfilters", "getdata",
	}
	for command := range commands {
		if !slices.Contains(allowed, command) {
			t.Errorf("command %q was sent", command)
		}
	}
}

func TestPeers_that_misbehave_are_disconnected(t *testing.T) {
	t.Parallel()
	for name, behave := range map[string]func(conn net.Conn){
		"inv_flood": func(conn net.Conn) {
			for {
				m := wire.NewMsgInv()
				for range wire.MaxInvPerMsg {
					i := wire.NewInvVect(wire.InvTypeTx, &chainhash.Hash{})
					rand.Read(i.Hash[:])
					m.AddInvVect(i)
				}
				if wire.WriteMessage(conn, m, wire.AddrV2Version, magic) != nil {
					return
				}
			}
		},
		"ping_flood": func(conn net.Conn) {
			for i := uint64(0); wire.WriteMessage(conn, wire.NewMsgPing(i), wire.AddrV2Version, magic) == nil; i++ {
			}
		},
		"other_network": func(conn net.Conn) {
			conn.Write(header(wire.MainNet, "inv", 0))
			waitDisconnected(conn)
		},
		"huge_message": func(conn net.Conn) {
			conn.Write(header(magic, "tx", 1<<31))
			waitDisconnected(conn)
		},
		"unconnected_headers": func(conn net.Conn) {
			m := wire.NewMsgHeaders()
			for i := range uint32(3) {
				m.AddBlockHeader(&wire.BlockHeader{Nonce: i})
			}
			wire.WriteMessage(conn, m, wire.AddrV2Version, magic)
			waitDisconnected(conn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := bitcointest.Btcd(t)
			disconnected := make(chan struct{}, 100)
			address := startFakePeer(t, "127.9.0.1", func(conn net.Conn) {
				behave(conn)
				select {
				case disconnected <- struct{}{}:
				default:
				}
			})
			client := light.New(light.Config{
				Network: light.Regtest, Dir: t.TempDir(), Peers: []string{address, n.P2P}, Log: slog.New(slog.DiscardHandler), Now: time.Now,
			})
			light.SetHeadersTimeout(client, 5*time.Second)
			runClient(t, client)
			h := &harness{Node: n, client: client}
			for range 2 {
				select {
				case <-disconnected:
				case <-time.After(time.Minute):
					t.Fatal("peer is still connected")
				}
			}
			h.catchUp(t)
			h.Send(t, chaintest.Output{Script: n.NewScript(t), Amount: half})
			h.Mine(t)
			if entries, fetches := light.Stored(client); entries > 6_000 || fetches > 6_000 {
				t.Errorf("%d entries and %d fetches stored, want at most 6000 of each", entries, fetches)
			}
		})
	}
}
