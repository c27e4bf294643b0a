package guard

import (
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Policy is the set of addresses that the server may call. The zero Policy allows the public internet.
type Policy struct {
	// Allow is the list of ranges that the operator allows, with any port and with http.
	Allow []netip.Prefix
}

// Target is a kind of call.
type Target struct {
	// Plain calls use http, others https.
	Plain bool
	// Live calls must use https, except in the ranges that the operator allows.
	Live bool
	// AnyPort calls may use any port, others only those of http and https.
	AnyPort bool
}

const maxURL = 2048 // characters

// Check returns a *RefusedError if the server must not call a URL. live calls must use https. Of a host name it checks only
// that it is not one of a private network; its addresses are checked at each call.
func (p Policy) Check(text string, live bool) error {
	u, err := url.Parse(text)
	if err != nil || utf8.RuneCountInString(text) > maxURL || strings.ContainsFunc(text, isUnusual) {
		return &RefusedError{"must be an absolute https address of at most 2048 characters"}
	}
	target := Target{Plain: u.Scheme == "http", Live: live}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || host == "":
		return &RefusedError{"must be an absolute https address"}
	case u.User != nil || u.Fragment != "":
		return &RefusedError{"must have no user, password or fragment"}
	}
	port, err := PortOf(u)
	if err != nil {
		return err
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return p.checkAddress(address, port, target)
	}
	if numeric.MatchString(host) {
		return &RefusedError{"must have a host name, or an IP address written as usual"}
	}
	return p.checkName(host, port, target)
}

// inside is the reason for refusing addresses that are not public.
const inside = "leads into the network of this server; the operator can allow it with CHEQUER_CALLBACK_ALLOW"

// check returns a *RefusedError for a scheme or port that is allowed only in the ranges of Policy.Allow.
func (t Target) check(port uint16) error {
	switch {
	case t.Plain && t.Live:
		return &RefusedError{"must be https"}
	case port != 80 && port != 443 && !t.AnyPort:
		return &RefusedError{"must use port 443 or 80"}
	}
	return nil
}

// checkName returns a *RefusedError for a host name that must not be called. If the operator allows any
// ranges, every name passes, because it may resolve to an address in them.
func (p Policy) checkName(host string, port uint16, target Target) error {
	switch {
	case len(p.Allow) > 0:
		return nil
	case isPrivateName(host):
		return &RefusedError{inside}
	}
	return target.check(port)
}

// checkAddress returns a *RefusedError for an address that must not be called.
func (p Policy) checkAddress(address netip.Addr, port uint16, target Target) error {
	address = address.Unmap()
	switch {
	case address.Zone() == "" && within(p.Allow, address):
		return nil
	case !Public(address):
		return &RefusedError{inside}
	}
	return target.check(port)
}

// PortOf returns the port of a URL. The error is a *RefusedError.
func PortOf(u *url.URL) (uint16, error) {
	switch text := u.Port(); {
	case text == "" && strings.HasSuffix(u.Host, ":"):
		return 0, &RefusedError{"must have a port after the colon"}
	case text == "" && u.Scheme == "http":
		return 80, nil
	case text == "":
		return 443, nil
	default:
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return 0, &RefusedError{"must have a port from 1 to 65535"}
		}
		return uint16(port), nil
	}
}

// numeric matches hosts that some resolvers parse as IPv4 addresses, such as 127.1, 0x7f000001 or
// 2130706433. See the URL Standard, "ends in a number".
var numeric = regexp.MustCompile(`(^|\.)(0x[0-9a-f]*|[0-9]+)$`)

// isUnusual reports whether programs parse URLs with the character in different ways.
func isUnusual(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }
