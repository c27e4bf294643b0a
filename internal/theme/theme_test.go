package theme_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/theme"
)

func TestNormalize_writes_each_value_in_one_form(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		give, want theme.Theme
	}{
		{"nothing", theme.Theme{}, theme.Theme{}},
		{"a short colour", theme.Theme{Accent: "#0AF"}, theme.Theme{Accent: "#00aaff"}},
		{"a mail address", theme.Theme{Support: "help@shop.example"}, theme.Theme{Support: "mailto:help@shop.example"}},
		{"a mail address as a link", theme.Theme{Support: "mailto:help@shop.example"}, theme.Theme{Support: "mailto:help@shop.example"}},
		{"a page for questions", theme.Theme{Support: "https://shop.example/help?x=1"}, theme.Theme{Support: "https://shop.example/help?x=1"}},
		{"spaces around", theme.Theme{Name: " Atelier Nord ", Line: "\tPrints "}, theme.Theme{Name: "Atelier Nord", Line: "Prints"}},
		{"the longest line", theme.Theme{Line: strings.Repeat("ä", 140)}, theme.Theme{Line: strings.Repeat("ä", 140)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := theme.Normalize(tt.give)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			second, err := theme.Normalize(got)
			if err != nil || cmp.Diff(got, second) != "" {
				t.Errorf("Normalize of the result = %+v, %v, want it unchanged", second, err)
			}
		})
	}
}

func TestNormalize_names_the_invalid_field(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		give theme.Theme
		want string
	}{
		{theme.Theme{Name: strings.Repeat("x", 65)}, "name must have at most 64 characters"},
		{theme.Theme{Name: "a\nb"}, "name must be one line"},
		{theme.Theme{Name: "Nord\u202e05.65"}, "name must not have characters that change the direction"},
		{theme.Theme{Name: "a\xff"}, "name must be UTF-8"},
		{theme.Theme{Line: strings.Repeat("ä", 141)}, "line must have at most 140 characters"},
		{theme.Theme{Line: "a\u2028b"}, "line must be one line"},
		{theme.Theme{Accent: "red"}, "accent must be a colour such as #2b3fd6"},
		{theme.Theme{Accent: "#12345"}, "accent must be a colour"},
		{theme.Theme{Accent: "#fff;}body{display:none"}, "accent must be a colour"},
		{theme.Theme{Support: "javascript:alert(1)"}, "support must be a mail address"},
		{theme.Theme{Support: "http://shop.example"}, "support must be a mail address"},
		{theme.Theme{Support: "mailto:a@b.example?bcc=c@d.example"}, "support must be a mail address"},
		{theme.Theme{Support: "Anna <a@b.example>"}, "support must be a mail address"},
		{theme.Theme{Support: "a@b.example,c@d.example"}, "support must be a mail address"},
		{theme.Theme{Terms: "//shop.example"}, "terms must be an absolute https address"},
		{theme.Theme{Terms: `https:\\shop.example`}, "terms must be an absolute https address"},
		{theme.Theme{Terms: "https://user@shop.example/"}, "terms must be an absolute https address"},
		{theme.Theme{Terms: "data:text/html,x"}, "terms must be an absolute https address"},
		{theme.Theme{Terms: "https://shop.example/a b"}, "terms must be an absolute https address"},
	} {
		_, err := theme.Normalize(tt.give)
		field, ok := errors.AsType[*theme.FieldError](err)
		if !ok || !strings.HasPrefix(err.Error(), tt.want) || !strings.HasPrefix(tt.want, field.Field+" ") {
			t.Errorf("%+v: %v, want %q", tt.give, err, tt.want)
		}
	}
}

func TestHash_differs_between_themes(t *testing.T) {
	t.Parallel()
	if got := (theme.Theme{}).Hash(); got != "" {
		t.Errorf("the zero Theme has the hash %q, want none", got)
	}
	seen := map[string]theme.Theme{}
	for _, given := range []theme.Theme{
		{Name: "a"}, {Accent: "#aaaaaa"}, {Line: "a"}, {Support: "mailto:a@b.example"}, {Terms: "https://a.example"}, {Stay: true},
		{Logo: theme.Logo{Type: theme.TypePNG, Body: []byte{1}}}, {Logo: theme.Logo{Type: theme.TypePNG, Body: []byte{2}}},
		{Name: "a", Line: "b"}, {Name: "ab"},
	} {
		hash := given.Hash()
		if len(hash) != 24 || hash != given.Hash() {
			t.Errorf("%+v has the hash %q", given, hash)
		}
		if other, isUsed := seen[hash]; isUsed {
			t.Errorf("%+v and %+v have the same hash", given, other)
		}
		seen[hash] = given
	}
}

func TestNormalize_keeps_international_domain_names_in_Punycode(t *testing.T) {
	t.Parallel()
	got, err := theme.Normalize(theme.Theme{Support: "https://bücher.example/hilfe", Terms: "https://bücher.example/agb"})
	if err != nil || got.Support != "https://xn--bcher-kva.example/hilfe" || got.Terms != "https://xn--bcher-kva.example/agb" {
		t.Errorf("got %+v, %v", got, err)
	}
}
