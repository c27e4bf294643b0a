package light_test

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/chain/bitcoin/light"
)

// falsifyHeader replaces the newest filter header of an answer.
func falsifyHeader(m wire.Message) {
	if h, ok := m.(*wire.MsgCFHeaders); ok && len(h.FilterHashes) > 0 {
		h.FilterHashes[len(h.FilterHashes)-1] = &chainhash.Hash{1}
	}
}

// delayedProxy forwards connections to a node after ready is closed.
func delayedProxy(t *testing.T, ip, node string, ready <-chan struct{}) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				select {
				case <-ready:
				case <-t.Context().Done():
					return
				}
				to, err := net.Dial("tcp", node)
				if err != nil {
					return
				}
				go func() { io.Copy(to, conn); to.Close() }()
				io.Copy(conn, to)
			}()
		}
	}()
	return listener.Addr().String()
}

func TestFilterHeaders_of_one_lying_peer(t *testing.T) {
	t.Parallel()

	t.Run("stored_at_an_earlier_start_are_fetched_again", func(t *testing.T) {
		t.Parallel()
		n := bitcointest.Btcd(t, bitcointest.Listen("127.1.0.1"))
		address := changingProxy(t, "127.2.0.1", n.P2P, falsifyHeader)
		config := light.Config{Network: light.Regtest, Dir: t.TempDir(), Peers: []string{address}, Log: slog.New(slog.DiscardHandler), Now: time.Now}
		first := light.New(config)
		stop := runClient(t, first)
		(&harness{Node: n, client: first}).catchUp(t)
		stop()

		config.Peers = []string{n.P2P}
		second := light.New(config)
		runClient(t, second)
		reported := false
		until(t, func() string {
			h := second.Health()
			reported = reported || strings.Contains(h.Fault, "serve another filter header for block 110 than the stored one")
			if !reported {
				return h.Fault
			}
			return ""
		})
		(&harness{Node: n, client: second}).catchUp(t)
		n.Mine(t)
		(&harness{Node: n, client: second}).catchUp(t)
		if h := second.Health(); h.Fault != "" || h.Progress != "" {
			t.Errorf("%+v", h)
		}
	})

	t.Run("stored_before_newer_blocks_are_fetched_again", func(t *testing.T) {
		t.Parallel()
		n := bitcointest.Btcd(t, bitcointest.Listen("127.1.0.1"))
		address := changingProxy(t, "127.2.0.1", n.P2P, falsifyHeader)
		config := light.Config{Network: light.Regtest, Dir: t.TempDir(), Peers: []string{address}, Log: slog.New(slog.DiscardHandler), Now: time.Now}
		first := light.New(config)
		stop := runClient(t, first)
		(&harness{Node: n, client: first}).catchUp(t)
		stop()
		// Neutrino bans every peer whose filter headers do not continue the stored ones.
		for range 3 {
			n.Mine(t)
		}
		config.Peers = []string{n.P2P}
		second := light.New(config)
		runClient(t, second)
		(&harness{Node: n, client: second}).catchUp(t)
	})

	t.Run("are_not_stored_when_it_answers_first", func(t *testing.T) {
		t.Parallel()
		n := bitcointest.Btcd(t, bitcointest.Listen("127.1.0.1"))
		requested, ready := make(chan struct{}, 100), make(chan struct{})
		address := changingProxy(t, "127.2.0.1", n.P2P, func(m wire.Message) {
			falsifyHeader(m)
			if _, ok := m.(*wire.MsgHeaders); ok {
				select {
				case requested <- struct{}{}:
				default:
				}
			}
		})
		network := light.Regtest
		network.Trust = light.Trust{Peers: 3, Filters: 2, Announcers: 2}
		peers := []string{address, delayedProxy(t, "127.3.0.1", n.P2P, ready), delayedProxy(t, "127.4.0.1", n.P2P, ready), delayedProxy(t, "127.5.0.1", n.P2P, ready)}
		c := light.New(light.Config{Network: network, Dir: t.TempDir(), Peers: peers, Log: slog.New(slog.DiscardHandler), Now: time.Now})
		runClient(t, c)
		select {
		case <-requested:
		case <-time.After(time.Minute):
			t.Fatal("first peer is not asked for headers")
		}
		close(ready)
		(&harness{Node: n, client: c}).catchUp(t)
	})
}

func TestGate_withholds_filter_requests_with_too_few_groups(t *testing.T) {
	t.Parallel()
	write := func(conn net.Conn, m wire.Message) {
		t.Helper()
		if err := wire.WriteMessage(conn, m, wire.AddrV2Version, magic); err != nil {
			t.Fatal(err)
		}
	}
	gate := light.NewGate(2)
	first, remote := connect(t, gate, "127.1.0.1")
	second, secondRemote := connect(t, gate, "127.2.0.1")
	request := wire.NewMsgGetCFHeaders(wire.GCSFilterRegular, 1, &chainhash.Hash{1})
	next := func() string {
		t.Helper()
		m, _, err := wire.ReadMessage(remote, wire.AddrV2Version, magic)
		if err != nil {
			t.Fatal(err)
		}
		return m.Command()
	}
	handshake := func(local, remote net.Conn) {
		t.Helper()
		write(remote, wire.NewMsgVerAck())
		if m, _, err := wire.ReadMessage(local, wire.AddrV2Version, magic); err != nil || m.Command() != "verack" {
			t.Fatalf("read %v, %v", m, err)
		}
	}
	// With one connected group the filter requests are withheld, and no other messages.
	handshake(first, remote)
	write(first, request)
	write(first, wire.NewMsgGetCFCheckpt(wire.GCSFilterRegular, &chainhash.Hash{1}))
	write(first, wire.NewMsgPing(1))
	if got := next(); got != "ping" {
		t.Errorf("with one group %q was sent, want ping", got)
	}
	handshake(second, secondRemote)
	write(first, request)
	write(first, wire.NewMsgPing(2))
	if got := []string{next(), next()}; got[0] != "getcfheaders" || got[1] != "ping" {
		t.Errorf("with two groups %q were sent, want getcfheaders and ping", got)
	}
	second.Close()
	second.Close()
	write(first, request)
	write(first, wire.NewMsgPing(3))
	if got := next(); got != "ping" {
		t.Errorf("after one group disconnected %q was sent, want ping", got)
	}
}

// connect returns both ends of a connection to an address, the local end behind a gate.
func connect(t *testing.T, gate light.Gate, ip string) (local, remote net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if remote, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); remote.Close() })
	return gate.Guard(conn), remote
}
