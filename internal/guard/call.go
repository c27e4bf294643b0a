package guard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

// Connector opens connections for calls to addresses that merchants and their accounts choose. *Dialer implements it.
type Connector interface {
	Dial(ctx context.Context, target Target, hostport string) (net.Conn, error)
}

// maxHeader bounds the headers of an answer, in bytes.
const maxHeader = 64 << 10

// RoundTrip sends a request on a connection of its own, so that the address is checked at every call, and follows no
// redirect. live is false for calls with test data only. If certificates is nil, the certificates of the
// system are trusted.
func RoundTrip(r *http.Request, c Connector, live bool, certificates *tls.Config) (*http.Response, error) {
	target := Target{Plain: r.URL.Scheme == "http", Live: live}
	return NoUpgrade(&http.Transport{
		DialContext: func(ctx context.Context, _, hostport string) (net.Conn, error) {
			return c.Dial(ctx, target, hostport)
		},
		TLSClientConfig:        certificates.Clone(),
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
	}).RoundTrip(r)
}
