package config_test

import (
	"strings"
	"testing"

	"chequer/internal/config"
)

func TestEmbedOrigins_are_exact_and_secure(t *testing.T) {
	t.Parallel()
	for origins, valid := range map[string]bool{
		"https://shop.example":                            true,
		"https://shop.example:8443, http://localhost:300": true,
		"http://127.0.0.1:3000":                           true,
		"https://shop.example/":                           false,
		"https://shop.example/path":                       false,
		"https://*.shop.example":                          false,
		"https://Shop.example":                            false, // browsers compare it in lower case
		"http://shop.example":                             false,
		"shop.example":                                    false,
		"*":                                               false,
		"'self'":                                          false,
		"https://shop.example;script-src":                 false,
		"null":                                            false,
		"https://user@shop.example":                       false,
		strings.Repeat("https://shop.example ", 10):       true,
		strings.Repeat("https://shop.example ", 11):       false,
	} {
		c, err := config.Load([]string{"CHEQUER_EMBED_ORIGINS=" + origins})
		if (err == nil) != valid {
			t.Errorf("%s: error %v", origins, err)
		}
		if valid && len(c.EmbedOrigins()) == 0 {
			t.Errorf("%s: no origins", origins)
		}
	}
}

// An international domain name is stored in Punycode, as it is used on the network.
func TestLoad_keeps_international_domain_names_in_Punycode(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{"CHEQUER_BASE_URL=https://bücher.example/pay/", "CHEQUER_EMBED_ORIGINS=https://bücher.example,https://shop.example"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.BaseURL, "https://xn--bcher-kva.example/pay"; got != want {
		t.Errorf("BaseURL = %q, want %q", got, want)
	}
	if got, want := strings.Join(c.EmbedOrigins(), " "), "https://xn--bcher-kva.example https://shop.example"; got != want {
		t.Errorf("EmbedOrigins = %q, want %q", got, want)
	}
}
