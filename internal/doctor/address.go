package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strings"

	"chequer/internal/readiness"
	"chequer/internal/token"
)

// examineAddress reports whether shoppers can reach the public address, and whether the server of this
// installation answers there. isRunning reports whether that server answers on its own address.
func (e *examination) examineAddress(ctx context.Context, isRunning bool) {
	u, err := url.Parse(e.Settings.BaseURL)
	if err != nil {
		return // the settings have been checked
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	switch {
	case host == "localhost" || ip != nil && ip.IsLoopback():
		e.warn("address", "%s is reached only from this machine: set CHEQUER_BASE_URL to the public address", e.Settings.BaseURL)
		if !isRunning {
			return
		}
	case strings.HasSuffix(host, ".onion"):
		e.ok("address", "%s; it was not fetched, because that needs Tor", e.Settings.BaseURL)
		return
	case u.Scheme == "http":
		e.warn("address", "%s has no TLS: put a proxy with TLS in front of this server and set CHEQUER_BASE_URL to its https address", e.Settings.BaseURL)
	}
	e.fetchAddress(ctx, isRunning)
}

// fetchAddress fetches /readyz at the public address with a challenge that only this installation
// can answer. It does not send the installation's pass, because the address may lead to a server of
// another operator.
func (e *examination) fetchAddress(ctx context.Context, isRunning bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	challenge := token.New(32)
	found, status, err := readiness.Fetch(ctx, e.Settings.BaseURL+"/readyz?challenge="+challenge, "")
	switch {
	case status == 0:
		level, reason := unreachedLevel(err)
		e.add(level, "address", "%s %s", e.Settings.BaseURL, reason)
	case !isRunning && status >= 500:
		e.fail("address", "%s answers %d, and chequer serve does not run on %s", e.Settings.BaseURL, status, e.Settings.Listen)
	case status >= 300 && status < 400:
		e.fail("address", "%s redirects elsewhere: CHEQUER_BASE_URL must be the address after the redirect", e.Settings.BaseURL)
	case found.Proof == "":
		e.fail("address", "%s does not lead to this server: /readyz answers %d. The proxy must forward the whole path unchanged, including the base path", e.Settings.BaseURL, status)
	case found.Proof != e.Identity.Prove(challenge):
		e.fail("address", "%s leads to another installation of Chequer", e.Settings.BaseURL)
	default:
		e.ok("address", "%s leads to this server", e.Settings.BaseURL)
	}
}

// unreachedLevel returns the level of the finding that the public address did not answer, and the reason. A network may refuse connections
// from inside to its own public address. A refused connection is therefore only a warning.
func unreachedLevel(err error) (Level, string) {
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return LevelFail, "does not resolve: create a DNS record for " + e.Name + " that points to this server"
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return LevelFail, "has a certificate that browsers refuse: " + e.Err.Error()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the address, which contains the challenge
	}
	return LevelWarn, "was not reached from this machine: " + err.Error() + ". Shoppers may still reach it from outside of this network"
}
