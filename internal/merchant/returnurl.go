package merchant

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"chequer/internal/guard"
	"chequer/internal/idn"
)

// maxURL is the maximum length of an address, in characters.
const maxURL = 2048

// ParseReturnURL returns an address to which the shopper may be sent, with an international domain
// name in Punycode. An empty text is no address, because clients send it for an unset field.
func ParseReturnURL(text string) (string, error) {
	text = idn.URL(text)
	if text != "" && !isReturnURL(text) {
		return "", errors.New("must be an absolute https address with a host name, and without a user name")
	}
	return text, nil
}

// ParseConnectURL returns an address of a shop to which a browser may send the key of a plug-in, with an international
// domain name in Punycode. Plain http is accepted for this machine and for hosts of a private network only.
func ParseConnectURL(text string) (*url.URL, error) {
	text = idn.URL(text)
	if utf8.RuneCountInString(text) > maxURL {
		return nil, fmt.Errorf("must have at most %d characters", maxURL)
	}
	u, err := url.Parse(text)
	if err != nil || strings.ContainsFunc(text, isForbiddenInURL) || u.Opaque != "" || u.Scheme != "https" && u.Scheme != "http" || !hasValidHost(u) {
		return nil, errors.New("must be an absolute https address with a host name")
	}
	if u.User != nil || strings.Contains(text, "#") {
		return nil, errors.New("must have neither a user name nor a fragment")
	}
	if u.Scheme == "http" && !guard.IsPrivateHost(u.Hostname()) {
		return nil, errors.New("must be an https address: over http, others could read the key on its way to a host on the internet")
	}
	return u, nil
}

// ParsePluginReturnURL is ParseReturnURL for an invoice of a plug-in. It also accepts the http addresses that ParseConnectURL
// accepts.
func ParsePluginReturnURL(text string) (string, error) {
	if u, err := ParseConnectURL(text); err == nil && u.Scheme == "http" {
		return idn.URL(text), nil
	}
	return ParseReturnURL(text)
}

// isReturnURL reports whether every browser reads an address as a page of one named host over
// https. It allows http only where https is not available: for localhost, and for onion services,
// which are encrypted anyway. Backslashes, tabs and line feeds are refused, because browsers turn a
// backslash into a slash and remove tabs and line feeds.
func isReturnURL(text string) bool {
	if utf8.RuneCountInString(text) > maxURL || strings.ContainsFunc(text, isForbiddenInURL) {
		return false
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.User != nil || !hasValidHost(u) {
		return false
	}
	host := strings.ToLower(u.Hostname())
	switch u.Scheme {
	case "https":
		return true
	case "http":
		return host == "localhost" || strings.HasSuffix(host, ".onion")
	}
	return false
}

// isForbiddenInURL reports whether an address must not contain a character.
func isForbiddenInURL(r rune) bool {
	return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r)
}

// hostPattern matches a host name of ASCII labels (RFC 1123, section 2.1).
var hostPattern = regexp.MustCompile(`^([A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?\.)*[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

// digitLabel matches a host that browsers read as an IPv4 address, or refuse, because its last label is a number.
var digitLabel = regexp.MustCompile(`(^|\.)(0[xX][0-9A-Fa-f]*|[0-9]+)$`)

// hasValidHost reports whether an address has a valid host name, and a valid port if it has one. An IPv4 address must have
// the usual notation, because browsers change others: 2130706433 and 0x7f.1 are 127.0.0.1.
func hasValidHost(u *url.URL) bool {
	name, port := u.Hostname(), u.Port()
	if !hostPattern.MatchString(name) || len(name) > 253 {
		return false
	}
	if address, err := netip.ParseAddr(name); digitLabel.MatchString(name) && (err != nil || !address.Is4()) {
		return false
	}
	if u.Host == name {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}
