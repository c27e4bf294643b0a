package app

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strings"

	"chequer/internal/config"
)

// examineAddress reports whether shoppers can reach the public address, and whether the server of this
// installation answers there. isRunning reports whether that server answers on its own address.
func (c *Core) examineAddress(ctx context.Context, cfg config.Config, isRunning bool, say func(Level, string, string, ...any)) {
	u, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return // the settings have been checked
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	switch {
	case host == "localhost" || ip != nil && ip.IsLoopback():
		say(LevelWarn, "address", "%s is reached from this machine alone: set CHEQUER_BASE_URL to the public address", cfg.BaseURL)
		if !isRunning {
			return
		}
	case strings.HasSuffix(host, ".onion"):
		say(LevelOK, "address", "%s; it was not fetched, because that needs Tor", cfg.BaseURL)
		return
	case u.Scheme == "http":
		say(LevelWarn, "address", "%s has no TLS: put a proxy with TLS in front of this server and set CHEQUER_BASE_URL to its https address", cfg.BaseURL)
	}
	c.fetchAddress(ctx, cfg, isRunning, say)
}

// fetchAddress fetches /readyz at the public address with a challenge that only this installation
// can answer. It does not send the installation's pass, because the address may lead to a server of
// another operator.
func (c *Core) fetchAddress(ctx context.Context, cfg config.Config, isRunning bool, say func(Level, string, string, ...any)) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	challenge := token(32)
	found, status, err := fetchReadiness(ctx, cfg.BaseURL+"/readyz?challenge="+challenge, "")
	switch {
	case status == 0:
		level, reason := unreached(err)
		say(level, "address", "%s %s", cfg.BaseURL, reason)
	case !isRunning && status >= 500:
		say(LevelFail, "address", "%s answers %d, and chequer serve does not run on %s", cfg.BaseURL, status, cfg.Listen)
	case status >= 300 && status < 400:
		say(LevelFail, "address", "%s redirects elsewhere: CHEQUER_BASE_URL must be the address after the redirect", cfg.BaseURL)
	case found.Proof == "":
		say(LevelFail, "address", "%s does not lead to this server: /readyz answers %d. The proxy must forward the whole path unchanged, including the base path", cfg.BaseURL, status)
	case found.Proof != c.prove(challenge):
		say(LevelFail, "address", "%s leads to another installation of Chequer", cfg.BaseURL)
	default:
		say(LevelOK, "address", "%s leads to this server", cfg.BaseURL)
	}
}

// unreached describes why there was no answer. A network may refuse connections from inside to its
// own public address. A refused connection is therefore only a warning.
func unreached(err error) (Level, string) {
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
