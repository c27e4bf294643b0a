// Package lightning defines how payment requests of the Lightning Network are made and looked up: the connection
// to a merchant's wallet or node, which is the provider of the requests, and the interface of providers.
package lightning

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

// Kind is the kind of a provider.
type Kind string

// The kinds of providers.
const (
	NWC      Kind = "nwc"
	Address  Kind = "address"
	LND      Kind = "lnd-rest"
	Phoenixd Kind = "phoenixd"
)

// Connection is the access to a provider. Printing it shows no secret.
type Connection struct {
	Kind Kind
	// Relays are the WebSocket URLs of the relays of a wallet, and WalletKey is its public key in hexadecimal
	// digits, for NWC.
	Relays    []string
	WalletKey string
	// User and Domain are the parts of a Lightning address.
	User, Domain string
	// Server is the URL of the API of lnd or phoenixd, without a slash at its end.
	Server string
	// Certificate is the SHA-256 of the certificate of lnd. It is nil if the certificates of the system are trusted.
	Certificate []byte
	// Secret is the key of NWC or the macaroon of lnd, in hexadecimal digits, or the password of phoenixd.
	Secret Secret
}

// Reveal returns the connection with its secret, in a form that ParseConnection reads.
func (c Connection) Reveal() string {
	switch c.Kind {
	case NWC:
		query := url.Values{"relay": c.Relays, "secret": {c.Secret.Reveal()}}
		return "nostr+walletconnect://" + c.WalletKey + "?" + query.Encode()
	case Address:
		return c.User + "@" + c.Domain
	case LND:
		text := "type=lnd-rest;server=" + c.Server + ";macaroon=" + c.Secret.Reveal()
		if c.Certificate != nil {
			text += ";certthumbprint=" + hex.EncodeToString(c.Certificate)
		}
		return text
	}
	return "type=phoenixd;server=" + c.Server + ";password=" + c.Secret.Reveal()
}

// String returns the provider for people: "NWC, relay.example".
func (c Connection) String() string {
	switch c.Kind {
	case NWC:
		hosts := make([]string, len(c.Relays))
		for i, relay := range c.Relays {
			hosts[i] = HostOf(relay)
		}
		return "NWC, " + strings.Join(hosts, ", ")
	case Address:
		return c.User + "@" + c.Domain
	case LND:
		return "lnd, " + HostOf(c.Server)
	}
	return "phoenixd, " + HostOf(c.Server)
}

// Format implements fmt.Formatter. Every verb prints String.
func (c Connection) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// LogValue implements slog.LogValuer.
func (c Connection) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText implements encoding.TextMarshaler.
func (c Connection) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// HostOf returns the host and port of a valid URL.
func HostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}
