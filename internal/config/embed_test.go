package config_test

import (
	"strings"
	"testing"

	"chequer/internal/config"
)

func TestEmbedOrigins(t *testing.T) {
	t.Parallel()
	for origins, fine := range map[string]bool{
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
		if (err == nil) != fine {
			t.Errorf("%s: error %v", origins, err)
		}
		if fine && len(c.EmbedOrigins()) == 0 {
			t.Errorf("%s: no origins", origins)
		}
	}
}
