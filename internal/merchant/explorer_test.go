package merchant_test

import (
	"testing"

	"chequer/internal/merchant"
)

func TestExplorers_encode_the_text_of_an_address(t *testing.T) {
	t.Parallel()
	all := merchant.Explorers{{"bitcoin", "https://e.example/tx/{tx}"}, {"bitcoin", "https://e.example/?a={address}&b=1"}, {"base", "https://b.example/{tx}"}}
	for _, tt := range []struct{ got, want string }{
		{all.Transaction("bitcoin", "8f3c"), "https://e.example/tx/8f3c"},
		{all.Transaction("bitcoin", "a/b?c&d=e f"), "https://e.example/tx/a%2Fb%3Fc%26d%3De%20f"},
		{all.Transaction("bitcoin", ""), ""},
		{all.Transaction("litecoin", "8f3c"), ""},
		{all.Address("bitcoin", "bc1q"), "https://e.example/?a=bc1q&b=1"},
		{all.Address("base", "0x1"), ""},
		{merchant.Explorers(nil).Address("base", "0x1"), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
