package lndtest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"

	"chequer/internal/guard"
)

// Switch is a connector that reaches the parts of a test on this machine, until it is off.
type Switch struct {
	dialer guard.Dialer

	mu    sync.Mutex
	off   bool
	conns []net.Conn
}

// NewSwitch returns a new Switch that is on. It has the policy of an operator who allows this machine.
func NewSwitch() *Switch {
	return &Switch{dialer: guard.Dialer{Policy: guard.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}}
}

// Dial implements guard.Connector.
func (s *Switch) Dial(ctx context.Context, target guard.Target, hostport string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return nil, errors.New("connection refused")
	}
	conn, err := s.dialer.Dial(ctx, target, hostport)
	if err == nil {
		s.conns = append(s.conns, conn)
	}
	return conn, err
}

// SetOff ends all connections and refuses new ones, or allows them again.
func (s *Switch) SetOff(off bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = off
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	s.conns = nil
}
