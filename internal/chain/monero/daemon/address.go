package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"chequer/internal/guard"
)

// Address is the address of the RPC of a daemon, with its login. Printing it shows no password.
type Address struct {
	// URL is the URL of the RPC without user, password and path: "http://127.0.0.1:18081".
	URL string
	// User is the user of the login, empty if there is none.
	User string
	// Certificate is the SHA-256 of the daemon's certificate in its DER form. It is nil if the certificates of the system
	// are trusted.
	Certificate []byte

	password *string // a pointer, because package fmt prints the fields of structs
}

// pinField is the name of the field with the certificate in the fragment of an address.
const pinField = "sha256="

// ParseAddress reads an address, such as http://user:password@127.0.0.1:18081 or https://host:18089#sha256=HEX. The
// fragment is the SHA-256 of the daemon's certificate in hexadecimal digits, with or without colons. The error does not
// contain any part of the text, which may contain a password.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
		return Address{}, errors.New("want an address like http://user:password@127.0.0.1:18081 or https://host:18089#sha256=HEX")
	case strings.HasSuffix(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), ".onion"):
		return Address{}, errors.New("an onion service cannot be used: this program makes no connections over Tor")
	}
	if _, err := guard.PortOf(u); err != nil {
		return Address{}, err
	}
	a := Address{URL: (&url.URL{Scheme: u.Scheme, Host: u.Host}).String(), User: u.User.Username()}
	if password, isSet := u.User.Password(); u.User != nil {
		if a.User == "" || !isSet || password == "" || strings.ContainsFunc(a.User, isUnquotable) {
			return Address{}, errors.New("want a user and a password before the @, as in the daemon's setting rpc-login; the user is of printable ASCII characters without quotation marks and backslashes")
		}
		a.password = &password
	}
	if u.Fragment == "" {
		return a, nil
	}
	pin, isPin := strings.CutPrefix(strings.ToLower(u.Fragment), pinField)
	sum, err := hex.DecodeString(strings.ReplaceAll(pin, ":", ""))
	switch {
	case !isPin || err != nil || len(sum) != sha256.Size:
		return Address{}, errors.New("want #sha256= with the 64 hexadecimal digits of the SHA-256 of the daemon's certificate")
	case u.Scheme != "https":
		return Address{}, errors.New("a certificate needs https")
	}
	a.Certificate = sum
	return a, nil
}

// isUnquotable reports whether a character of a user cannot be in a quoted string of a login. See RFC 7616, section
// 3.4.
func isUnquotable(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }

// IsOwn reports whether the host of the address is this machine or in a private network. It decides by the text alone.
func (a Address) IsOwn() bool {
	u, err := url.Parse(a.URL)
	return err == nil && guard.IsPrivateHost(u.Hostname())
}

// Host returns the host and port of the address.
func (a Address) Host() string {
	_, host, _ := strings.Cut(a.URL, "://")
	return host
}

// String returns the address without the login.
func (a Address) String() string { return a.URL }

// Format implements fmt.Formatter. Every verb prints String.
func (a Address) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(a.String())) }

// LogValue implements slog.LogValuer.
func (a Address) LogValue() slog.Value { return slog.StringValue(a.String()) }

// MarshalText implements encoding.TextMarshaler.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }
