package programtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// FreeAddress returns an unused address at an IP, such as "127.0.0.1:12345".
func FreeAddress(t testing.TB, ip string) string {
	t.Helper()
	port, err := FreePort(ip)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(ip, strconv.Itoa(port))
}

// FreePort returns an unused port at an IP. It is below the range of ports for outgoing
// connections, so that no such connection takes it before a program listens on it.
func FreePort(ip string) (int, error) {
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port on %s", ip)
}
