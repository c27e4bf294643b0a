package lightning_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/lightning"
)

// wallet and secret are the example of NIP-47.
const (
	wallet = "b889ff5b1513b641e2a139f661a661364979c5beee91842f8f0ef42ab558e9d4"
	secret = "71a8c14c1407c113601079c4302dab36460f0ccd0ad506f1f2dc73b5100e4f3c"
)

// certificate returns a certificate in DER form.
func certificate(t *testing.T) []byte {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return server.Certificate().Raw
}

func TestParseConnection_reads_what_providers_show(t *testing.T) {
	t.Parallel()
	der := certificate(t)
	sum := sha256.Sum256(der)
	const relay = "relay=wss%3A%2F%2Frelay.example%2Fv1"
	oneRelay := lightning.Connection{Kind: lightning.NWC, WalletKey: wallet, Relays: []string{"wss://relay.example/v1"}, Secret: lightning.NewSecret(secret)}
	twoRelays := oneRelay
	twoRelays.Relays = []string{"wss://relay.example/v1", "wss://b.example"}
	node := lightning.Connection{Kind: lightning.LND, Server: "https://node.example:8080", Secret: lightning.NewSecret("0201ff"), Certificate: sum[:]}
	rooted := node
	rooted.Certificate = nil
	phoenixd := lightning.Connection{Kind: lightning.Phoenixd, Server: "http://127.0.0.1:9740", Secret: lightning.NewSecret("a=b")}
	address := lightning.Connection{Kind: lightning.Address, User: "anna.b_c-d+e", Domain: "shop.pay.example"}
	for name, test := range map[string]struct {
		text string
		want lightning.Connection
		show string
	}{
		"NWC":                             {"nostr+walletconnect://" + wallet + "?" + relay + "&secret=" + secret, oneRelay, "NWC, relay.example"},
		"NWC without slashes":             {" nostr+walletconnect:" + wallet + "?secret=" + secret + "&" + relay + "&lud16=a@b.example\n", oneRelay, "NWC, relay.example"},
		"NWC in upper case":               {"NOSTR+WALLETCONNECT://" + strings.ToUpper(wallet) + "?" + relay + "&secret=" + strings.ToUpper(secret), oneRelay, "NWC, relay.example"},
		"NWC with two relays":             {"nostr+walletconnect://" + wallet + "?" + relay + "&relay=wss://b.example&secret=" + secret, twoRelays, "NWC, relay.example, b.example"},
		"NWC as a field":                  {"type=nwc;key=nostr+walletconnect://" + wallet + "?" + relay + "&secret=" + secret, oneRelay, "NWC, relay.example"},
		"NWC after a field of that name":  {"type=nwc;monkey=1;key=nostr+walletconnect://" + wallet + "?" + relay + "&secret=" + secret, oneRelay, "NWC, relay.example"},
		"a Lightning address":             {"Anna.b_c-d+e@Shop.Pay.Example", address, "anna.b_c-d+e@shop.pay.example"},
		"a link to an address":            {"lightning:anna.b_c-d+e@shop.pay.example", address, "anna.b_c-d+e@shop.pay.example"},
		"lndconnect":                      {"lndconnect://node.example:8080?cert=" + base64.RawURLEncoding.EncodeToString(der) + "&macaroon=" + base64.RawURLEncoding.EncodeToString([]byte{2, 1, 255}), node, "lnd, node.example:8080"},
		"lndconnect without certificate":  {"lndconnect://node.example:8080?macaroon=AgH_", rooted, "lnd, node.example:8080"},
		"lnd with a thumbprint":           {"type=lnd-rest;server=https://node.example:8080/;macaroon=0201FF;certthumbprint=" + hex.EncodeToString(sum[:]), node, "lnd, node.example:8080"},
		"lnd with a PEM certificate":      {"type=lnd-rest;server=https://node.example:8080;macaroon=AgH/;cert=" + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), node, "lnd, node.example:8080"},
		"lnd with another root":           {"type=lnd-rest; server=https://node.example:8080; macaroon=0201ff;", rooted, "lnd, node.example:8080"},
		"phoenixd":                        {"type=phoenixd;server=http://127.0.0.1:9740/;password=a=b", phoenixd, "phoenixd, 127.0.0.1:9740"},
		"phoenixd in another order":       {"TYPE=Phoenixd;Password=a=b;Server=http://127.0.0.1:9740", phoenixd, "phoenixd, 127.0.0.1:9740"},
		"lnd, thumbprint with separators": {"type=lnd-rest;server=https://node.example:8080;macaroon=0201ff;certthumbprint=" + withColons(sum[:]), node, "lnd, node.example:8080"},
	} {
		for form, text := range map[string]string{"pasted": test.text, "revealed": test.want.Reveal()} {
			got, err := lightning.ParseConnection(text)
			if err != nil {
				t.Errorf("%s, %s: %v", name, form, err)
				continue
			}
			if got.Secret.Reveal() != test.want.Secret.Reveal() || got.String() != test.show {
				t.Errorf("%s, %s: got secret %q and %q, want %q and %q", name, form, got.Secret.Reveal(), got, test.want.Secret.Reveal(), test.show)
			}
			got.Secret = test.want.Secret
			if diff := cmp.Diff(got, test.want, cmp.Comparer(func(a, b lightning.Secret) bool { return a == b })); diff != "" {
				t.Errorf("%s, %s: connection differs (-got +want):\n%s", name, form, diff)
			}
		}
	}
}

func withColons(sum []byte) string {
	return strings.ReplaceAll(fmt.Sprintf("% x", sum), " ", ":")
}

func TestParseConnection_names_what_is_wrong(t *testing.T) {
	t.Parallel()
	const nwc = "nostr+walletconnect://" + wallet + "?relay=wss://relay.example"
	for text, want := range map[string]string{
		"":                          "not a connection",
		"https://node.example:8080": "not a connection",
		"anna@localhost":            "not a connection",
		"anna@pay.example/x":        "not a connection",
		"anna@abc.onion":            "onion service",
		"LNURL1DP68GURN8GHJ7MRWW4EXCTT5DAHKCCN00QHXGET8WFJK2UM0VEAX2UN09E3K7MF0W5LHG0": "use the Lightning address",
		"lightning:lnbc1pvjluez":                       "a payment request",
		"lno1qcp4256ypqpq86q2pucnq42ngssx2an9wfujqerp": "a payment request or an offer",
		nwc:                 "the secret is missing",
		nwc + "&secret=123": "the secret is missing or not valid",
		nwc + "&secret=" + strings.Repeat("0", 64):                                             "the secret is missing or not valid",
		nwc + "&secret=" + strings.Repeat("f", 64):                                             "the secret is missing or not valid",
		nwc + "&secret=%zz":                                                                    "malformed",
		nwc + "&relay=https://a&secret=" + secret:                                              "a relay is not a wss:// URL",
		nwc + "&relay=wss://u:p@a&secret=" + secret:                                            "a relay is not a wss:// URL",
		nwc + strings.Repeat("&relay=wss://a", 5) + "&secret=" + secret:                        "want 1 to 5 relays",
		"nostr+walletconnect://" + wallet + "?secret=" + secret:                                "want 1 to 5 relays",
		"nostr+walletconnect://npub1abc?secret=" + secret:                                      "public key is not valid",
		"nostr+walletconnect://" + strings.Repeat("f", 64) + "?relay=wss://a&secret=" + secret: "public key is not valid",
		"type=nwc":               "the field key is missing",
		"type=nwc;key=" + secret: "the key is not of the form nostr+walletconnect",
		"type=nwc;" + strings.Repeat("Ⱥ", 40) + "=1;key=":                            "the key is not of the form nostr+walletconnect", // longer in lower case
		"type=clightning;server=unix://x":                                            "the type of the connection is not",
		"type=phoenixd;" + secret:                                                    "not of the form name=value",
		"type=phoenixd;server=http://a":                                              "the password is missing",
		"type=phoenixd;server=a:1;password=x":                                        "the server is not",
		"type=phoenixd;server=http://u:secretword@a;password=x":                      "the server is not",
		"type=lnd-rest;server=https://a;macaroon=":                                   "the macaroon is missing",
		"type=lnd-rest;server=https://a;macaroon=%%":                                 "the macaroon is missing or not valid",
		"type=lnd-rest;server=https://a;macaroonfilepath=/x":                         "files of the node",
		"type=lnd-rest;server=https://a;macaroon=0201;certthumbprint=" + secret[:62]: "the certificate is not valid",
		"type=lnd-rest;server=https://a;macaroon=0201;cert=-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n": "the certificate is not valid",
		"lndconnect://node.example:8080":                                                  "the macaroon is missing",
		"lndconnect://abcdefgh.onion:8080?macaroon=0201":                                  "onion service",
		"type=phoenixd;server=http://ABCDEFGH.Onion.:9740;password=x":                     "onion service",
		"nostr+walletconnect://" + wallet + "?relay=ws://abcdefgh.onion&secret=" + secret: "onion service",
		"lndconnect://?macaroon=0201":                                                     "the server is not",
		"lndconnect://node:x?macaroon=0201":                                               "malformed",
		"a" + strings.Repeat(secret, 300):                                                 "longer than 16 KiB",
	} {
		got, err := lightning.ParseConnection(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseConnection(%.120q) = %v, %v, want an error with %q", text, got, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), secret[:16]) || strings.Contains(err.Error(), "secretword")) {
			t.Errorf("ParseConnection(%.120q): the error contains the secret: %v", text, err)
		}
	}
}

func TestConnection_hides_its_secret(t *testing.T) {
	t.Parallel()
	c, err := lightning.ParseConnection("nostr+walletconnect://" + wallet + "?relay=wss://relay.example&secret=" + secret)
	if err != nil {
		t.Fatal(err)
	}
	inner := struct{ connection lightning.Connection }{c}
	var printed bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&printed, nil))
	log.Info("connection", "connection", c, "pointer", &c, "secret", c.Secret, "inner", inner)
	slog.New(slog.NewTextHandler(&printed, nil)).Info("connection", "connection", c, "inner", inner)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&printed, verb+verb+verb+verb+"\n", c, &c, c.Secret, inner)
	}
	encoded, err := json.Marshal([]any{c, c.Secret, inner})
	if err != nil {
		t.Fatal(err)
	}
	printed.Write(encoded)
	if text := strings.ToLower(printed.String()); strings.Contains(text, secret) || strings.Contains(text, hex.EncodeToString([]byte(secret))) {
		t.Errorf("the secret is printed:\n%s", text)
	}
	if !strings.Contains(printed.String(), "NWC, relay.example") {
		t.Errorf("the provider is not printed:\n%s", printed.String())
	}
}

func FuzzParseConnection(f *testing.F) {
	f.Add("nostr+walletconnect://" + wallet + "?relay=wss://relay.example&secret=" + secret)
	f.Add("type=lnd-rest;server=https://a;macaroon=0201;certthumbprint=" + secret)
	f.Add("lndconnect://node.example:8080?macaroon=AgH_")
	f.Add("type=phoenixd;server=http://127.0.0.1:9740;password=x")
	f.Add("type=nwc;monkey=ȺȺ;key=nostr+walletconnect://" + wallet + "?relay=wss://relay.example&secret=" + secret)
	f.Add("anna@pay.example")
	f.Fuzz(func(t *testing.T, text string) {
		want, err := lightning.ParseConnection(text)
		if err != nil {
			return
		}
		got, err := lightning.ParseConnection(want.Reveal())
		if err != nil || got.Reveal() != want.Reveal() {
			t.Errorf("ParseConnection(%q) = %q, %v, want the same connection", want.Reveal(), got.Reveal(), err)
		}
	})
}
