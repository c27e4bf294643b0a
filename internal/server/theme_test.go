package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/merchant"
	themes "chequer/internal/theme"
)

// red is a theme with a red accent.
var red = themes.Theme{Accent: "#e8573a"}

// themeCall is a call about the theme.
func themeCall(method, key, body string) message {
	return message{method: method, target: "/api/v2/look", key: key, signRequest: true, body: body}
}

// readTheme returns the theme in the answer to a call.
func (f *fixture) readTheme(t *testing.T, m message) (got api.Theme) {
	t.Helper()
	response := f.send(m)
	if text := read(t, response); response.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &got) != nil {
		t.Fatalf("%s %s answers %d: %s", m.method, m.target, response.StatusCode, text)
	}
	return got
}

// Every answer about themes.
func TestGolden_theme_responses_are_unchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	var answers []string
	record := func(name string, m message) { answers = append(answers, goldenText(t, name, f.send(m))) }
	svg := base64.StdEncoding.EncodeToString([]byte(`<svg viewBox="0 0 8 8"><title>Nord</title><circle r="4" cx="4" cy="4"/></svg>`))
	record("none", themeCall("GET", "read", ""))
	record("set", themeCall("PUT", "live", `{"name":"Atelier Nord","accent":"#E83","line":"Prints","support":"help@shop.example","terms":"https://shop.example/terms","auto_return":false,"logo":"`+svg+`"}`))
	record("read", themeCall("GET", "read", ""))
	record("with parts left out", themeCall("PUT", "live", `{"accent":"#2b3fd6"}`))
	record("by hash", message{method: "GET", target: "/api/v2/looks/" + f.readTheme(t, themeCall("GET", "admin", "")).Hash, key: "page", signRequest: true})
	record("by an unknown hash", message{method: "GET", target: "/api/v2/looks/0123456789abcdef01234567", key: "page", signRequest: true})
	record("by an invalid hash", message{method: "GET", target: "/api/v2/looks/%2e%2e", key: "page", signRequest: true})
	record("by hash without the scope", message{method: "GET", target: "/api/v2/looks/0123456789abcdef01234567", key: "admin", signRequest: true})
	record("set with a test key", themeCall("PUT", "admin", `{"name":"Nord"}`))
	record("reset with a test key", themeCall("DELETE", "admin", ""))
	record("set without the scope", themeCall("PUT", "read", `{"name":"Nord"}`))
	record("a colour that is not valid", themeCall("PUT", "live", `{"accent":"red"}`))
	record("a support that is not an address", themeCall("PUT", "live", `{"support":"javascript:alert(1)"}`))
	record("a logo that is not base64", themeCall("PUT", "live", `{"logo":"<svg/>"}`))
	record("a logo with a script", themeCall("PUT", "live", `{"logo":"`+base64.StdEncoding.EncodeToString([]byte(`<svg viewBox="0 0 8 8"><script/></svg>`))+`"}`))
	record("text that no error may contain", themeCall("PUT", "live", `{"logo":"`+base64.StdEncoding.EncodeToString([]byte(`<svg viewBox="0 0 8 8"><expired_at/></svg>`))+`"}`))
	record("an unknown field", themeCall("PUT", "live", `{"css":"body{}"}`))
	record("reset", themeCall("DELETE", "live", ""))
	record("after the reset", themeCall("GET", "read", ""))
	golden(t, "themes.json", "["+strings.Join(answers, ",")+"]")
}

// The answer for an invoice names the theme of the invoice's merchant, with any key.
func TestInvoice_names_the_theme_of_its_merchant(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	f.useStorage()
	id := f.create(t, "all", `{"amount":56.50,"fiat_currency":"EUR"}`)
	themeHash := func() string {
		response := f.send(message{method: "GET", target: "/api/v2/invoices/" + id, key: "page", signRequest: true})
		if response.StatusCode != http.StatusOK {
			t.Fatalf("status %d, want 200: %s", response.StatusCode, read(t, response))
		}
		return response.Header.Get(api.HeaderTheme)
	}
	if got := themeHash(); got != "" {
		t.Errorf("theme of a merchant without one = %q, want empty", got)
	}
	set := f.readTheme(t, themeCall("PUT", "live", `{"accent":"#2b3fd6"}`))
	if got := themeHash(); got != set.Hash || got == "" {
		t.Errorf("theme = %q, want %q", got, set.Hash)
	}
	if l := f.readLink(t, linkQuery("all")); l.Theme != set.Hash {
		t.Errorf("theme of a link = %q, want %q", l.Theme, set.Hash)
	}
	if got := f.readTheme(t, themeCall("GET", "other", "")); got.Hash != "" {
		t.Errorf("theme of another merchant = %+v, want none", got)
	}
}

// A theme that another process sets takes effect within two seconds.
func TestTheme_of_another_process_takes_effect_within_seconds(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	s := f.useStorage()
	if got := f.readTheme(t, themeCall("GET", "read", "")); got.Hash != "" {
		t.Fatalf("theme before the change = %+v, want none", got)
	}
	if _, err := merchant.NewThemes(s, f.now).Set(t.Context(), "shop", red, nil); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	if got := f.readTheme(t, themeCall("GET", "read", "")); got.Accent != red.Accent {
		t.Errorf("theme after a second = %+v", got)
	}
}

// A logo that the API returned can be set again without a change.
func TestSetTheme_keeps_a_logo_that_it_returned(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	picture := image.NewNRGBA(image.Rect(0, 0, 256, 256))
	for i := range picture.Pix {
		picture.Pix[i] = uint8(i*i*31) | 3
	}
	picture.Set(0, 0, color.Black)
	var logo bytes.Buffer
	if err := png.Encode(&logo, picture.SubImage(image.Rect(0, 0, 90, 90))); err != nil {
		t.Fatal(err)
	}
	first := f.readTheme(t, themeCall("PUT", "live", `{"logo":"`+base64.StdEncoding.EncodeToString(logo.Bytes())+`"}`))
	if first.Logo == "" || first.Logo == base64.StdEncoding.EncodeToString(logo.Bytes()) {
		t.Fatalf("the logo is not encoded again: %d characters", len(first.Logo))
	}
	second := f.readTheme(t, themeCall("PUT", "live", `{"logo":"`+first.Logo+`"}`))
	if second.Hash != first.Hash {
		t.Errorf("hash after setting the returned logo = %s, want %s", second.Hash, first.Hash)
	}
	if removed := f.readTheme(t, themeCall("PUT", "live", `{}`)); removed.Logo != "" || removed.Hash != "" {
		t.Errorf("theme without a logo = %+v, want none", removed)
	}
}

// The demo has only test keys.
func TestSetTheme_accepts_a_test_key_without_live_wallets(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	f.merchants.wallets = nil
	if got := f.readTheme(t, themeCall("PUT", "admin", `{"name":"Nord"}`)); got.Name != "Nord" {
		t.Errorf("got %+v", got)
	}
}

// The same signed request cannot change the theme twice.
func TestSetTheme_uses_up_its_nonce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	m := themeCall("PUT", "live", `{"name":"Nord"}`)
	m.nonce = strings.Repeat("n", 20)
	f.readTheme(t, m)
	if response := f.send(m); response.Header.Get(api.HeaderErrorCode) != "bad_nonce_header" {
		t.Errorf("second call: answer %d %s", response.StatusCode, read(t, response))
	}
}
