package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"chequer/internal/monero"
)

// firstSubaddress is the index of the first address of a Monero wallet that invoices get. Index 0 is the primary address.
const firstSubaddress = 1

// moneroNetworks are the networks of Monero. A regtest network has the addresses of the main network.
var moneroNetworks = map[Network]monero.Network{Main: monero.Mainnet, Test: monero.Testnet, Stagenet: monero.Stagenet}

// CheckMoneroAddress returns the error of ParseMonero about the primary address of a wallet, nil if it is valid.
func CheckMoneroAddress(address string, network Network) error {
	_, err := parsePrimary(address, network)
	return err
}

// CheckMoneroViewKey returns the error of ParseMonero about a private view key that any address can have, nil if it is valid.
func CheckMoneroViewKey(viewKey string) error {
	if _, err := monero.ParseViewKey(viewKey); err != nil {
		return viewKeyError(err)
	}
	return nil
}

// ParseMonero parses the primary address and the private view key of a Monero wallet, as pasted by a user. The view key
// shows all payments that the wallet receives, and cannot spend. White space around both is ignored.
//
// It returns ErrPrivateKey for seed words and for the private spend key, ErrNetwork for an address of another network,
// ErrAddress for other texts that are not the primary address of a wallet, or ErrViewKey.
func ParseMonero(address, viewKey string, network Network) (Key, error) {
	primary, err := parsePrimary(address, network)
	if err != nil {
		return Key{}, err
	}
	view, err := monero.ParseViewKey(viewKey)
	if err == nil {
		return newMoneroKey(primary, view)
	}
	return Key{}, viewKeyError(err)
}

// viewKeyError returns ErrPrivateKey or ErrViewKey with the text of an error about a private view key.
func viewKeyError(err error) error {
	if errors.Is(err, monero.ErrSeed) || errors.Is(err, monero.ErrSpendKey) {
		return refusal{text: err.Error(), kind: ErrPrivateKey}
	}
	return refusal{text: err.Error(), kind: ErrViewKey}
}

// refusal is an error of this package with the text of another.
type refusal struct {
	text string
	kind error
}

func (e refusal) Error() string { return e.text }

// Unwrap returns the error of this package.
func (e refusal) Unwrap() error { return e.kind }

// parsePrimary parses the primary address of a wallet on a network.
func parsePrimary(text string, network Network) (monero.Address, error) {
	if err := network.check(XMR); err != nil {
		return monero.Address{}, err
	}
	if len(wordsOf(text)) >= minWords {
		return monero.Address{}, viewKeyError(monero.ErrSeed)
	}
	a, err := monero.ParsePrimary(text, moneroNetworks[network])
	if err != nil {
		return monero.Address{}, moneroAddressError(err)
	}
	return a, nil
}

// moneroAddressError returns ErrNetwork or ErrAddress with the text of an error about an address.
func moneroAddressError(err error) error {
	if errors.Is(err, monero.ErrNetwork) {
		return refusal{text: err.Error(), kind: ErrNetwork}
	}
	return refusal{text: err.Error(), kind: ErrAddress}
}

// parseMoneroAddress parses an address of any kind on a network. It returns the address, and the form by which transfers to it
// are matched: its public spend key in hex.
func parseMoneroAddress(text string, network Network) (address, script string, err error) {
	if err := network.check(XMR); err != nil {
		return "", "", err
	}
	a, err := monero.ParseAddress(text)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrAddress, err)
	}
	if a.Network != moneroNetworks[network] {
		return "", "", fmt.Errorf("%w: it is an address of Monero's %s", ErrNetwork, a.Network)
	}
	return a.String(), a.SpendKey.String(), nil
}

// newMoneroKey returns the key of a Monero wallet.
func newMoneroKey(primary monero.Address, view monero.ViewKey) (Key, error) {
	w, err := monero.NewWallet(primary, view)
	if err != nil {
		return Key{}, viewKeyError(err)
	}
	key := Key{kind: XMR, monero: w}
	for network, addresses := range moneroNetworks {
		if addresses == primary.Network {
			key.network = network
		}
	}
	return key, nil
}

// loadMonero parses the text of a key in storage after "xmr:": its primary address, ":" and its private view key.
func loadMonero(text string) (Key, error) {
	address, view, isPair := strings.Cut(text, ":")
	if !isPair {
		return Key{}, malformed("it is not in the stored form")
	}
	primary, err := monero.ParseAddress(address)
	if err != nil {
		return Key{}, refusal{text: err.Error(), kind: ErrMalformed}
	}
	key, err := monero.ParseViewKey(view)
	if err != nil {
		return Key{}, viewKeyError(err)
	}
	return newMoneroKey(primary, key)
}

// Monero returns the wallet of a key of kind XMR, and nil for other kinds.
func (k Key) Monero() *monero.Wallet { return k.monero }

// ViewKey returns the private view key of a key of kind XMR in hex, and "" for other kinds. It shows all payments of the
// wallet, so the caller must seal it at once.
func (k Key) ViewKey() string {
	if k.monero == nil {
		return ""
	}
	secret := k.monero.Key().Reveal()
	return hex.EncodeToString(secret[:])
}

// moneroFingerprint returns the fingerprint of a Monero wallet: the first 20 bytes of the SHA-256 of its primary address.
func moneroFingerprint(w *monero.Wallet) string {
	hash := sha256.Sum256([]byte(w.Address().String()))
	return hex.EncodeToString(hash[:20])
}

// newMoneroTestKey returns the private spend key of a new wallet on stagenet, from which wallets restore it, and its key.
func newMoneroTestKey(random io.Reader) (private string, public Key, err error) {
	var seed [32]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return "", Key{}, err
	}
	defer clear(seed[:])
	spend, primary, view := monero.NewTestWallet(seed)
	public, err = newMoneroKey(primary, view)
	return hex.EncodeToString(spend[:]), public, err
}
