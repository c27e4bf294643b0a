package idn_test

import (
	"testing"

	"chequer/internal/idn"
)

func TestURL_converts_only_the_host(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://bücher.example/danke?a=ü#ö":   "https://xn--bcher-kva.example/danke?a=ü#ö",
		"https://BÜCHER.example":               "https://xn--bcher-kva.example",
		"https://bu\u0308cher.example/":        "https://xn--bcher-kva.example/",
		"https://straße.example:8443/x":        "https://xn--strae-oqa.example:8443/x",
		"https://例え。テスト/":                      "https://xn--r8jz45g.xn--zckzah/",
		"https://пример.рф?x":                  "https://xn--e1afmkfd.xn--p1ai?x",
		"https://مثال.إختبار/":                 "https://xn--mgbh0fb.xn--kgbechtv/",
		"https://shop.example/ü":               "https://shop.example/ü",
		"https://xn--bcher-kva.example/":       "https://xn--bcher-kva.example/",
		"https://bücher.example@evil.example/": "https://bücher.example@evil.example/",
		"https://evil.example\\bücher.example": "https://evil.example\\bücher.example",
		"https://b%C3%BCcher.example/":         "https://b%C3%BCcher.example/",
		"https://\u202eshop.example/":          "https://\u202eshop.example/",
		"https://a\u200bü b.example/":          "https://a\u200bü b.example/",
		"https://[::1]:8080/ü":                 "https://[::1]:8080/ü",
		"mailto:hilfe@bücher.example":          "mailto:hilfe@bücher.example",
		"//bücher.example/":                    "//bücher.example/",
		"javascript:alert('ü')":                "javascript:alert('ü')",
		"":                                     "",
	} {
		if got := idn.URL(text); got != want {
			t.Errorf("URL(%q) = %q, want %q", text, got, want)
		}
	}
}
