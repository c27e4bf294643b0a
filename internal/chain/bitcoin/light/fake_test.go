package light_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire"
)

// startFakePeer starts a peer that serves all services and claims a high chain. It calls serve for each
// connection after the handshake.
func startFakePeer(t *testing.T, ip string, serve func(conn net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			wg.Go(func() {
				defer conn.Close()
				if wantsTxs, err := handshake(conn); err == nil && wantsTxs {
					serve(conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		mu.Lock()
		for _, conn := range conns {
			conn.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return listener.Addr().String()
}

const magic = wire.TestNet // regtest's

// handshake completes the handshake, and reports whether the client wants announcements of transactions.
// Neutrino does not, and has no limits for the messages of a peer.
func handshake(conn net.Conn) (wantsTxs bool, err error) {
	m, _, err := wire.ReadMessage(conn, wire.ProtocolVersion, magic)
	if err != nil {
		return false, err
	}
	services := wire.SFNodeNetwork | wire.SFNodeWitness | wire.SFNodeCF
	me := wire.NewNetAddressIPPort(net.IPv4zero, 0, services)
	v := wire.NewMsgVersion(me, me, uint64(time.Now().UnixNano()), 5_000)
	v.Services, v.ProtocolVersion = services, int32(wire.AddrV2Version)
	for _, m := range []wire.Message{v, wire.NewMsgVerAck()} {
		if err := wire.WriteMessage(conn, m, wire.AddrV2Version, magic); err != nil {
			return false, err
		}
	}
	remote, ok := m.(*wire.MsgVersion)
	return ok && !remote.DisableRelayTx, nil
}

// waitDisconnected waits until the client disconnects.
func waitDisconnected(conn net.Conn) { io.Copy(io.Discard, conn) }

// header returns a message's header in the wire format.
func header(magic wire.BitcoinNet, command string, length uint32) []byte {
	b := make([]byte, 24)
	binary.LittleEndian.PutUint32(b, uint32(magic))
	copy(b[4:16], command)
	binary.LittleEndian.PutUint32(b[16:], length)
	return b
}

// tap forwards connections to a node and records the messages to it.
type tap struct {
	address string
	mu      sync.Mutex
	sent    [][]byte // by connection
}

func newTap(t *testing.T, node string) *tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tp := &tap{address: listener.Addr().String()}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", node)
			if err != nil {
				conn.Close()
				continue
			}
			tp.mu.Lock()
			n := len(tp.sent)
			tp.sent = append(tp.sent, nil)
			tp.mu.Unlock()
			go func() { io.Copy(conn, to); conn.Close() }()
			go func() {
				defer to.Close()
				buffer := make([]byte, 1<<16)
				for {
					k, err := conn.Read(buffer)
					tp.mu.Lock()
					tp.sent[n] = append(tp.sent[n], buffer[:k]...)
					tp.mu.Unlock()
					if err != nil {
						return
					}
					if _, err := to.Write(buffer[:k]); err != nil {
						return
					}
				}
			}()
		}
	}()
	return tp
}

// changingProxy forwards connections to a node, and changes the node's messages.
func changingProxy(t *testing.T, ip, node string, change func(m wire.Message)) (address string) {
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
			to, err := net.Dial("tcp", node)
			if err != nil {
				conn.Close()
				continue
			}
			go func() { io.Copy(to, conn); to.Close() }()
			go func() {
				defer conn.Close()
				for {
					_, m, _, err := wire.ReadMessageWithEncodingN(to, wire.AddrV2Version, magic, wire.WitnessEncoding)
					if err != nil {
						return
					}
					change(m)
					if _, err := wire.WriteMessageWithEncodingN(conn, m, wire.AddrV2Version, magic, wire.WitnessEncoding); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}
