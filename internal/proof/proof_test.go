package proof_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/proof"
)

// vectors are from RFC 8032, section 7.1: secret key, public key, message, signature.
var vectors = map[string][4]string{
	"TEST 1": {
		"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
		"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
		"",
		"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
	},
	"TEST 2": {
		"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
		"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
		"72",
		"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
	},
	"TEST 3": {
		"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
		"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
		"af82",
		"6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
	},
}

func decode(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Signatures are Ed25519 as in the standard.
func TestEd25519_gives_the_vectors_of_RFC_8032(t *testing.T) {
	t.Parallel()
	for name, v := range vectors {
		private := ed25519.NewKeyFromSeed(decode(t, v[0]))
		if got := hex.EncodeToString(private.Public().(ed25519.PublicKey)); got != v[1] {
			t.Errorf("%s: public key %s, want %s", name, got, v[1])
		}
		if got := hex.EncodeToString(ed25519.Sign(private, decode(t, v[2]))); got != v[3] {
			t.Errorf("%s: signature %s, want %s", name, got, v[3])
		}
	}
}

func newKey(t *testing.T, name string) proof.Key {
	t.Helper()
	private := ed25519.NewKeyFromSeed(decode(t, vectors[name][0]))
	return proof.Key{Number: 1, Public: proof.NewPublicKey(private.Public().(ed25519.PublicKey)), Private: private, CreatedAt: from}
}

var (
	from     = time.Date(2026, 11, 27, 12, 0, 32, 782e6, time.UTC)
	quoteEnd = from.Add(15 * time.Minute)
)

const (
	wrapped = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F"
	usdc    = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	segwit  = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"
	legacy  = "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"
)

func statement() proof.Statement {
	return proof.Statement{
		Server: "https://pay.example/shop", Invoice: "Ab3kQ9ZtLm", Mode: "live", Quote: 2, From: from, Until: quoteEnd, Amount: "56.5", Currency: "EUR",
		Methods: []proof.Method{
			{Currency: "BTC", Network: "bitcoin", Address: segwit, Amount: "0.00065379"},
			{Currency: "LTC", Network: "litecoin", Address: legacy, Amount: "0.7"},
			{Currency: "USDC-BASE", Network: "base", Address: wrapped, Amount: "61.02", ChainID: "8453", Contract: usdc, Decimals: 6},
			{Currency: "ETH-BASE", Network: "base", Address: wrapped, Amount: "0.021320080", ChainID: "8453", Decimals: 18},
		},
	}
}

func signed(t *testing.T) string {
	t.Helper()
	text, err := proof.Sign(statement(), newKey(t, "TEST 1"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// check parses and verifies a statement, and checks that it is still valid, as a shopper does.
func check(t *testing.T, text string, trusted []proof.Trusted, at time.Time) (proof.Statement, error) {
	t.Helper()
	s, err := proof.Parse(text)
	if err != nil {
		return proof.Statement{}, err
	}
	statement, err := s.Verify(trusted)
	if err != nil {
		return proof.Statement{}, err
	}
	return statement, statement.CheckExpiry(at)
}

// The text must never change: every later release must be able to verify a statement signed before.
func TestSign_writes_exactly_this_text(t *testing.T) {
	t.Parallel()
	want := `chequer-proof-v1
server: https://pay.example/shop
invoice: Ab3kQ9ZtLm
mode: live
quote: 2
from: 2026-11-27T12:00:32.782Z
until: 2026-11-27T12:15:32.782Z
amount: 56.5 EUR
pay: 0.00065379 BTC on bitcoin to bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq
pay: 0.7 LTC on litecoin to 1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2
pay: 61.02 USDC-BASE on base (chain 8453, token 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913, 6 decimals) to 0x71C7656EC7ab88b098defB751B7401B5f6d8976F
pay: 0.021320080 ETH-BASE on base (chain 8453, 18 decimals) to 0x71C7656EC7ab88b098defB751B7401B5f6d8976F
key: ed25519:11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo
signature: LgMxmFhJ6UujQXXNTbviSGEZrBEJotI0pLfAsQGOrOEcHs7LMd02b1qu8zllGkR5azqoO5510q-lYa_J5ApVAw
`
	got := signed(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if second := signed(t); second != got {
		t.Error("a second signature of the same statement differs")
	}
}

func TestKeyIn_finds_the_key_of_a_signed_statement(t *testing.T) {
	t.Parallel()
	key := newKey(t, "TEST 1")
	text, err := proof.Sign(statement(), key)
	if err != nil {
		t.Fatal(err)
	}
	if got, found := proof.KeyIn(text); got != key.Public || !found {
		t.Errorf("the key is %q, %t, want %q", got, found, key.Public)
	}
	unsigned, _, _ := strings.Cut(text, "signature: ")
	for _, other := range []string{"", unsigned, strings.Replace(text, "key: ", "kay: ", 1)} {
		if got, found := proof.KeyIn(other); found {
			t.Errorf("%q names the key %q", other, got)
		}
	}
}

func TestVerify_returns_the_signed_statement(t *testing.T) {
	t.Parallel()
	key := newKey(t, "TEST 1")
	got, err := check(t, signed(t), []proof.Trusted{{Public: newKey(t, "TEST 2").Public}, {Public: key.Public}}, quoteEnd)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(statement(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A statement with any byte changed is refused.
func TestVerify_refuses_every_changed_byte(t *testing.T) {
	t.Parallel()
	text, trusted := signed(t), []proof.Trusted{{Public: newKey(t, "TEST 1").Public}}
	for i := range text {
		for _, b := range []byte{text[i] ^ 1, text[i] ^ 0x20, 0, '\n', '1', 0xff} {
			changed := text[:i] + string([]byte{b}) + text[i+1:]
			if _, err := check(t, changed, trusted, from); changed != text && err == nil {
				t.Errorf("byte %d %q as %q is accepted", i, text[i], b)
			}
		}
	}
	for i := range text {
		if _, err := check(t, text[:i], trusted, from); err == nil {
			t.Errorf("only the first %d bytes are accepted", i)
		}
	}
}

func TestVerify_refuses_invalid_statements(t *testing.T) {
	t.Parallel()
	key := newKey(t, "TEST 1")
	trusted := []proof.Trusted{{Public: key.Public}}
	statement := signed(t)
	line := func(prefix string) string {
		for l := range strings.Lines(statement) {
			if strings.HasPrefix(l, prefix) {
				return l
			}
		}
		t.Fatalf("no line %q", prefix)
		return ""
	}
	tests := map[string]struct {
		text    string
		trusted []proof.Trusted
		at      time.Time
		want    error
		fault   string // in the error
	}{
		"another_key":                {statement, []proof.Trusted{{Public: newKey(t, "TEST 2").Public}}, from, proof.ErrUntrusted, ""},
		"no_key":                     {statement, nil, from, proof.ErrUntrusted, ""},
		"an_expired_statement":       {statement, trusted, quoteEnd.Add(time.Millisecond), proof.ErrExpired, ""},
		"a_key_retired_before":       {statement, []proof.Trusted{{Public: key.Public, RetiredAt: from.Add(-time.Second)}}, from, proof.ErrRetired, ""},
		"another_address":            {strings.Replace(statement, segwit, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", 1), trusted, from, proof.ErrSignature, ""},
		"another_amount":             {strings.Replace(statement, "0.00065379", "0.00065378", 1), trusted, from, proof.ErrSignature, ""},
		"the_name_of_another_key":    {strings.Replace(statement, string(key.Public), string(newKey(t, "TEST 2").Public), 1), []proof.Trusted{{Public: newKey(t, "TEST 2").Public}}, from, proof.ErrSignature, ""},
		"a_line_after_it":            {statement + "pay: 1 BTC on bitcoin to " + legacy + "\n", trusted, from, proof.ErrFormat, "after the signature"},
		"a_space_after_it":           {statement + " ", trusted, from, proof.ErrFormat, ""},
		"a_line_feed_after_it":       {statement + "\n", trusted, from, proof.ErrFormat, ""},
		"a_line_before_it":           {"Dear shopper,\n" + statement, trusted, from, proof.ErrFormat, "line 1"},
		"a_byte_order_mark":          {"\ufeff" + statement, trusted, from, proof.ErrFormat, "line 1"},
		"lines_that_end_in_CR_LF":    {strings.ReplaceAll(statement, "\n", "\r\n"), trusted, from, proof.ErrFormat, "CR LF"},
		"no_line_feed_at_the_end":    {strings.TrimSuffix(statement, "\n"), trusted, from, proof.ErrFormat, "line feed"},
		"no_signature":               {strings.Replace(statement, line("signature: "), "", 1), trusted, from, proof.ErrFormat, "signature"},
		"a_line_twice":               {strings.Replace(statement, line("until: "), line("until: ")+line("until: "), 1), trusted, from, proof.ErrFormat, "line 8"},
		"a_payment_method_twice":     {strings.Replace(statement, line("pay: "), line("pay: ")+line("pay: "), 1), trusted, from, proof.ErrSignature, ""},
		"a_payment_method_less":      {strings.Replace(statement, line("pay: "), "", 1), trusted, from, proof.ErrSignature, ""},
		"lines_in_another_order":     {strings.Replace(statement, line("from: ")+line("until: "), line("until: ")+line("from: "), 1), trusted, from, proof.ErrFormat, "line 6"},
		"digits_that_look_alike":     {strings.Replace(statement, "56.5", "５6.5", 1), trusted, from, proof.ErrFormat, ""},
		"letters_that_look_alike":    {strings.Replace(statement, "bc1q", "bс1q", 1), trusted, from, proof.ErrFormat, ""},
		"an_amount_with_a_comma":     {strings.Replace(statement, "56.5", "56,5", 1), trusted, from, proof.ErrFormat, ""},
		"an_amount_with_a_zero_more": {strings.Replace(statement, "56.5", "056.5", 1), trusted, from, proof.ErrFormat, ""},
		"an_impossible_day":          {strings.Replace(statement, "until: 2026-11-27", "until: 2026-11-31", 1), trusted, from, proof.ErrFormat, ""},
		"another_version":            {strings.Replace(statement, "-v1", "-v2", 1), trusted, from, proof.ErrFormat, "line 1"},
		"padding":                    {strings.TrimSuffix(statement, "\n") + "==\n", trusted, from, proof.ErrFormat, "signature"},
		"a_very_long_text":           {statement + strings.Repeat("a", 64<<20), trusted, from, proof.ErrFormat, "longer"},
		"many_lines":                 {strings.Replace(statement, line("pay: "), strings.Repeat(line("pay: "), 10_000), 1), trusted, from, proof.ErrFormat, "longer"},
		"nothing":                    {"", trusted, from, proof.ErrFormat, ""},
		"an_HTML_page":               {"<!doctype html><p>Not found", trusted, from, proof.ErrFormat, "line 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := check(t, test.text, test.trusted, test.at)
			if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Errorf("got error %v, want %v with %q", err, test.want, test.fault)
			}
		})
	}
}

// With a key that was stolen before it was replaced, a statement can have any times, but its validity
// is limited to that of a server's quote.
func TestVerify_refuses_a_quote_that_is_valid_too_long(t *testing.T) {
	t.Parallel()
	key := newKey(t, "TEST 1")
	for validity, want := range map[time.Duration]error{
		time.Minute: nil, 24 * time.Hour: nil, 24*time.Hour + time.Millisecond: proof.ErrValidity, 365 * 24 * time.Hour: proof.ErrValidity, -time.Millisecond: proof.ErrValidity,
	} {
		s := statement()
		s.Until = s.From.Add(validity)
		text, err := proof.Sign(s, key)
		if err != nil {
			t.Fatal(err)
		}
		for _, trusted := range []proof.Trusted{{Public: key.Public}, {Public: key.Public, RetiredAt: from.Add(time.Hour)}} {
			if _, err := check(t, text, []proof.Trusted{trusted}, s.From.Add(min(validity, 30*time.Second))); !errors.Is(err, want) {
				t.Errorf("%s: got error %v, want %v", validity, err, want)
			}
		}
	}
}

// If a key is retired in one list, it is retired even if it is active in another list.
func TestVerify_refuses_a_key_that_is_retired_in_one_list(t *testing.T) {
	t.Parallel()
	key := newKey(t, "TEST 1")
	replaced := proof.Trusted{Public: key.Public, RetiredAt: from.Add(-time.Second)}
	for _, trusted := range [][]proof.Trusted{{{Public: key.Public}, replaced}, {replaced, {Public: key.Public}}} {
		if _, err := check(t, signed(t), trusted, from); !errors.Is(err, proof.ErrRetired) {
			t.Errorf("got error %v, want %v", err, proof.ErrRetired)
		}
	}
}

// A statement that would be parsed differently from its meaning is never signed.
func TestSign_refuses_values_that_cannot_be_written(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*proof.Statement){
		"a_server_with_a_line_feed":   func(s *proof.Statement) { s.Server = "https://pay.example\npay: x" },
		"a_server_beyond_ASCII":       func(s *proof.Statement) { s.Server = "https://bücher.example" },
		"an_address_with_a_line_feed": func(s *proof.Statement) { s.Methods[0].Address = segwit + "\nkey: x" },
		"an_address_with_a_space":     func(s *proof.Statement) { s.Methods[0].Address = segwit + " or " + legacy },
		"no_payment_method":           func(s *proof.Statement) { s.Methods = nil },
		"an_amount_in_words":          func(s *proof.Statement) { s.Amount = "56.5 EUR or less" },
		"a_network_with_a_bracket":    func(s *proof.Statement) { s.Methods[0].Network = "bitcoin (chain 1" },
		"a_very_long_server":          func(s *proof.Statement) { s.Server = "https://pay.example/" + strings.Repeat("a", proof.MaxSize) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := statement()
			change(&s)
			if text, err := proof.Sign(s, newKey(t, "TEST 1")); !errors.Is(err, proof.ErrFormat) {
				t.Errorf("got %q, error %v, want %v", text, err, proof.ErrFormat)
			}
		})
	}
}

func TestFind_matches_only_methods_of_the_statement(t *testing.T) {
	t.Parallel()
	const other = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
	tests := map[string]struct {
		shown string
		want  string // currencies of the methods found
		fault string // otherwise, a part of the error
	}{
		"an_address":                                {segwit, "BTC", ""},
		"an_address_in_capitals":                    {strings.ToUpper(segwit), "BTC", ""},
		"an_address_with_a_line_feed":               {segwit + "\n", "BTC", ""},
		"an_address_of_base58":                      {legacy, "LTC", ""},
		"an_address_of_base58_in_other_case":        {strings.ToLower(legacy), "", "not in the statement"},
		"an_address_of_two_payment_methods":         {strings.ToLower(wrapped), "USDC-BASE ETH-BASE", ""},
		"another_address":                           {other, "", "not in the statement"},
		"an_address_cut_short":                      {segwit[:20], "", "not in the statement"},
		"a_link":                                    {"bitcoin:" + segwit + "?amount=0.00065379&label=Shop", "BTC", ""},
		"a_code":                                    {"BITCOIN:" + strings.ToUpper(segwit) + "?amount=0.00065379", "BTC", ""},
		"a_link_without_amount":                     {"bitcoin:" + segwit, "BTC", ""},
		"a_link_with_zeros":                         {"bitcoin:" + segwit + "?amount=0.000653790", "BTC", ""},
		"a_link_with_another_amount":                {"bitcoin:" + segwit + "?amount=0.65379", "", "asks for 0.65379"},
		"a_link_with_another_address":               {"bitcoin:" + other + "?amount=0.00065379", "", "not in the statement"},
		"a_link_of_another_coin":                    {"litecoin:" + segwit, "", "is for litecoin"},
		"a_link_of_a_coin_with_the_same_addresses":  {"bitcoinsv:" + segwit + "?amount=0.00065379", "", "is for bitcoinsv"},
		"a_link_with_an_offer":                      {"bitcoin:" + segwit + "?lno=LNO1QQ", "", "second payment method"},
		"a_link_with_a_bad_request":                 {"bitcoin:" + segwit + "?lightning=LNBC1", "", "is not a payment request"},
		"a_link_with_another_request":               {"bitcoin:" + segwit + "?lightning=LNBC1QQQ", "", "LNBC1QQQ is not in the statement"},
		"a_link_with_two_amounts":                   {"bitcoin:" + segwit + "?amount=0.00065379&amount=1", "", "twice"},
		"a_link_with_amount_and_AMOUNT":             {"bitcoin:" + segwit + "?amount=0.00065379&AMOUNT=1", "", "not an amount, or there is a second amount"},
		"a_transfer_of_a_token":                     {"ethereum:" + usdc + "@8453/transfer?address=" + wrapped + "&uint256=61020000", "USDC-BASE", ""},
		"a_transfer_of_another_token":               {"ethereum:" + wrapped + "@8453/transfer?address=" + wrapped + "&uint256=61020000", "", "sends the token"},
		"a_transfer_on_another_chain":               {"ethereum:" + usdc + "@1/transfer?address=" + wrapped + "&uint256=61020000", "", "chain 1"},
		"a_transfer_on_the_standard's_chain":        {"ethereum:" + usdc + "/transfer?address=" + wrapped + "&uint256=61020000", "", "chain 1"},
		"a_transfer_of_another_amount":              {"ethereum:" + usdc + "@8453/transfer?address=" + wrapped + "&uint256=610200000", "", "610200000 smallest units"},
		"a_transfer_to_another_address":             {"ethereum:" + usdc + "@8453/transfer?address=" + usdc + "&uint256=61020000", "", "not in the statement"},
		"a_payment_of_the_network's_own_coin":       {"ethereum:" + wrapped + "@8453?value=21320080000000000", "ETH-BASE", ""},
		"a_payment_of_another_amount":               {"ethereum:" + wrapped + "@8453?value=2132008000000000", "", "2132008000000000 smallest units"},
		"a_bitcoin_link_to_an_Ethereum_address":     {"bitcoin:" + wrapped, "", "is for bitcoin"},
		"words":                                     {"pay me please", "", "not an address"},
		"an_address_with_a_letter_that_looks_alike": {"bс1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "", "not an address"},
		"a_very_long_text":                          {strings.Repeat("a", 5000), "", "longer"},
		"nothing":                                   {"", "", "not an address"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found []string
			shown, err := proof.ParseShown(test.shown)
			if err == nil {
				var methods []proof.Method
				methods, err = statement().Find(shown)
				for _, m := range methods {
					found = append(found, m.Currency)
				}
			}
			if got := strings.Join(found, " "); got != test.want || (err == nil) != (test.fault == "") {
				t.Fatalf("found %q, error %v, want %q", got, err, test.want)
			}
			if err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Errorf("error %v, want %q", err, test.fault)
			}
		})
	}
}

func TestFind_matches_payment_requests_of_Lightning(t *testing.T) {
	t.Parallel()
	request := "lnbc653790n1" + strings.Repeat("qpzry9x8gf2tvdw0", 20)
	s := statement()
	s.Methods = append(s.Methods, proof.Method{Currency: "BTC-LN", Network: "lightning", Address: request, Amount: "0.00065379"})
	text, err := proof.Sign(s, newKey(t, "TEST 1"))
	if err != nil || !strings.Contains(text, "pay: 0.00065379 BTC-LN on lightning to "+request+"\n") {
		t.Fatalf("statement %q, error %v", text, err)
	}
	for shown, want := range map[string]string{
		request:                                       "BTC-LN",
		"LIGHTNING:" + strings.ToUpper(request):       "BTC-LN",
		"lightning:" + request + "q":                  "",
		"bitcoin:" + request:                          "",
		"bitcoin:" + segwit + "?lightning=" + request: "BTC BTC-LN",
		"bitcoin:" + segwit + "?amount=0.00065379&lightning=" + strings.ToUpper(request): "BTC BTC-LN",
		"bitcoin:" + segwit + "?amount=0.1&lightning=" + request:                         "",
		"bitcoin:" + segwit + "?lightning=" + request + "q":                              "",
	} {
		parsed, err := proof.ParseShown(shown)
		if err != nil {
			t.Fatal(err)
		}
		methods, err := s.Find(parsed)
		var found []string
		for _, m := range methods {
			found = append(found, m.Currency)
		}
		if got := strings.Join(found, " "); err == nil && got != want || (err == nil) != (want != "") {
			t.Errorf("%s: found %q, error %v, want %q", shown, got, err, want)
		}
	}
}

func TestParseKeys_parses_the_output_of_FormatKeys(t *testing.T) {
	t.Parallel()
	active, retired := newKey(t, "TEST 1"), newKey(t, "TEST 2")
	retired.RetiredAt = quoteEnd
	text := proof.FormatKeys([]proof.Key{active, retired})
	got, err := proof.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []proof.Trusted{{Public: active.Public}, {Public: retired.Public, RetiredAt: quoteEnd}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, text)
	}
	alone, err := proof.ParseKeys(" " + string(active.Public) + "\n")
	if diff := cmp.Diff(want[:1], alone); diff != "" || err != nil {
		t.Errorf("a key alone: %v (-want +got):\n%s", err, diff)
	}
}

func TestParseKeys_refuses_malformed_lists(t *testing.T) {
	t.Parallel()
	k := string(newKey(t, "TEST 1").Public)
	for name, text := range map[string]string{
		"nothing": "", "no_scheme": strings.TrimPrefix(k, "ed25519:"), "a_letter_less": k[:len(k)-1], "padding": k + "=", "another_scheme": "rsa" + k[7:],
		"a_row_without_a_time": "chequer-proof-keys-v1\n" + k + "\n", "an_invalid_time": "chequer-proof-keys-v1\n" + k + " since then until now\n",
		"non_zero_padding_bits": k[:len(k)-1] + "p", "two_keys": k + "\n" + k, "a_very_long_list": "chequer-proof-keys-v1\n" + strings.Repeat(k+"\n", 10_000),
	} {
		if got, err := proof.ParseKeys(text); !errors.Is(err, proof.ErrKey) {
			t.Errorf("%s: got %v, error %v, want %v", name, got, err, proof.ErrKey)
		}
	}
}

func FuzzParse(f *testing.F) {
	text, err := proof.Sign(statement(), proof.Key{Public: "ed25519:11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", Private: make([]byte, ed25519.PrivateKeySize)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(strings.Replace(text, "0.7", "1", 1))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := proof.Parse(text)
		if err == nil && !strings.Contains(text, string(s.Key())) {
			t.Errorf("%q names another key than %s", text, s.Key())
		}
	})
}
