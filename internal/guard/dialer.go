package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// Resolver resolves host names; net.DefaultResolver implements it.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer connects to addresses that a Policy allows. It is safe for concurrent use.
type Dialer struct {
	Policy   Policy
	Resolver Resolver
	// HostAddresses lists the addresses of this host; net.InterfaceAddrs if nil.
	HostAddresses func() ([]net.Addr, error)
	// Connect dials a numeric address; net.Dialer if nil.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Dial connects to a host and port like DialContext, for one kind of call. It resolves the name
// once, checks every address, and connects to one of these addresses, so that a change of the
// name's addresses has no effect. The errors include *RefusedError.
func (d *Dialer) Dial(ctx context.Context, target Target, hostport string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, &RefusedError{"must have a port from 1 to 65535"}
	}
	addresses, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, address := range addresses {
		if err := d.checkAddress(address, uint16(port), target); err != nil {
			return nil, err
		}
	}
	return d.connect(ctx, addresses, portText)
}

// resolve returns the addresses of a host, at least one.
func (d *Dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	found, err := d.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
			return nil, errors.New("the host name has no address")
		}
		return nil, fmt.Errorf("look up the host name: %w", err)
	}
	if len(found) == 0 {
		return nil, errors.New("the host name has no address")
	}
	return found, nil
}

// checkAddress returns a *RefusedError for an address that the policy refuses, or that belongs to this host.
func (d *Dialer) checkAddress(address netip.Addr, port uint16, target Target) error {
	if err := d.Policy.checkAddress(address, port, target); err != nil {
		return err
	}
	if within(d.Policy.Allow, address.Unmap()) {
		return nil
	}
	list := d.HostAddresses
	if list == nil {
		list = net.InterfaceAddrs
	}
	own, err := list()
	if err != nil {
		return fmt.Errorf("addresses of this host: %w", err)
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(address.Unmap().AsSlice()) {
			return &RefusedError{"belongs to this server"}
		}
	}
	return nil
}

// connect connects to the first address that accepts the connection.
func (d *Dialer) connect(ctx context.Context, addresses []netip.Addr, port string) (net.Conn, error) {
	dial := d.Connect
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	var errs []error
	for _, address := range addresses {
		conn, err := dial(ctx, "tcp", net.JoinHostPort(address.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}
