// Package config reads the program's settings from the environment and a settings file, and reports
// all faults together.
package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/caarlos0/env/v11"

	"chequer/internal/idn"
)

// Config has a field for every setting. A setting can also be given as the path of a file in
// NAME_FILE, which is recommended for secrets. The tag about describes a setting. The tag show
// defines how a setting that may contain a secret is displayed: "secret" only as set, "url" without
// its password and query, "endpoints" only by host.
type Config struct {
	Config           string `env:"CONFIG" about:"settings file to read; else chequer.env in the data directory, else /etc/chequer/chequer.env"`
	Listen           string `env:"LISTEN" envDefault:"127.0.0.1:8080" about:"address to listen on"`
	BaseURL          string `env:"BASE_URL" about:"public address, with a path if there is one"`
	DataDir          string `env:"DATA_DIR" envDefault:"data" about:"directory of the database and the master key"`
	DatabaseURL      string `env:"DATABASE_URL" show:"url" about:"sqlite:PATH or postgres://…"`
	MasterKey        string `env:"MASTER_KEY" show:"secret" about:"64 hexadecimal digits; else a file in the data directory"`
	Passphrase       string `env:"PASSPHRASE" show:"secret" about:"passphrase of backups"`
	ShopName         string `env:"SHOP_NAME" about:"name of the first shop, which shoppers see; Shop by default"`
	Timezone         string `env:"TIMEZONE" about:"time zone of what commands print, such as Europe/Berlin; that of this machine by default"`
	TrustProxy       string `env:"TRUST_PROXY" about:"proxies whose X-Forwarded-For is trusted: addresses or networks"`
	Embed            string `env:"EMBED_ORIGINS" about:"origins whose pages may show payments in a frame, such as https://shop.example; none by default"`
	Language         string `env:"LANGUAGE" envDefault:"en" about:"language of the pages for a browser that asks for none of those offered, such as de"`
	Offered          string `env:"LANGUAGES" about:"languages that the pages offer, such as de,en,fr; those of the payment settings of the shop by default"`
	Storefront       Switch `env:"STOREFRONT" about:"open-amount form at the root: on or off; that of the payment settings of the shop by default"`
	Rates            string `env:"RATES" about:"live, the default, or fixed:BTC-EUR=86420.00,…,EUR-USD=1.08"`
	Fiat             string `env:"FIAT" about:"currencies beside EUR and USD that invoices may be in, such as CHF,GBP"`
	PersonalData     Days   `env:"PERSONAL_DATA_DAYS" envDefault:"180" about:"days after the end of an invoice for which the data about the buyer that a shop plug-in sent are kept, 31 to 36500; or off, which keeps them"`
	EuroFloor        string `env:"EURC_FLOOR" envDefault:"0.98" about:"price in euro under which EURC is not offered"`
	MaxAmount        string `env:"MAX_AMOUNT" envDefault:"1000000" about:"largest amount of an invoice"`
	RequireNonce     Switch `env:"REQUIRE_NONCE" about:"timestamp and nonce compulsory for invoice/new too: on or off"`
	MaxUnpaid        Limit  `env:"MAX_UNPAID" envDefault:"1000" about:"unpaid invoices that shoppers may open at storefront, products and links; or off"`
	TolerancePercent string `env:"TOLERANCE_PERCENT" about:"percentage of a price that may be missing, such as 0.5; that of the payment settings of the shop by default"`
	ToleranceAmount  string `env:"TOLERANCE_AMOUNT" about:"euro of a price that may be missing, such as 0.10; with both, the smaller counts; that of the payment settings of the shop by default"`
	RateLimit        Limit  `env:"RATE_LIMIT" envDefault:"20" about:"requests per second and key, half as many unsigned requests per address; or off"`
	Unwatched        Switch `env:"UNWATCHED" about:"offer networks that are not watched: on or off"`

	MaxScanAge time.Duration `env:"MAX_SCAN_AGE" envDefault:"10m" about:"how long a network may be out of reach before its methods are left out of new invoices"`

	Bitcoin Chain `envPrefix:"BITCOIN_"`

	BitcoinPeers string `env:"BITCOIN_PEERS" about:"peers that the light client connects to before others"`

	Litecoin Chain  `envPrefix:"LITECOIN_"`
	Monero   Monero `envPrefix:"MONERO_"`
	Callback string `env:"CALLBACK_ALLOW" about:"networks of webhooks, and of Lightning wallets and nodes, that may be called although they are not public, such as 10.0.0.0/8"`
	Kraken   string `env:"KRAKEN_URL" about:"for tests only: a simulated exchange on this machine, such as http://127.0.0.1:8400"`
	Bitstamp string `env:"BITSTAMP_URL" about:"for tests only: a simulated exchange on this machine"`

	EVM EVM

	SMTPURL  string `env:"SMTP_URL" show:"url" about:"mail server that sends notifications, such as smtps://user:password@mail.example.org; smtp:// uses STARTTLS"`
	SMTPFrom string `env:"SMTP_FROM" about:"e-mail address that notifications come from; the user of CHEQUER_SMTP_URL by default"`

	Log       LogFormat `env:"LOG" envDefault:"info,text" about:"level and format of the log: debug, info, warn or error, then text or json"`
	AccessLog Switch    `env:"ACCESS_LOG" about:"log each HTTP request: on or off"`
	Metrics   string    `env:"METRICS" about:"address for Prometheus (/metrics) and profiles (/debug/pprof), such as 127.0.0.1:9464; none by default"`
	APIKey    string    `env:"API_KEY" about:"API key for chequer storefront, listen and trigger"`
	APISecret string    `env:"API_SECRET" show:"secret" about:"secret of the API key"`

	file    string // the settings file that was read; empty if there was none
	source  map[string]string
	unknown []error
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

// Load reads the settings from an environment, as os.Environ returns it, and from the settings file.
// CHEQUER_CONFIG names this file; the default is chequer.env in the data directory. The error names
// every fault. Unknown names are not faults; Unknown returns them.
func Load(environ []string) (Config, error) {
	values, file, errs := read(environ)
	c := Config{file: file, source: values.source, unknown: values.unknown}
	err := env.ParseWithOptions(&c, env.Options{Environment: values.value, Prefix: prefix})
	var parseErrs env.AggregateError
	switch {
	case errors.As(err, &parseErrs):
		for _, parseErr := range parseErrs.Errors {
			errs = append(errs, settingFault(parseErr))
		}
	case err != nil:
		errs = append(errs, err)
	}
	if c.DatabaseURL == "" {
		c.DatabaseURL = "sqlite:" + filepath.Join(c.DataDir, "chequer.db")
	}
	if c.BaseURL == "" {
		c.BaseURL = "http://" + c.Listen
	}
	c.BaseURL = idn.URL(strings.TrimRight(c.BaseURL, "/"))
	if c.Bitcoin.Node == "" {
		c.Bitcoin.Node = NodeLight
	}
	if c.Litecoin.Node == "" {
		c.Litecoin.Node = NodeOff
	}
	c.EVM.complete()
	errs = append(errs, checkProxies(environ)...)
	errs = append(errs, c.check()...)
	return c, errors.Join(errs...)
}

// Unknown returns an error that names every CHEQUER_ variable that is not a setting, or nil. A server
// must not start with such a variable, because a misspelt setting has no effect. A command only warns.
func (c Config) Unknown() error { return errors.Join(c.unknown...) }

// settingFault adds the name of the setting to a parse error.
func settingFault(err error) error {
	parse, ok := errors.AsType[env.ParseError](err)
	if !ok {
		return err
	}
	for _, d := range definitions() {
		if d.field == parse.Name {
			return fmt.Errorf("%s: %w", d.name, parse.Err)
		}
	}
	return err
}

// quoted returns a value in quotes for an error, or a placeholder if the value may contain a
// password or a token.
func quoted(value string) string {
	if strings.ContainsAny(value, "@?#") {
		return "the value"
	}
	return strconv.Quote(value)
}

// check returns the faults that the types of the fields do not detect.
func (c Config) check() []error {
	var errs []error
	fault := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf(prefix+name+": "+format, args...))
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil || !isPort(port) {
		fault("LISTEN", "%s is not an address like 127.0.0.1:8080", quoted(c.Listen))
	}
	switch {
	case err == nil && (host == "" || net.ParseIP(host).IsUnspecified()) && c.BaseURL == "http://"+c.Listen:
		fault("BASE_URL", "is missing: shoppers cannot reach the server at %q, which means all addresses of this machine", c.Listen)
	case !baseURL.MatchString(c.BaseURL):
		fault("BASE_URL", "%s is not an address like https://pay.example.org or https://example.org/pay", quoted(c.BaseURL))
	}
	if _, port, err := net.SplitHostPort(c.Metrics); c.Metrics != "" && (err != nil || !isPort(port)) {
		fault("METRICS", "%s is not an address like 127.0.0.1:9464", quoted(c.Metrics))
	}
	c.Bitcoin.check(fault, "BITCOIN", true, "mainnet", "testnet4", "signet", "regtest")
	for _, peer := range c.Peers() {
		if host, port, err := net.SplitHostPort(peer); err != nil || host == "" || !isPort(port) {
			fault("BITCOIN_PEERS", "%s is not an address like 127.0.0.1:8333", quoted(peer))
		}
	}
	c.Litecoin.check(fault, "LITECOIN", false, "mainnet", "testnet", "regtest")
	c.Monero.check(fault)
	c.EVM.check(fault)
	for _, list := range []struct{ name, value string }{{"TRUST_PROXY", c.TrustProxy}, {"CALLBACK_ALLOW", c.Callback}} {
		for _, text := range splitList(list.value) {
			if _, err := parsePrefix(text); err != nil {
				fault(list.name, "%s %w", quoted(text), err)
			}
		}
	}
	for _, text := range c.EmbedOrigins() {
		if !embedOrigin.MatchString(text) {
			fault("EMBED_ORIGINS", "%s is not an origin like https://shop.example", quoted(text))
		}
	}
	if len(c.EmbedOrigins()) > maxOrigins {
		fault("EMBED_ORIGINS", "names more than %d origins", maxOrigins)
	}
	for name, address := range map[string]string{"KRAKEN_URL": c.Kraken, "BITSTAMP_URL": c.Bitstamp} {
		if address != "" && !testExchange.MatchString(address) {
			fault(name, "is for tests only, and must be a server on this machine, like http://127.0.0.1:8400")
		}
	}
	if !isDatabaseURL(c.DatabaseURL) {
		fault("DATABASE_URL", "must be sqlite:PATH or postgres://user:password@host/name, with %% and two hexadecimal digits for each of / ? # %% @ : in user and password")
	}
	if !regexp.MustCompile(`^[1-9][0-9]{0,11}$`).MatchString(c.MaxAmount) {
		fault("MAX_AMOUNT", "%q is not a whole amount like 1000000", c.MaxAmount)
	}
	if _, err := time.LoadLocation(c.Timezone); err != nil {
		fault("TIMEZONE", "%q is not a time zone like Europe/Berlin", c.Timezone)
	}
	if !regexp.MustCompile(`^(1?[0-9](\.[0-9]{1,2})?|20(\.0{1,2})?)?$`).MatchString(c.TolerancePercent) {
		fault("TOLERANCE_PERCENT", "%q is not a percentage from 0 to 20, like 0.5", c.TolerancePercent)
	}
	if !regexp.MustCompile(`^([0-9]{1,6}(\.[0-9]{1,2})?)?$`).MatchString(c.ToleranceAmount) {
		fault("TOLERANCE_AMOUNT", "%q is not an amount of euro like 0.10", c.ToleranceAmount)
	}
	if c.MaxScanAge < time.Minute || c.MaxScanAge > 24*time.Hour {
		fault("MAX_SCAN_AGE", "%q is not a time from 1m to 24h, like 10m", c.MaxScanAge)
	}
	if c.MasterKey != "" {
		if key, err := hex.DecodeString(c.MasterKey); err != nil || len(key) != 32 {
			fault("MASTER_KEY", "must be 64 hexadecimal digits")
		}
	}
	if _, err := c.smtp(); err != nil {
		errs = append(errs, fmt.Errorf(prefix+"%w", err))
	}
	if (c.APIKey == "") != (c.APISecret == "") {
		fault("API_KEY", "goes together with %sAPI_SECRET", prefix)
	}
	if c.Rates != "" && c.Rates != "live" && !strings.HasPrefix(c.Rates, "fixed:") {
		fault("RATES", "must be live, or fixed:BTC-EUR=86420.00,…,EUR-USD=1.08")
	}
	if !regexp.MustCompile(`^0\.[0-9]{1,4}$|^1$`).MatchString(c.EuroFloor) {
		fault("EURC_FLOOR", "%q is not a price from 0 to 1 euro, like 0.98", c.EuroFloor)
	}
	return errs
}

// baseURL matches an address with a host, an optional port, and path segments of plain characters,
// which are the same whether or not a proxy encodes them.
var baseURL = regexp.MustCompile(`^https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)

// embedOrigin matches an origin in the form that browsers compare. Only an origin on this machine may
// be without TLS, for trials.
var embedOrigin = regexp.MustCompile(`^(https://[a-z0-9]([a-z0-9.-]*[a-z0-9])?|http://(localhost|127\.0\.0\.1))(:[1-9][0-9]{0,4})?$`)

// testExchange matches the address of a simulated exchange on this machine. A setting cannot make
// Chequer send keys of exchanges to other addresses.
var testExchange = regexp.MustCompile(`^http://(127\.0\.0\.1|\[::1\]):[1-9][0-9]{0,4}$`)

// maxOrigins bounds the number of origins in a header of every payment page.
const maxOrigins = 10

// databaseURL matches a file or a server's address. A database in memory is refused: it would be
// lost, and each connection would have another database.
var databaseURL = regexp.MustCompile(`^(sqlite:[^:].*|postgres(ql)?://.+)$`)

// Proxies returns the networks of the proxies whose X-Forwarded-For is trusted.
func (c Config) Proxies() []netip.Prefix { return prefixes(c.TrustProxy) }

// CallbackAllow returns the networks to which events may be sent although they are not public.
func (c Config) CallbackAllow() []netip.Prefix { return prefixes(c.Callback) }

// Location returns the time zone of what commands print: that of the settings, or else that of this machine.
func (c Config) Location() *time.Location {
	zone, err := time.LoadLocation(c.Timezone)
	if c.Timezone == "" || err != nil {
		return time.Local
	}
	return zone
}

// EmbedOrigins returns the origins whose pages may show payments in a frame.
func (c Config) EmbedOrigins() []string {
	origins := splitList(c.Embed)
	for i, origin := range origins {
		origins[i] = idn.URL(origin)
	}
	return origins
}

// Languages returns the codes of the languages of the pages; an empty list means all.
func (c Config) Languages() []string { return splitList(c.Offered) }

// Fiats returns the codes of the currencies besides euro and dollar, without a check.
func (c Config) Fiats() []string { return splitList(c.Fiat) }

// splitList splits a list at commas and white space.
func splitList(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// isPort reports whether text is a port number without leading zeros.
func isPort(text string) bool {
	number, err := strconv.ParseUint(text, 10, 16)
	return err == nil && strconv.FormatUint(number, 10) == text
}

// BasePath returns the path of the base address; "" for the root.
func (c Config) BasePath() string {
	_, rest, _ := strings.Cut(c.BaseURL, "://")
	_, path, hasPath := strings.Cut(rest, "/")
	if !hasPath {
		return ""
	}
	return "/" + path
}
