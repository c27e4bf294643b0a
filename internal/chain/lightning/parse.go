package lightning

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"net/url"
	"strings"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"

	"chequer/internal/chain"
)

const (
	// MaxConnection is the maximum length of a connection, in bytes. It may contain a certificate.
	MaxConnection = 16 << 10
	// maxRelays is the maximum number of relays of a wallet.
	maxRelays = 5
	// maxPassword is the maximum length of a password, in bytes.
	maxPassword = 256
)

// errUnknownForm means that a text has the form of no connection.
var errUnknownForm = errors.New("not a connection: want a Lightning address (user@domain), nostr+walletconnect://…, " +
	"lndconnect://…, type=lnd-rest;server=URL;macaroon=HEX;certthumbprint=HEX, or type=phoenixd;server=URL;password=…")

// ParseConnection reads a connection as the provider shows it. The error does not contain any part of the text,
// which may be a secret.
func ParseConnection(text string) (Connection, error) {
	text = strings.TrimSpace(text)
	if len(text) > MaxConnection {
		return Connection{}, errors.New("the connection is longer than 16 KiB")
	}
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(lower, "nostr+walletconnect:"):
		return parseNWC(text)
	case strings.HasPrefix(lower, "lndconnect:"):
		return parseLNDConnect(text)
	case strings.HasPrefix(lower, "type="):
		return parseFields(text)
	}
	lower = strings.TrimPrefix(lower, "lightning:")
	switch {
	case strings.HasPrefix(lower, "lnurl1"):
		return Connection{}, errors.New("an LNURL code is not a connection: use the Lightning address (user@domain)")
	case strings.HasPrefix(lower, "lno1"), strings.HasPrefix(lower, "lnbc"), strings.HasPrefix(lower, "lntb"):
		return Connection{}, errors.New("a payment request or an offer is not a connection")
	case strings.HasSuffix(lower, ".onion"):
		return Connection{}, errOnion
	}
	if user, domain, ok := chain.LightningAddress(lower); ok {
		return Connection{Kind: Address, User: user, Domain: domain}, nil
	}
	return Connection{}, errUnknownForm
}

// parseFields reads fields that are separated by semicolons: "type=phoenixd;server=URL;password=…".
func parseFields(text string) (Connection, error) {
	fields := map[string]string{}
	rest := text // from the current field
	for field := range strings.SplitSeq(text, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(field), "=")
		if name = strings.ToLower(name); name == "type" && fields["type"] != "" || !ok && name != "" {
			return Connection{}, errors.New("a field of the connection is not of the form name=value")
		}
		fields[name] = strings.TrimSpace(value)
		if name == "key" && strings.EqualFold(fields["type"], string(NWC)) {
			_, key, _ := strings.Cut(rest, "=") // may contain semicolons
			return parseNWC(strings.TrimSpace(key))
		}
		_, rest, _ = strings.Cut(rest, ";")
	}
	switch Kind(strings.ToLower(fields["type"])) {
	case NWC:
		return Connection{}, errors.New("the field key is missing: want type=nwc;key=nostr+walletconnect://…")
	case LND:
		certificate := fields["certthumbprint"]
		if fields["macaroonfilepath"] != "" || fields["certfilepath"] != "" {
			return Connection{}, errors.New("files of the node cannot be read: paste the macaroon and the certificate")
		}
		if certificate == "" {
			certificate = fields["cert"]
		}
		return newLND(fields["server"], fields["macaroon"], certificate)
	case Phoenixd:
		server, err := parseServer(fields["server"])
		if err != nil {
			return Connection{}, err
		}
		if password := fields["password"]; password == "" || len(password) > maxPassword {
			return Connection{}, errors.New("the password is missing or too long: use http-password-limited-access of phoenix.conf")
		}
		return Connection{Kind: Phoenixd, Server: server, Secret: NewSecret(fields["password"])}, nil
	}
	return Connection{}, errors.New("the type of the connection is not nwc, lnd-rest or phoenixd")
}

// parseNWC reads a connection of NIP-47.
func parseNWC(text string) (Connection, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	if !strings.EqualFold(scheme, "nostr+walletconnect") {
		return Connection{}, errors.New("the key is not of the form nostr+walletconnect://…")
	}
	key, queryText, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	key = strings.ToLower(strings.TrimSuffix(key, "/"))
	if raw, err := hex.DecodeString(key); err != nil || len(raw) != 32 || !isKey(raw) {
		return Connection{}, errors.New("the wallet's public key is not valid: want 64 hexadecimal digits after nostr+walletconnect://")
	}
	query, err := url.ParseQuery(queryText)
	if err != nil {
		return Connection{}, errors.New("the part of the connection after the question mark is malformed")
	}
	secret := strings.ToLower(query.Get("secret"))
	if raw, err := hex.DecodeString(secret); err != nil || len(raw) != 32 || !isPrivateKey(raw) {
		return Connection{}, errors.New("the secret is missing or not valid: want secret= with 64 hexadecimal digits")
	}
	relays := query["relay"]
	if len(relays) == 0 || len(relays) > maxRelays {
		return Connection{}, errors.New("want 1 to 5 relays: relay=wss://…")
	}
	for _, relay := range relays {
		u, err := url.Parse(relay)
		if err != nil || u.Scheme != "wss" && u.Scheme != "ws" || u.Host == "" || u.User != nil || u.Fragment != "" {
			return Connection{}, errors.New("a relay is not a wss:// URL")
		}
		if isOnion(u) {
			return Connection{}, errOnion
		}
	}
	return Connection{Kind: NWC, Relays: relays, WalletKey: key, Secret: NewSecret(secret)}, nil
}

// isKey reports whether 32 bytes are the X coordinate of a public key.
func isKey(raw []byte) bool {
	_, err := schnorr.ParsePubKey(raw)
	return err == nil
}

// isPrivateKey reports whether 32 bytes are a private key.
func isPrivateKey(raw []byte) bool {
	var scalar btcec.ModNScalar
	return !scalar.SetByteSlice(raw) && !scalar.IsZero()
}

// parseLNDConnect reads a connection in the form of the project lndconnect.
func parseLNDConnect(text string) (Connection, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Connection{}, errors.New("the lndconnect URL is malformed")
	}
	query := u.Query()
	if !query.Has("macaroon") {
		return Connection{}, errors.New("the macaroon is missing: want macaroon=… in the lndconnect URL")
	}
	return newLND("https://"+u.Host, query.Get("macaroon"), query.Get("cert"))
}

// newLND returns a connection to lnd. The macaroon is in hexadecimal digits or in base64. The certificate is its
// SHA-256 in hexadecimal digits, PEM, the base64 of its DER form, or empty.
func newLND(server, macaroon, certificate string) (Connection, error) {
	server, err := parseServer(server)
	if err != nil {
		return Connection{}, err
	}
	raw, err := hex.DecodeString(macaroon)
	if err != nil {
		raw, err = decodeBase64(macaroon)
	}
	if err != nil || len(raw) == 0 {
		return Connection{}, errors.New("the macaroon is missing or not valid: want hexadecimal digits or base64")
	}
	c := Connection{Kind: LND, Server: server, Secret: NewSecret(hex.EncodeToString(raw))}
	if certificate != "" {
		c.Certificate, err = fingerprint(certificate)
	}
	return c, err
}

// fingerprint returns the SHA-256 of a certificate; see newLND.
func fingerprint(text string) ([]byte, error) {
	if sum, err := hex.DecodeString(strings.ReplaceAll(text, ":", "")); err == nil && len(sum) == sha256.Size {
		return sum, nil
	}
	der, err := decodeBase64(text)
	if block, _ := pem.Decode([]byte(text)); block != nil {
		der, err = block.Bytes, nil
	}
	if err == nil {
		_, err = x509.ParseCertificate(der)
	}
	if err != nil {
		return nil, errors.New("the certificate is not valid: want its SHA-256 in hexadecimal digits, or tls.cert as PEM or base64")
	}
	sum := sha256.Sum256(der)
	return sum[:], nil
}

// decodeBase64 decodes base64 in the usual alphabet or that of URLs, with or without padding.
func decodeBase64(text string) ([]byte, error) {
	text = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "="))
	return base64.RawURLEncoding.DecodeString(text)
}

// parseServer returns the URL of a server without a slash at its end.
func parseServer(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(text, ";") {
		return "", errors.New("the server is not an http or https URL without user, password and query")
	}
	if isOnion(u) {
		return "", errOnion
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// errOnion means that a connection names an onion service.
var errOnion = errors.New("an onion service cannot be used: this program makes no connections over Tor")

// isOnion reports whether a URL is that of an onion service.
func isOnion(u *url.URL) bool {
	return strings.HasSuffix(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), ".onion")
}
