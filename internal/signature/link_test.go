package signature_test

import (
	"testing"

	"chequer/internal/signature"
)

func TestLinkMessage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		parameters map[string]string
		want       string
	}{
		"sorted by name": {
			map[string]string{"order_id": "1042", "amount": "56.50", "key": "K", "fiat_currency": "EUR"},
			"chequer-link-v1\namount=56.50&fiat_currency=EUR&key=K&order_id=1042",
		},
		"unreserved characters of RFC 3986 stay": {map[string]string{"order_id": "aZ09-._~"}, "chequer-link-v1\norder_id=aZ09-._~"},
		"everything else is encoded": {
			map[string]string{"description": "Zwei Brötchen +1 & 'x' (*)!/?="},
			"chequer-link-v1\ndescription=Zwei%20Br%C3%B6tchen%20%2B1%20%26%20%27x%27%20%28%2A%29%21%2F%3F%3D",
		},
		"a value cannot forge another parameter": {
			map[string]string{"amount": "1&key=K"}, "chequer-link-v1\namount=1%26key%3DK",
		},
		"empty parameters are included": {map[string]string{"order_id": ""}, "chequer-link-v1\norder_id="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := string(signature.LinkMessage(tt.parameters)); got != tt.want {
				t.Errorf("LinkMessage() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLinkQuery_drops_foreign_parameters(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"": "", "fbclid=1": "", "amount=1&fbclid=2&key=k": "amount=1&key=k", "utm_source=a&sig=00": "sig=00",
		"description=a%20b+c": "description=a%20b+c", "AMOUNT=1": "AMOUNT=1", "%61mount=1": "%61mount=1", "amount+=1": "amount+=1",
		"amount": "amount", "amount=1&amount=2": "amount=1&amount=2", "&&": "", "a;amount=1": "", "lang=de": "",
	} {
		if got := signature.LinkQuery(query); got != want {
			t.Errorf("LinkQuery(%q) = %q, want %q", query, got, want)
		}
	}
}
