package chain

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"chequer/internal/chain/lightning/bolt11"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// LightningAsset returns the asset of the payment requests of a network.
func LightningAsset(network ID) Asset {
	return Asset{
		Code: CodeLightning, Symbol: "BTC", Name: "Lightning", Network: network, NetworkName: "Lightning", Currency: money.BTC,
		Wallet: CodeLightning, Rate: "BTC", Dust: money.Zero(money.BTC), Scheme: SchemeLightning, Volatile: true,
		Policy: Policy{Depth: []Depth{{Confirmations: 1}}, BlockGrace: time.Minute},
	}
}

// MilliSatoshisPerSatoshi is the number of millisatoshis in a satoshi.
const MilliSatoshisPerSatoshi = 1000

// MilliSatoshi returns the amount of a in millisatoshis. It is an error if no request can ask for the amount.
func (a Ask) MilliSatoshi() (int64, error) {
	sum := a.Amount.Minor()
	switch {
	case a.Amount.Currency() != money.BTC:
		return 0, fmt.Errorf("no request can ask for %s", a.Amount.Currency().Code)
	case !sum.IsInt64() || sum.Sign() <= 0 || sum.Int64() > bolt11.MaxMilliSatoshi/MilliSatoshisPerSatoshi:
		return 0, fmt.Errorf("no request can ask for %s satoshis", sum)
	}
	return sum.Int64() * MilliSatoshisPerSatoshi, nil
}

// ReadRequest reads a payment request in any spelling, also as a link, and returns it with its destination. The error is
// keys.ErrAddress with the reason.
func ReadRequest(text string) (Destination, bolt11.Request, error) {
	address := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), SchemeLightning+":")
	r, err := bolt11.Parse(address)
	if err != nil {
		return Destination{}, bolt11.Request{}, fmt.Errorf("%w: %w", keys.ErrAddress, err)
	}
	return Destination{Address: address, Script: hex.EncodeToString(r.PaymentHash[:])}, r, nil
}

// lightningAddressPattern matches a Lightning address in lower case. See LUD-16.
var lightningAddressPattern = regexp.MustCompile(`^([a-z0-9_.+-]{1,64})@((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63})$`)

// LightningAddress returns the two parts of a Lightning address in lower case, and false for any other text.
func LightningAddress(text string) (user, domain string, ok bool) {
	parts := lightningAddressPattern.FindStringSubmatch(text)
	if parts == nil {
		return "", "", false
	}
	return parts[1], parts[2], true
}

// Forms of the addresses that ReadBitcoin returns. An address of Bitcoin has neither form.
func isLightningAddress(address string) bool { return strings.Contains(address, "@") }
func isRequest(address string) bool {
	return strings.HasPrefix(address, "ln") && !isLightningAddress(address)
}

// keyNetworks are the networks of Bitcoin addresses by the prefixes of payment requests after "ln".
var keyNetworks = map[string]keys.Network{"bc": keys.Main, "tb": keys.Test, "tbs": keys.Test, "bcrt": keys.Regtest}

// ReadBitcoin reads an address to which bitcoin that arrived over Lightning can be sent: a payment request with the
// prefix of a currency after "ln", a Lightning address, or an address of Bitcoin. The script is the payment hash or that of
// the address of Bitcoin. A Lightning address has none, because no transfer names it. The errors are those of AddressReader.
func ReadBitcoin(currency, text string) (Destination, error) {
	return readBitcoin(currency, keyNetworks[currency], text)
}

// ReadTestBitcoin is ReadBitcoin for a network whose payment requests are those of regtest, and whose addresses are those
// of the test network.
func ReadTestBitcoin(text string) (Destination, error) { return readBitcoin("bcrt", keys.Test, text) }

func readBitcoin(currency string, network keys.Network, text string) (Destination, error) {
	text = strings.TrimSpace(text)
	lower := strings.TrimPrefix(strings.ToLower(text), SchemeLightning+":")
	hasPrefix := func(p string) bool { return strings.HasPrefix(lower, p) }
	if _, _, ok := LightningAddress(lower); ok {
		return Destination{Address: lower}, nil
	}
	switch {
	case hasPrefix("nostr+walletconnect:"), hasPrefix("lndconnect:"), hasPrefix("type="):
		return Destination{}, keys.ErrPrivateKey
	case hasPrefix("lnurl1"), hasPrefix("lno1"):
		return Destination{}, fmt.Errorf("%w: an LNURL code or an offer cannot be used: give a Lightning address (name@example.com) or a payment request", keys.ErrAddress)
	case hasPrefix("lnbc"), hasPrefix("lntb"):
		to, r, err := ReadRequest(lower)
		if err == nil && r.Network != currency {
			err = fmt.Errorf("%w: the payment request is for the network %q, want %q", keys.ErrNetwork, "ln"+r.Network, "ln"+currency)
		}
		if err != nil {
			return Destination{}, err
		}
		return to, nil
	case keys.LooksPrivate(text):
		return Destination{}, keys.ErrPrivateKey
	}
	address, script, err := keys.ParseAddress(text, keys.BTC, network)
	if errors.Is(err, keys.ErrAddress) { // it has no other reason
		err = fmt.Errorf("%w: want a Lightning address (name@example.com), a payment request (ln%s…) or a Bitcoin address", err, currency)
	}
	return Destination{Address: address, Script: script}, err
}

// lightningLink returns the payment link for an amount to an address that ReadBitcoin returned. Only the link of an address of
// Bitcoin has the amount: a payment request contains its own, and the link of a Lightning address has no place for it.
func lightningLink(address string, due money.Amount, label string) Link {
	switch {
	case address == "", isRequest(address):
		return requestLink(address)
	case isLightningAddress(address):
		uri := SchemeLightning + ":" + address
		return Link{URI: uri, Code: uri}
	}
	return Asset{Scheme: schemeBitcoin}.bitcoinLink(address, due, label)
}

// SentOverLightning reports whether an asset is sent to an address over Lightning: bitcoin that arrived over Lightning can be
// sent to an address of Bitcoin, too.
func (a Asset) SentOverLightning(address string) bool {
	return a.Requested() && (isRequest(address) || isLightningAddress(address))
}

// LinkHasAmount reports whether a payment link of an asset to an address states the amount. That of a Lightning address, and of a
// payment request whose payer chooses the amount, does not.
func (a Asset) LinkHasAmount(address string) bool {
	if !a.SentOverLightning(address) {
		return true
	}
	_, r, err := ReadRequest(address)
	return err == nil && r.MilliSatoshi != 0
}

// bitcoinDust is the dust limit of Bitcoin. See bitcoin.Mainnet.
var bitcoinDust = money.MustParse("0.00000546", money.BTC)

// AddressDust returns the least amount of an asset that is worth sending to an address. It is that of the asset, but for an
// address of Bitcoin to which bitcoin that arrived over Lightning is sent.
func (a Asset) AddressDust(address string) money.Amount {
	if a.Requested() && address != "" && !a.SentOverLightning(address) {
		return bitcoinDust
	}
	return a.Dust
}

// AddressNetwork returns the name, for people, of the network on which an asset is sent to an address. It is the network of
// the asset, but for an address of Bitcoin to which bitcoin that arrived over Lightning is sent.
func (a Asset) AddressNetwork(address string) string {
	if a.Requested() && address != "" && !a.SentOverLightning(address) {
		return "Bitcoin"
	}
	return a.NetworkName
}
