package account

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// Site is the address at which browsers reach the desk.
type Site struct {
	Origin string // scheme, host and port
	Host   string // host name without port: the relying party of passkeys
	Path   string // base path, without a slash at its end
	Secure bool   // https
}

// ErrInsecure means that browsers would send the secrets of the desk unprotected.
var ErrInsecure = errors.New("the desk needs https: set CHEQUER_BASE_URL to an address with https, or open it on the server itself as http://localhost")

// NewSite returns the site of a base URL. A loopback address becomes localhost, because browsers
// refuse passkeys for addresses without a name. The error is ErrInsecure for http on another host.
func NewSite(base string) (Site, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return Site{}, errors.New("the base URL has no host")
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	s := Site{Host: host, Path: strings.TrimRight(u.Path, "/"), Secure: u.Scheme == "https"}
	if !s.Secure {
		if ip := net.ParseIP(host); ip.IsLoopback() || ip.IsUnspecified() {
			s.Host = "localhost"
		}
		if s.Host != "localhost" && !strings.HasSuffix(s.Host, ".localhost") {
			return Site{}, ErrInsecure
		}
	}
	s.Origin = u.Scheme + "://" + s.Host
	if strings.Contains(s.Host, ":") {
		s.Origin = u.Scheme + "://[" + s.Host + "]"
	}
	if port != "" {
		s.Origin += ":" + port
	}
	return s, nil
}

// Passkeys reports whether browsers allow passkeys at the site: not if its host is an IP address. See
// WebAuthn, 5.1.2, "effective domain".
func (s Site) Passkeys() bool { return s.Host != "" && net.ParseIP(s.Host) == nil }

// URL returns the address of a path of the desk.
func (s Site) URL(path string) string { return s.Origin + s.Path + path }
