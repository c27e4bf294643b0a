package locale_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"chequer/internal/locale"
)

func english(t *testing.T) *locale.Language { return find(t, "en") }
func german(t *testing.T) *locale.Language  { return find(t, "de") }

func find(t *testing.T, code string) *locale.Language {
	t.Helper()
	l, ok := locale.All().Find(code)
	if !ok {
		t.Fatalf("there is no %s", code)
	}
	return l
}

func TestFiat_formats_money_in_English(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ amount, code, want string }{
		{"56.5", "EUR", "€56.50"},
		{"86420", "EUR", "€86,420.00"},
		{"86420.123", "EUR", "€86,420.123"},
		{"0.8629", "EUR", "€0.8629"},
		{"1.0000001", "USD", "$1.0000001"},
		{"1234567.89", "USD", "$1,234,567.89"},
		{"0", "EUR", "€0.00"},
		{"56.5", "CHF", "CHF\u00a056.50"},
		{"1234.5", "GBP", "£1,234.50"},
		{"5000", "JPY", "¥5,000"},
		{"14090781.5", "JPY", "¥14,090,781.5"},
		{"19990", "HUF", "HUF\u00a019,990.00"},
		{"", "EUR", "EUR"},
		{"12", "NOTHING", "12 NOTHING"},
		{"<b>", "EUR", "<b> EUR"},
	} {
		if got := english(t).Fiat(tt.amount, tt.code); got != tt.want {
			t.Errorf("Fiat(%q, %q) = %q, want %q", tt.amount, tt.code, got, tt.want)
		}
	}
}

func TestMoment_and_TimeOfDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 14, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ name, got, want string }{
		{"today", english(t).TimeOfDay("2026-11-27T15:42:07.000Z", now), "15:42 UTC"},
		{"another day", english(t).TimeOfDay("2026-11-28T00:05:00.000Z", now), "28 Nov, 00:05 UTC"},
		{"no time", english(t).TimeOfDay("soon", now), ""},
		{"moment", english(t).Moment("2026-11-27T15:42:07.000Z"), "27 Nov 2026, 15:42 UTC"},
		{"a moment in German", german(t).Moment("2026-03-07T15:42:07.000Z"), "7. März 2026, 15:42 UTC"},
		{"no moment", english(t).Moment(""), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestRoundFiat_omits_trailing_zeros(t *testing.T) {
	t.Parallel()
	english := locale.All().Default()
	for amount, want := range map[string]string{"250": "€250", "1250000.00": "€1,250,000", "2.5": "€2.5", "0": "€0"} {
		if got := english.RoundFiat(amount, "EUR"); got != want {
			t.Errorf("%s: got %q, want %q", amount, got, want)
		}
	}
	if got, want := english.RoundFiat("5", "KWD"), "KWD\u00a05"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Money is written as CLDR specifies for each language, including languages without a catalogue.
func TestFiat_in_every_language(t *testing.T) {
	t.Parallel()
	wants := map[string]string{
		"en": "€12,345.60", "ga": "€12,345.60", "mt": "€12,345.60", "nl": "€\u00a012.345,60",
		"de": "12.345,60\u00a0€", "es": "12.345,60\u00a0€", "it": "12.345,60\u00a0€", "da": "12.345,60\u00a0€", "el": "12.345,60\u00a0€",
		"ro": "12.345,60\u00a0€", "hr": "12.345,60\u00a0€", "sl": "12.345,60\u00a0€", "fr": "12\u202f345,60\u00a0€",
		"pl": "12\u00a0345,60\u00a0€", "pt": "12\u00a0345,60\u00a0€", "cs": "12\u00a0345,60\u00a0€", "sv": "12\u00a0345,60\u00a0€", "fi": "12\u00a0345,60\u00a0€",
		"hu": "12\u00a0345,60\u00a0€", "bg": "12\u00a0345,60\u00a0€", "sk": "12\u00a0345,60\u00a0€", "et": "12\u00a0345,60\u00a0€",
		"lv": "12\u00a0345,60\u00a0€", "lt": "12\u00a0345,60\u00a0€", "ar": "12,345.60\u00a0€",
	}
	files := fstest.MapFS{}
	for code := range forms {
		files[code+".json"] = &fstest.MapFile{Data: []byte(`{"language.name":"` + code + `"}`)}
	}
	languages, err := locale.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range languages.List() {
		if got := l.Fiat("12345.6", "EUR"); got != wants[l.Code] {
			t.Errorf("%s: %q, want %q", l.Code, got, wants[l.Code])
		}
		mark := "0.5"
		if strings.Contains(wants[l.Code], ",60") {
			mark = "0,5"
		}
		if got := l.Decimal("0.5"); got != mark {
			t.Errorf("%s: %q, want %q", l.Code, got, mark)
		}
	}
	if len(wants) != len(languages.List()) {
		t.Errorf("%d languages, want %d", len(languages.List()), len(wants))
	}
}

// A coin's amount has the decimal mark of the language, and no thousands separator.
func TestDecimal_has_the_decimal_mark_of_the_language(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, digits, want string }{
		{"en", "0.00065379", "0.00065379"}, {"de", "0.00065379", "0,00065379"}, {"de", "1234567.5", "1234567,5"}, {"de", "12", "12"},
	} {
		if got := find(t, tt.code).Decimal(tt.digits); got != tt.want {
			t.Errorf("%s: %s = %q, want %q", tt.code, tt.digits, got, tt.want)
		}
	}
}

func TestFind_ignores_regions_and_case(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"de": "de", "DE": "de", "de-CH": "de", "de-Latn-AT": "de", "en-US": "en"} {
		if got, ok := locale.All().Find(tag); !ok || got.Code != want {
			t.Errorf("Find(%q) = %v, want %s", tag, got, want)
		}
	}
	for _, tag := range []string{"", "x", "tlh", "zz", "deutsch!", "*", "und", "../de"} {
		if got, ok := locale.All().Find(tag); ok {
			t.Errorf("Find(%q) = %s, want none", tag, got.Code)
		}
	}
}

func TestChoose_follows_the_preferences(t *testing.T) {
	t.Parallel()
	for accepted, want := range map[string]string{
		"":                        "en",
		"de":                      "de",
		"de-AT,de;q=0.9,en;q=0.8": "de",
		"en;q=0.5, de;q=0.7":      "de",
		"tlh, de;q=0.2":           "de",
		"tlh":                     "en",
		"*":                       "en",
		"en-GB,en;q=0.9,de;q=0.8": "en",
		"de;q=0, en":              "en",
		"\x00":                    "en",
	} {
		if got := locale.All().Choose(accepted); got.Code != want {
			t.Errorf("Choose(%q) = %s, want %s", accepted, got.Code, want)
		}
	}
}

func TestSubset_limits_the_languages(t *testing.T) {
	t.Parallel()
	only, err := locale.All().Subset("de", "de")
	if err != nil {
		t.Fatal(err)
	}
	if got := only.Choose("en"); got.Code != "de" {
		t.Errorf("a shop that offers German only chooses %s", got.Code)
	}
	if _, ok := only.Find("en"); ok {
		t.Error("Find finds a language that is not offered")
	}
	for _, tt := range []struct {
		standard string
		codes    []string
		want     string
	}{
		{"en", []string{"de"}, `"en" is not one of the offered languages; available: de`},
		{"tlh", nil, `"tlh" is not one of the offered languages; available: `},
		{"de", []string{"de", "tlh"}, `"tlh" is not a language of the pages; available: `},
	} {
		if _, err := locale.All().Subset(tt.standard, tt.codes...); err == nil || len(err.Error()) < len(tt.want) || err.Error()[:len(tt.want)] != tt.want {
			t.Errorf("Subset(%q, %q): %v, want %s", tt.standard, tt.codes, err, tt.want)
		}
	}
}

func TestLoad_refuses_incomplete_catalogues(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fstest.MapFS{
		"nothing":    {},
		"no English": {"de.json": {Data: []byte(`{"language.name":"Deutsch"}`)}},
		"no name":    {"en.json": {Data: []byte(`{"copy":"Copy"}`)}},
		"no JSON":    {"en.json": {Data: []byte(`{`)}},
	} {
		if _, err := locale.Load(files); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// In a language written from right to left a filled-in value keeps its own direction.
func TestText_isolates_values_in_languages_from_right_to_left(t *testing.T) {
	t.Parallel()
	languages, err := locale.Load(fstest.MapFS{
		"en.json": {Data: []byte(`{"language.name":"English","due":"{{.Amount}} due"}`)},
		"he.json": {Data: []byte(`{"language.name":"עברית","due":"נותרו {{.Amount}} לתשלום"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string][2]string{"en": {"ltr", "0.5 BTC due"}, "he": {"rtl", "נותרו \u20680.5 BTC\u2069 לתשלום"}} {
		l, _ := languages.Find(code)
		if got := [2]string{l.Direction(), l.Text("due", "Amount", "0.5 BTC")}; got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}
