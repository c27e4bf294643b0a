// Package config reads the program's settings from the environment, and says
// everything that is wrong with them at once.
package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/caarlos0/env/v11"
)

// Config is every setting. Each can also be given as a file's path in NAME_FILE,
// as secrets are.
type Config struct {
	Listen           string `env:"LISTEN" envDefault:"127.0.0.1:8080"`
	DataDir          string `env:"DATA_DIR" envDefault:"data"`
	DatabaseURL      string `env:"DATABASE_URL"`
	BaseURL          string `env:"BASE_URL"`
	ShopName         string `env:"SHOP_NAME"`
	TrustProxy       string `env:"TRUST_PROXY"`
	Storefront       Switch `env:"STOREFRONT"`
	Unwatched        Switch `env:"UNWATCHED"`
	Rates            string `env:"RATES"`
	Fiat             string `env:"FIAT"`
	EuroFloor        string `env:"EURC_FLOOR" envDefault:"0.98"`
	MaxAmount        string `env:"MAX_AMOUNT" envDefault:"1000000"`
	RateLimit        string `env:"RATE_LIMIT" envDefault:"20"`
	MaxUnpaid        string `env:"MAX_UNPAID" envDefault:"1000"`
	TolerancePercent string `env:"TOLERANCE_PERCENT" envDefault:"0"`
	ToleranceAmount  string `env:"TOLERANCE_AMOUNT" envDefault:"0"`
	OwnScheme        Switch `env:"REQUIRE_NONCE"`
	MasterKey        string `env:"MASTER_KEY"`
	Passphrase       string `env:"PASSPHRASE"`
	APIKey           string `env:"API_KEY"`
	APISecret        string `env:"API_SECRET"`
	Metrics          string `env:"METRICS"`
	Callback         string `env:"CALLBACK_ALLOW"`
	Embed            string `env:"EMBED_ORIGINS"`
	Kraken           string `env:"KRAKEN_URL"`
	Bitstamp         string `env:"BITSTAMP_URL"`
	Language         string `env:"LANGUAGE" envDefault:"en"`
	Offered          string `env:"LANGUAGES"`
	Bitcoin          Chain  `envPrefix:"BITCOIN_"`
	Litecoin         Chain  `envPrefix:"LITECOIN_"`

	BitcoinPeers string `env:"BITCOIN_PEERS"`

	EVM EVM
}

const prefix = "CHEQUER_"

// Switch is a setting that is on or off.
type Switch bool

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Switch) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on":
		*s = true
	case "off", "":
		*s = false
	default:
		return fmt.Errorf("%q is neither on nor off", text)
	}
	return nil
}

// String implements fmt.Stringer.
func (s Switch) String() string {
	if s {
		return "on"
	}
	return "off"
}

// Load reads the settings from an environment, as os.Environ gives it. The error
// names every fault.
func Load(environ []string) (Config, error) {
	values, faults := collect(environ)
	var c Config
	err := env.ParseWithOptions(&c, env.Options{Environment: values, Prefix: prefix})
	var all env.AggregateError
	switch {
	case errors.As(err, &all):
		for _, fault := range all.Errors {
			faults = append(faults, settingFault(fault))
		}
	case err != nil:
		faults = append(faults, err)
	}
	if c.DatabaseURL == "" {
		c.DatabaseURL = "sqlite:" + filepath.Join(c.DataDir, "chequer.db")
	}
	if c.BaseURL == "" {
		c.BaseURL = "http://" + c.Listen
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.Bitcoin.Node == "" {
		c.Bitcoin.Node = NodeLight
	}
	if c.Litecoin.Node == "" {
		c.Litecoin.Node = NodeOff
	}
	c.EVM.complete()
	faults = append(faults, c.check()...)
	return c, errors.Join(faults...)
}

// collect takes our settings out of an environment and reads those that are
// given as files.
func collect(environ []string) (map[string]string, []error) {
	values := map[string]string{}
	var faults []error
	known := names()
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, prefix) || value == "" {
			continue // an empty setting is none
		}
		base, isFile := strings.CutSuffix(name, "_FILE")
		if slices.Contains(known, name) {
			base, isFile = name, false
		}
		if !slices.Contains(known, base) {
			faults = append(faults, fmt.Errorf("%s: there is no such setting", name))
			continue
		}
		if _, twice := values[base]; twice {
			faults = append(faults, fmt.Errorf("%s: given both as a value and as a file", base))
			continue
		}
		if isFile {
			content, err := os.ReadFile(value)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", name, err))
			}
			value = strings.TrimSpace(string(content))
			if err == nil && value == "" {
				faults = append(faults, fmt.Errorf("%s: the file is empty", name))
			}
		}
		values[base] = value
	}
	return values, faults
}

// names are those of all settings.
func names() []string {
	params, err := env.GetFieldParamsWithOptions(&Config{}, env.Options{Prefix: prefix})
	if err != nil {
		panic(err) // a fault in the struct above
	}
	keys := make([]string, len(params))
	for i, p := range params {
		keys[i] = p.Key
	}
	return keys
}

// settingFault names the setting that a parse error is about.
func settingFault(err error) error {
	var parse env.ParseError
	if errors.As(err, &parse) {
		name := prefix + strings.ToUpper(parse.Name)
		return fmt.Errorf("%s: %w", name, parse.Err)
	}
	return err
}

// check finds what the types cannot.
func (c Config) check() []error {
	var faults []error
	fault := func(name, format string, args ...any) {
		faults = append(faults, fmt.Errorf(prefix+name+": "+format, args...))
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil || !isPort(port) {
		fault("LISTEN", "%q is no address like 127.0.0.1:8080", c.Listen)
	}
	switch {
	case err == nil && (host == "" || net.ParseIP(host).IsUnspecified()) && c.BaseURL == "http://"+c.Listen:
		fault("BASE_URL", "is missing: the address %q does not say where shoppers reach it", c.Listen)
	case !baseURL.MatchString(c.BaseURL):
		fault("BASE_URL", "%q is no address like https://pay.example.org or https://example.org/pay", c.BaseURL)
	}
	if _, port, err := net.SplitHostPort(c.Metrics); c.Metrics != "" && (err != nil || !isPort(port)) {
		fault("METRICS", "%q is no address like 127.0.0.1:9464", c.Metrics)
	}
	c.Bitcoin.check(fault, "BITCOIN", true, "mainnet", "testnet4", "signet", "regtest")
	for _, peer := range c.Peers() {
		if host, port, err := net.SplitHostPort(peer); err != nil || host == "" || !isPort(port) {
			fault("BITCOIN_PEERS", "%q is no address like 127.0.0.1:8333", peer)
		}
	}
	c.Litecoin.check(fault, "LITECOIN", false, "mainnet", "testnet", "regtest")
	c.EVM.check(fault)
	for _, text := range parts(c.TrustProxy) {
		if _, _, err := net.ParseCIDR(text); err != nil {
			fault("TRUST_PROXY", "%q is no network like 10.0.0.0/8 or 127.0.0.1/32", text)
		}
	}
	for _, text := range parts(c.Callback) {
		if _, err := netip.ParsePrefix(text); err != nil {
			fault("CALLBACK_ALLOW", "%q is no network like 10.0.0.0/8 or 127.0.0.1/32", text)
		}
	}
	for _, text := range c.EmbedOrigins() {
		if !embedOrigin.MatchString(text) {
			fault("EMBED_ORIGINS", "%q is no origin like https://shop.example", text)
		}
	}
	if len(c.EmbedOrigins()) > maxOrigins {
		fault("EMBED_ORIGINS", "names more than %d origins", maxOrigins)
	}
	for name, address := range map[string]string{"KRAKEN_URL": c.Kraken, "BITSTAMP_URL": c.Bitstamp} {
		if address != "" && !testExchange.MatchString(address) {
			fault(name, "is for tests alone: want a server on this machine, like http://127.0.0.1:8400")
		}
	}
	if !databaseURL.MatchString(c.DatabaseURL) {
		fault("DATABASE_URL", "want sqlite:PATH or postgres://…")
	}
	if !regexp.MustCompile(`^[1-9][0-9]{0,11}$`).MatchString(c.MaxAmount) {
		fault("MAX_AMOUNT", "%q is no whole amount like 1000000", c.MaxAmount)
	}
	if !regexp.MustCompile(`^(off|[1-9][0-9]{0,5})$`).MatchString(c.RateLimit) {
		fault("RATE_LIMIT", "%q is neither off nor a number of requests a second like 20", c.RateLimit)
	}
	if !regexp.MustCompile(`^(off|[1-9][0-9]{0,6})$`).MatchString(c.MaxUnpaid) {
		fault("MAX_UNPAID", "%q is neither off nor a number of invoices like 1000", c.MaxUnpaid)
	}
	if !regexp.MustCompile(`^(1?[0-9](\.[0-9]{1,2})?|20(\.0{1,2})?)$`).MatchString(c.TolerancePercent) {
		fault("TOLERANCE_PERCENT", "%q is no percentage from 0 to 20, like 0.5", c.TolerancePercent)
	}
	if !regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,2})?$`).MatchString(c.ToleranceAmount) {
		fault("TOLERANCE_AMOUNT", "%q is no amount of euro like 0.10", c.ToleranceAmount)
	}
	if c.MasterKey != "" {
		if key, err := hex.DecodeString(c.MasterKey); err != nil || len(key) != 32 {
			fault("MASTER_KEY", "want 64 hexadecimal digits")
		}
	}
	if (c.APIKey == "") != (c.APISecret == "") {
		fault("API_KEY", "goes together with %sAPI_SECRET", prefix)
	}
	if c.Rates != "" && c.Rates != "live" && !strings.HasPrefix(c.Rates, "fixed:") {
		fault("RATES", "want live, or fixed:BTC-EUR=86420.00,…,EUR-USD=1.08")
	}
	if !regexp.MustCompile(`^0\.[0-9]{1,4}$|^1$`).MatchString(c.EuroFloor) {
		fault("EURC_FLOOR", "%q is no price from 0 to 1 euro, like 0.98", c.EuroFloor)
	}
	return faults
}

// baseURL is a host, perhaps a port, and plain path segments: what every edge
// compares alike, encoded or not. A segment that is the API's own is none.
var baseURL = regexp.MustCompile(`^https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)

// embedOrigin is an origin as browsers compare it; without TLS on this machine
// alone, to try it.
var embedOrigin = regexp.MustCompile(`^(https://[a-z0-9]([a-z0-9.-]*[a-z0-9])?|http://(localhost|127\.0\.0\.1))(:[1-9][0-9]{0,4})?$`)

// testExchange is where a made-up exchange may be: keys go nowhere else by a setting.
var testExchange = regexp.MustCompile(`^http://(127\.0\.0\.1|\[::1\]):[1-9][0-9]{0,4}$`)

// maxOrigins bounds a header that every payment page has.
const maxOrigins = 10

// databaseURL is a file, or a server's address. A database in memory would be
// lost, and each connection would have its own.
var databaseURL = regexp.MustCompile(`^(sqlite:[^:].*|postgres(ql)?://.+)$`)

// RequestsPerSecond is how often one key may call; 0 = without a limit.
func (c Config) RequestsPerSecond() int {
	n, err := strconv.Atoi(c.RateLimit)
	if err != nil {
		return 0
	}
	return n
}

// UnpaidInvoices is how many the storefront, products and links may leave unpaid; 0 =
// any number.
func (c Config) UnpaidInvoices() int {
	n, err := strconv.Atoi(c.MaxUnpaid)
	if err != nil {
		return 0
	}
	return n
}

// Proxies are the networks whose word on a caller's address is believed.
func (c Config) Proxies() []*net.IPNet {
	var found []*net.IPNet
	for _, text := range parts(c.TrustProxy) {
		if _, n, err := net.ParseCIDR(text); err == nil {
			found = append(found, n)
		}
	}
	return found
}

// CallbackAllow are the networks that the operator opens for callbacks.
func (c Config) CallbackAllow() []netip.Prefix {
	var found []netip.Prefix
	for _, text := range parts(c.Callback) {
		if p, err := netip.ParsePrefix(text); err == nil {
			found = append(found, p.Masked())
		}
	}
	return found
}

// EmbedOrigins are those whose pages may show payments in a frame.
func (c Config) EmbedOrigins() []string { return parts(c.Embed) }

// Languages are the codes of the languages that the pages offer, all when there are
// none.
func (c Config) Languages() []string { return parts(c.Offered) }

// Fiats are the codes of the currencies beside euro and dollar, as they are given.
func (c Config) Fiats() []string { return parts(c.Fiat) }

// parts are those of a list, separated by commas or space.
func parts(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

func isPort(text string) bool {
	number, err := strconv.ParseUint(text, 10, 16)
	return err == nil && strconv.FormatUint(number, 10) == text
}

// BasePath is the path of the base address, "" at the root.
func (c Config) BasePath() string {
	_, rest, _ := strings.Cut(c.BaseURL, "://")
	_, path, below := strings.Cut(rest, "/")
	if !below {
		return ""
	}
	return "/" + path
}
