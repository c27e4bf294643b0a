package chain

import (
	"encoding/hex"
	"fmt"
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
