package guard

import "net/http"

// NoUpgrade returns a transport whose response bodies all end. A response that switches protocols
// (RFC 9110, section 15.2.2) has the connection as its body, and no context limits reads from it.
// NoUpgrade closes the connection and makes the body empty.
func NoUpgrade(next http.RoundTripper) http.RoundTripper { return noUpgrade{next} }

type noUpgrade struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (n noUpgrade) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := n.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusSwitchingProtocols {
		_ = answer.Body.Close()
		answer.Body = http.NoBody
	}
	return answer, err
}

// CloseIdleConnections implements the optional interface of http.Client's method with that name.
func (n noUpgrade) CloseIdleConnections() {
	if c, ok := n.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
