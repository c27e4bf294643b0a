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

// fake is a peer that does what a test wants. It greets whoever connects, as one
// that serves everything and is far ahead; do is called for each connection.
func fake(t *testing.T, ip string, do func(conn net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			wg.Go(func() {
				defer conn.Close()
				if wants, err := greet(conn); err == nil && wants {
					do(conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		mu.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return listener.Addr().String()
}

const magic = wire.TestNet // regtest's

// greet tells whether who connected wants to hear of transactions: neutrino does
// not, which has no bounds on what a peer sends.
func greet(conn net.Conn) (wants bool, err error) {
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
	theirs, ok := m.(*wire.MsgVersion)
	return ok && !theirs.DisableRelayTx, nil
}

// gone waits until the other end is gone.
func gone(conn net.Conn) { io.Copy(io.Discard, conn) }

// header is a message's header as the wire has it.
func header(magic wire.BitcoinNet, command string, length uint32) []byte {
	b := make([]byte, 24)
	binary.LittleEndian.PutUint32(b, uint32(magic))
	copy(b[4:16], command)
	binary.LittleEndian.PutUint32(b[16:], length)
	return b
}

// tap passes connections on to a node and keeps what is sent to it.
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

// liar passes connections on to a node, and changes what the node answers.
func liar(t *testing.T, ip, node string, change func(m wire.Message)) (address string) {
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
