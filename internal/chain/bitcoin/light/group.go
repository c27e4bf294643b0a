package light

import (
	"encoding/binary"
	"net"
	"net/netip"
)

// group is a part of the address space that one operator is likely to control: a /16 of
// IPv4 or a /32 of IPv6.
type group uint64

// groupOf returns the group of an address.
func groupOf(address netip.Addr) group {
	address = address.Unmap()
	if address.Is4() {
		bytes := address.As4()
		return 4<<32 | group(binary.BigEndian.Uint16(bytes[:])) // 4 and 6 distinguish the IP versions
	}
	bytes := address.As16()
	return 6<<32 | group(binary.BigEndian.Uint32(bytes[:]))
}

// addressOf returns the remote IP address of a connection; invalid if there is none.
func addressOf(remote net.Addr) netip.Addr {
	if tcp, ok := remote.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// groupOfPeer returns the group of the remote address of a connection.
func groupOfPeer(remote net.Addr) group {
	if tcp, ok := remote.(*net.TCPAddr); ok {
		return groupOf(tcp.AddrPort().Addr())
	}
	return 0
}
