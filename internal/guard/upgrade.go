package guard

import "net/http"

// NoUpgrade is a transport whose answers all end. One that switches protocols
// (RFC 9110, section 15.2.2) hands its connection over as the body, and no context
// bounds what is read from that: here it is closed, and the body is empty.
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

// CloseIdleConnections is for http.Client's method of that name.
func (n noUpgrade) CloseIdleConnections() {
	if c, ok := n.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
