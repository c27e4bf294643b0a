package programtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// FreeAddress is an address at an IP, "127.0.0.1:12345", that nobody listens on.
func FreeAddress(t testing.TB, ip string) string {
	t.Helper()
	port, err := FreePort(ip)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(ip, strconv.Itoa(port))
}

// FreePort is a port that nobody listens on at an IP, below those that systems give
// to outgoing connections, so that it stays free until a program takes it.
func FreePort(ip string) (int, error) {
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port on %s", ip)
}
