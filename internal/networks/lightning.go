package networks

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lnaddress"
	"chequer/internal/chain/lightning/lnd"
	"chequer/internal/chain/lightning/nwc"
	"chequer/internal/chain/lightning/phoenixd"
	"chequer/internal/config"
	"chequer/internal/guard"
	"chequer/internal/merchant"
)

// currencies are the prefixes of payment requests after "ln", by the network of Bitcoin.
var currencies = map[string]string{"mainnet": "bc", "testnet4": "tb", "signet": "tbs", "regtest": "bcrt"}

// Currency returns the prefix after "ln" of the payment requests of the network of the settings.
func Currency(c config.Config) string { return currencies[c.Bitcoin.Network] }

// NewProvider returns the provider of a connection. It makes no request. Addresses that are not public are called only in
// the ranges that the operator allows.
func NewProvider(c config.Config, connection lightning.Connection, now func() time.Time, log *slog.Logger) (lightning.Provider, error) {
	of := lightning.ProviderConfig{
		Connection: connection, Dialer: &guard.Dialer{Policy: guard.Policy{Allow: c.CallbackAllow()}, Resolver: net.DefaultResolver}, Now: now, Log: log,
	}
	switch connection.Kind {
	case lightning.NWC:
		return nwc.New(of)
	case lightning.Address:
		return lnaddress.New(of), nil
	case lightning.LND:
		return lnd.New(of), nil
	case lightning.Phoenixd:
		return phoenixd.New(of), nil
	}
	return nil, fmt.Errorf("unknown kind of connection %q", connection.Kind)
}

// closeProvider closes the connections that a provider keeps open.
func closeProvider(p lightning.Provider) {
	if c, ok := p.(interface{ Close() }); ok {
		c.Close()
	}
}

// Examine returns what a connection allows, or an error that names for people why no requests can be made or found. See
// lightning.Examine.
func Examine(ctx context.Context, c config.Config, connection lightning.Connection, now func() time.Time, log *slog.Logger) (lightning.Access, error) {
	provider, err := NewProvider(c, connection, now, log)
	if err != nil {
		return lightning.Access{}, err
	}
	defer closeProvider(provider)
	return lightning.Examine(ctx, provider, Currency(c), now)
}

// ExamineWallet is Examine for a stored connection. It takes at most merchant.ExamineTimeout.
func ExamineWallet(ctx context.Context, c config.Config, w merchant.Wallet, now func() time.Time, log *slog.Logger) (lightning.Access, error) {
	connection, err := lightning.ParseConnection(w.Secret)
	if err != nil {
		return lightning.Access{}, fmt.Errorf("stored connection: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, merchant.ExamineTimeout)
	defer cancel()
	return Examine(ctx, c, connection, now, log)
}

// receiveOnlyAdvice states, by kind of provider, how to get a connection that may only receive. Wallets of the kind NWC have
// no common name for it.
var receiveOnlyAdvice = map[lightning.Kind]string{
	lightning.LND:      "use a macaroon of lncli bakemacaroon invoices:read invoices:write, or lnd's own invoice.macaroon",
	lightning.Phoenixd: "use http-password-limited-access of phoenix.conf",
}

// ExamineConnection examines the text of a connection that a merchant adds. A connection to lnd or phoenixd that may
// spend is an error, since both offer one that may not.
func ExamineConnection(ctx context.Context, c config.Config, text string, now func() time.Time, log *slog.Logger) (merchant.Connection, error) {
	connection, err := lightning.ParseConnection(text)
	if err != nil {
		return merchant.Connection{}, err
	}
	access, err := Examine(ctx, c, connection, now, log)
	if err != nil {
		return merchant.Connection{}, fmt.Errorf("%s: %w", connection, err)
	}
	if advice, exists := receiveOnlyAdvice[connection.Kind]; exists && access.Spending != "" {
		return merchant.Connection{}, fmt.Errorf("the connection may spend from your wallet (%s): %s", access.Spending, advice)
	}
	return merchant.Connection{Name: connection.String(), Text: connection.Reveal(), Spending: access.Spending}, nil
}

// Lightning returns the Lightning network of a connection, which is the wallet with an ID. It makes no request.
func Lightning(c config.Config, wallet string, connection lightning.Connection, now func() time.Time, log *slog.Logger) (Network, error) {
	provider, err := NewProvider(c, connection, now, log)
	if err != nil {
		return Network{}, err
	}
	network := lightning.NewNetwork(lightning.NetworkConfig{
		ID: chain.LightningID(wallet), Name: connection.String(), Provider: provider, Currency: Currency(c), Now: now,
	})
	n := Network{Network: network, Run: network.Run}
	if connection.Kind == lightning.NWC { // others that may spend are not stored
		n.Access = provider.Access
	}
	return n, nil
}
