package merchant_test

import (
	"net/url"
	"strings"
	"testing"

	"chequer/internal/merchant"
)

func TestParseReturnURL_requires_an_absolute_https_address(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "",
		"https://shop.example":              "https://shop.example",
		"https://shop.example:8443/a?b=c#d": "https://shop.example:8443/a?b=c#d",
		"HTTPS://Shop.Example/":             "HTTPS://Shop.Example/",
		"https://192.0.2.1/":                "https://192.0.2.1/",
		"http://localhost:8080/thanks":      "http://localhost:8080/thanks",
		"http://LOCALHOST/":                 "http://LOCALHOST/",
		"http://abcdefgh.onion/":            "http://abcdefgh.onion/",
		"https://bücher.example/ü":          "https://xn--bcher-kva.example/ü",
		"https://shop.example/" + strings.Repeat("a", 2048-21): "https://shop.example/" + strings.Repeat("a", 2048-21),

		"https://shop.example/" + strings.Repeat("a", 2048-20): "refused",
		"http://shop.example/":                                 "refused",
		"http://onion/":                                        "refused",
		"//shop.example/":                                      "refused",
		"/thanks":                                              "refused",
		"shop.example":                                         "refused",
		"https:shop.example":                                   "refused",
		"https:///thanks":                                      "refused",
		"https://":                                             "refused",
		"https://user@shop.example/":                           "refused",
		"https://shop.example\\@evil.example":                  "refused",
		"https://shop.example/\n":                              "refused",
		"https://shop.example/a b":                             "refused",
		"https://shop.example:0/":                              "refused",
		"https://shop.example:65536/":                          "refused",
		"https://shop.example:/":                               "refused",
		"https://-shop.example/":                               "refused",
		"https://shop..example/":                               "refused",
		"https://[::1]/":                                       "refused",
		"https://2130706433/":                                  "refused",
		"https://0X7F.1/":                                      "refused",
		"https://192.0.2/":                                     "refused",
		"https://shop.example.1/":                              "refused",
		"https://192.0.2.08/":                                  "refused",
		"https://①.②/":                                         "refused",
		"https://" + strings.Repeat("a.", 127) + "a/":          "refused",
		"javascript:alert(1)":                                  "refused",
		"data:text/html,a":                                     "refused",
		"ftp://shop.example/":                                  "refused",
		"https://shop.example/\u2028":                          "refused",
	} {
		got, err := merchant.ParseReturnURL(text)
		if err != nil {
			if got = "refused"; err.Error() != "must be an absolute https address with a host name, and without a user name" {
				t.Errorf("ParseReturnURL(%q): %v", text, err)
			}
		}
		if got != want {
			t.Errorf("ParseReturnURL(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzParseReturnURL(f *testing.F) {
	for _, text := range []string{"https://shop.example/", "http://localhost", "https://bücher.example", "https:/\\evil.example", "//a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := merchant.ParseReturnURL(text)
		if err != nil || got == "" {
			return
		}
		u, err := url.Parse(got)
		if err != nil || u.User != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsAny(got, "\\\t\r\n ") {
			t.Fatalf("ParseReturnURL(%q) = %q", text, got)
		}
		if reparsed, err := merchant.ParseReturnURL(got); err != nil || reparsed != got {
			t.Fatalf("ParseReturnURL(%q) = %q, %v", got, reparsed, err)
		}
	})
}
