package monero

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Keys and seed of the wallet in tests/functional_tests/wallet.py of Monero.
const (
	viewKeyText  = "49774391fa5e8d249fc2c5b45dadef13534bf2483dede880dac88f061e809100"
	spendKeyText = "148d78d2aba7dbca5cd8f6abcfb0b3c009ffbdbea1ff373d50ed94d78286640e"
	seedText     = "velvet lymph giddy number token physics poetry unquoted nibs useful sabotage limits benches lifestyle eden nitrogen anvil fewest avoid batch vials washing fences goat unquoted"
)

// order is the order of the group, the lowest number that is not a private key.
const order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"

func TestParseViewKey(t *testing.T) {
	t.Parallel()
	words := strings.Fields(seedText)
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"a_key":                 {viewKeyText, nil},
		"a_key_in_capitals":     {strings.ToUpper(viewKeyText), nil},
		"a_key_in_spaces":       {" \n" + viewKeyText + "\r\n", nil},
		"zero":                  {strings.Repeat("0", 64), ErrKeyRange},
		"the_order":             {order, ErrKeyRange},
		"a_number_not_reduced":  {strings.Repeat("f", 64), ErrKeyRange},
		"a_digit_less":          {viewKeyText[1:], ErrKeyForm},
		"a_digit_more":          {viewKeyText + "0", ErrKeyForm},
		"a_prefix":              {"0x" + viewKeyText, ErrKeyForm},
		"another_letter":        {"g" + viewKeyText[1:], ErrKeyForm},
		"an_address":            {primaryText, ErrKeyForm},
		"nothing":               {"", ErrKeyForm},
		"some_words":            {"the private view key of my wallet", ErrKeyForm},
		"a_seed_of_25_words":    {seedText, ErrSeed},
		"a_seed_of_24_words":    {strings.Join(words[:24], " "), ErrSeed},
		"a_seed_of_16_words":    {strings.Join(words[:16], " "), ErrSeed},
		"a_seed_of_14_words":    {strings.Join(words[:14], " "), ErrSeed},
		"a_seed_of_13_words":    {strings.Join(words[:13], " "), ErrSeed},
		"a_seed_in_lines":       {strings.Join(words, "\r\n"), ErrSeed},
		"a_seed_with_commas":    {strings.Join(words, ","), ErrSeed},
		"a_seed_with_numbers":   {numbered(words), ErrSeed},
		"a_seed_in_Japanese":    {strings.Repeat("いっぽう\u3000あまやか\u3099す\u3000", 12) + "えんしゅう", ErrSeed},
		"a_seed_in_Chinese":     {strings.Repeat("的 一 是 在 不 ", 5), ErrSeed},
		"a_seed_with_accents":   {strings.Repeat("œillet été Äpfel ", 5), ErrSeed},
		"a_seed_with_its_label": {"seed: " + seedText + ".", ErrSeed},
	} {
		key, err := ParseViewKey(tt.text)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		}
		if err == nil && fmt.Sprintf("%x", key.Reveal()) != viewKeyText {
			t.Errorf("%s: another key", name)
		}
		if err != nil && (key != ViewKey{} || strings.Contains(err.Error(), viewKeyText[1:]) || strings.Contains(err.Error(), words[0])) {
			t.Errorf("%s: the key or its text is in the result", name)
		}
	}
}

func numbered(words []string) (text string) {
	for i, w := range words {
		text += fmt.Sprintf("%d. %s ", i+1, w)
	}
	return text
}

func TestViewKey_is_not_printed(t *testing.T) {
	t.Parallel()
	key := viewKey(t, viewKeyText)
	wallet := wallet(t, primaryText, viewKeyText)
	type nested struct{ key ViewKey }
	var output bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b", "%T"} {
		for _, value := range []any{key, &key, nested{key}, &nested{key}, []ViewKey{key}, map[string]ViewKey{"a": key}, wallet, *wallet, []*Wallet{wallet}} {
			fmt.Fprintf(&output, verb+"\n", value)
		}
	}
	encoded, err := json.Marshal([]any{key, &key, wallet})
	if err != nil {
		t.Fatal(err)
	}
	output.Write(encoded)
	for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&output, nil)), slog.New(slog.NewJSONHandler(&output, nil))} {
		log.Info("a key", "key", key, "pointer", &key, "nested", nested{key}, "wallet", wallet)
	}
	secret := key.Reveal()
	for _, form := range []string{viewKeyText, strings.ToUpper(viewKeyText), string(secret[:]), fmt.Sprint(secret), strings.Trim(fmt.Sprint(secret[:8]), "[]"), fmt.Sprintf("%x", viewKeyText)} {
		if strings.Contains(output.String(), form) {
			t.Errorf("the key is in the output as %q", form)
		}
	}
	if !strings.Contains(output.String(), hidden) || key.String() != hidden {
		t.Error("no hidden key is in the output")
	}
}

func viewKey(t testing.TB, text string) ViewKey {
	t.Helper()
	key, err := ParseViewKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// wallet returns the wallet of an address and a private view key.
func wallet(t testing.TB, address, key string) *Wallet {
	t.Helper()
	a, err := ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWallet(a, viewKey(t, key))
	if err != nil {
		t.Fatal(err)
	}
	return w
}
