package light

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"

	"github.com/btcsuite/btcd/wire"
)

// gate withholds neutrino's requests for filter headers while it is connected to peers of too
// few groups. If only one peer is connected, neutrino stores its answer, and later bans every
// peer that contradicts it.
type gate struct {
	requiredGroups int

	mu    sync.Mutex
	ready map[group]int // number of connections after the handshake
}

func newGate(requiredGroups int) *gate {
	return &gate{requiredGroups: requiredGroups, ready: map[group]int{}}
}

// guard returns a connection whose requests pass the gate.
func (g *gate) guard(conn net.Conn) net.Conn {
	return &gatedConn{Conn: conn, gate: g, group: groupOfPeer(conn.RemoteAddr())}
}

// isOpen reports whether peers of enough groups are connected.
func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.ready) >= g.requiredGroups
}

func (g *gate) add(peers group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ready[peers]++
}

func (g *gate) remove(peers group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ready[peers]--; g.ready[peers] <= 0 {
		delete(g.ready, peers)
	}
}

// gatedConn is a connection to a peer. It may have one reader and one writer at a time.
type gatedConn struct {
	net.Conn
	gate  *gate
	group group

	in, out  frames
	withheld bool // whether the message being written is withheld
	mu       sync.Mutex
	ready    bool
	closed   bool
}

func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	for rest := b[:n]; len(rest) > 0; {
		var header []byte
		if header, _, rest = c.in.next(rest); header != nil && command(header) == wire.CmdVerAck {
			c.setReady()
		}
	}
	return n, err
}

func (c *gatedConn) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		var header, payload []byte
		if header, payload, rest = c.out.next(rest); header != nil {
			switch command(header) {
			case wire.CmdGetCFHeaders, wire.CmdGetCFCheckpt:
				c.withheld = !c.gate.isOpen()
			default:
				c.withheld = false
			}
			payload = append(header, payload...)
		}
		if c.withheld || len(payload) == 0 {
			continue
		}
		if _, err := c.Conn.Write(payload); err != nil {
			return len(b) - len(rest), err
		}
	}
	return len(b), nil
}

// setReady counts the connection after its handshake.
func (c *gatedConn) setReady() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready && !c.closed {
		c.ready = true
		c.gate.add(c.group)
	}
}

func (c *gatedConn) Close() error {
	c.mu.Lock()
	if c.ready && !c.closed {
		c.gate.remove(c.group)
	}
	c.closed = true
	c.mu.Unlock()
	return c.Conn.Close()
}

// frames splits a stream into messages.
type frames struct {
	header    []byte // incomplete header
	remaining uint32 // remaining bytes of the message's payload
}

// next splits the next bytes of the stream into a header, if one ends here, the payload after
// it, and the rest.
func (f *frames) next(b []byte) (header, payload, rest []byte) {
	if f.remaining == 0 {
		n := min(wire.MessageHeaderSize-len(f.header), len(b))
		f.header, b = append(f.header, b[:n]...), b[n:]
		if len(f.header) < wire.MessageHeaderSize {
			return nil, nil, nil
		}
		header, f.header = f.header, nil
		f.remaining = binary.LittleEndian.Uint32(header[16:20])
	}
	n := min(uint64(f.remaining), uint64(len(b)))
	f.remaining -= uint32(n)
	return header, b[:n], b[n:]
}

// command returns the command in a message's header.
func command(header []byte) string { return string(bytes.TrimRight(header[4:16], "\x00")) }
