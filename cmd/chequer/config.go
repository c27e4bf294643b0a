package main

import (
	"io"
	"net/url"

	"github.com/spf13/cobra"
)

// config is the command that shows the settings in force.
func (s *shell) config() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Show the settings in force, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			settings := []setting{
				{"CHEQUER_LISTEN", cfg.Listen, "address to listen on"},
				{"CHEQUER_BASE_URL", cfg.BaseURL, "public address, with a path if there is one"},
				{"CHEQUER_DATA_DIR", cfg.DataDir, "where the database and the master key lie"},
				{"CHEQUER_DATABASE_URL", withoutPassword(cfg.DatabaseURL), "sqlite:PATH or postgres://…"},
				{"CHEQUER_MASTER_KEY", hidden(cfg.MasterKey), "64 hexadecimal digits; else a file in the data directory"},
				{"CHEQUER_PASSPHRASE", hidden(cfg.Passphrase), "of backups"},
				{"CHEQUER_SHOP_NAME", orElse(cfg.ShopName, "Shop"), "name of the shop that shoppers see"},
				{"CHEQUER_TRUST_PROXY", cfg.TrustProxy, "networks of proxies whose X-Forwarded-For is believed"},
				{"CHEQUER_EMBED_ORIGINS", cfg.Embed, "origins whose pages may show payments in a frame, such as https://shop.example; none by default"},
				{"CHEQUER_LANGUAGE", cfg.Language, "language of the pages for who asks for none of those offered, such as de"},
				{"CHEQUER_LANGUAGES", orElse(cfg.Offered, "all"), "languages that the pages offer, such as de,en,fr; all by default"},
				{"CHEQUER_STOREFRONT", cfg.Storefront.String(), "open-amount form at the root: on or off"},
				{"CHEQUER_RATES", orElse(cfg.Rates, "live"), "live, the default, or fixed:BTC-EUR=86420.00,…,EUR-USD=1.08"},
				{"CHEQUER_FIAT", cfg.Fiat, "currencies beside EUR and USD that invoices may be in, such as CHF,GBP"},
				{"CHEQUER_EURC_FLOOR", cfg.EuroFloor, "price in euro under which EURC is not offered"},
				{"CHEQUER_MAX_AMOUNT", cfg.MaxAmount, "largest amount of an invoice"},
				{"CHEQUER_REQUIRE_NONCE", cfg.OwnScheme.String(), "timestamp and nonce compulsory for invoice/new too: on or off"},
				{"CHEQUER_MAX_UNPAID", cfg.MaxUnpaid, "unpaid invoices that shoppers may open at storefront, products and links; or off"},
				{"CHEQUER_RATE_LIMIT", cfg.RateLimit, "requests a second and key, half as many unsigned and address; or off"},
				{"CHEQUER_UNWATCHED", cfg.Unwatched.String(), "offer networks that nobody looks at: on or off"},
				{"CHEQUER_BITCOIN_NODE", withoutPassword(cfg.Bitcoin.Node), "light, the default: the light client; off; or your own node, http://user:password@127.0.0.1:8332"},
				{"CHEQUER_BITCOIN_NODE_COOKIE", cfg.Bitcoin.Cookie, "cookie file of your own node, in place of user and password"},
				{"CHEQUER_BITCOIN_NODE_CERT", cfg.Bitcoin.Cert, "certificate of your own node, if it made one itself"},
				{"CHEQUER_BITCOIN_NETWORK", cfg.Bitcoin.Network, "mainnet, testnet4, signet or regtest"},
				{"CHEQUER_BITCOIN_PEERS", cfg.BitcoinPeers, "peers that the light client connects to before others"},
				{"CHEQUER_LITECOIN_NODE", withoutPassword(cfg.Litecoin.Node), "off, the default; or your own node, http://user:password@127.0.0.1:9332"},
				{"CHEQUER_LITECOIN_NODE_COOKIE", cfg.Litecoin.Cookie, "cookie file of your own node, in place of user and password"},
				{"CHEQUER_LITECOIN_NODE_CERT", cfg.Litecoin.Cert, "certificate of your own node, if it made one itself"},
				{"CHEQUER_LITECOIN_NETWORK", cfg.Litecoin.Network, "mainnet, testnet or regtest"},
				{"CHEQUER_CALLBACK_ALLOW", cfg.Callback, "networks that callbacks may go to although they are not public, such as 10.0.0.0/8"},
				{"CHEQUER_KRAKEN_URL", cfg.Kraken, "for tests alone: a made-up exchange on this machine, http://127.0.0.1:8400"},
				{"CHEQUER_BITSTAMP_URL", cfg.Bitstamp, "for tests alone: a made-up exchange on this machine"},
				{"CHEQUER_ETHEREUM_RPC", cfg.EVM.Shown("ethereum"), "public, the default; off; or endpoints [trusted:][operator=]URL,…"},
				{"CHEQUER_BASE_RPC", cfg.EVM.Shown("base"), "public, the default; off; or endpoints"},
				{"CHEQUER_ARBITRUM_RPC", cfg.EVM.Shown("arbitrum"), "off, the default; public; or endpoints"},
				{"CHEQUER_OPTIMISM_RPC", cfg.EVM.Shown("optimism"), "off, the default; public; or endpoints"},
				{"CHEQUER_POLYGON_RPC", cfg.EVM.Shown("polygon"), "off, the default; public; or endpoints"},
				{"CHEQUER_GNOSIS_RPC", cfg.EVM.Shown("gnosis"), "off, the default; public; or endpoints"},
				{"CHEQUER_AVALANCHE_RPC", cfg.EVM.Shown("avalanche"), "off, the default; public; or endpoints"},
				{"CHEQUER_SEPOLIA_RPC", cfg.EVM.Shown("sepolia"), "a test network, in place of the real ones: off, public or endpoints"},
				{"CHEQUER_BASE_SEPOLIA_RPC", cfg.EVM.Shown("base-sepolia"), "a test network, in place of the real ones: off, public or endpoints"},
				{"CHEQUER_EVM_ADDRESS_QUERIES", cfg.EVM.AddressQueries.String(), "ask endpoints that are not your own about your addresses, which is less to read: on or off"},
				{"CHEQUER_EVM_TOKENS", cfg.EVM.Tokens, "tokens beside EURC and USDC, such as USDT or base:CODE:0x…:6:USDC"},
				{"CHEQUER_METRICS", cfg.Metrics, "address for Prometheus, such as 127.0.0.1:9464; none by default"},
				{"CHEQUER_API_KEY", cfg.APIKey, "for chequer storefront, listen and trigger"},
				{"CHEQUER_API_SECRET", hidden(cfg.APISecret), "for chequer storefront, listen and trigger"},
			}
			return s.print(c, settings, func(w io.Writer) {
				table(w, "", settings, func(row setting) []any {
					return []any{row.Name, row.Value, row.About}
				})
			})
		},
	}
}

// setting is a setting as it is shown.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	About string `json:"about"`
}

// orElse is a value, or what an empty one means.
func orElse(value, empty string) string {
	if value == "" {
		return empty
	}
	return value
}

func hidden(secret string) string {
	if secret == "" {
		return ""
	}
	return "(set)"
}

// withoutPassword hides the password of a database address.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" && u.Scheme != "sqlite" {
		return "(set)"
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.Redacted()
}
