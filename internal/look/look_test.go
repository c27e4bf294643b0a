package look_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/look"
)

func TestTidy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		give, want look.Look
	}{
		{"nothing", look.Look{}, look.Look{}},
		{"a short colour", look.Look{Accent: "#0AF"}, look.Look{Accent: "#00aaff"}},
		{"a mail address", look.Look{Support: "help@shop.example"}, look.Look{Support: "mailto:help@shop.example"}},
		{"a mail address as a link", look.Look{Support: "mailto:help@shop.example"}, look.Look{Support: "mailto:help@shop.example"}},
		{"a page for questions", look.Look{Support: "https://shop.example/help?x=1"}, look.Look{Support: "https://shop.example/help?x=1"}},
		{"spaces around", look.Look{Name: " Atelier Nord ", Line: "\tPrints "}, look.Look{Name: "Atelier Nord", Line: "Prints"}},
		{"the longest line", look.Look{Line: strings.Repeat("ä", 140)}, look.Look{Line: strings.Repeat("ä", 140)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := look.Tidy(tt.give)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			again, err := look.Tidy(got)
			if err != nil || cmp.Diff(got, again) != "" {
				t.Errorf("Tidy of the result = %+v, %v, want it unchanged", again, err)
			}
		})
	}
}

func TestTidy_names_the_invalid_field(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		give look.Look
		want string
	}{
		{look.Look{Name: strings.Repeat("x", 65)}, "name must have at most 64 characters"},
		{look.Look{Name: "a\nb"}, "name must be one line"},
		{look.Look{Name: "Nord\u202e05.65"}, "name must not have characters that change the direction"},
		{look.Look{Name: "a\xff"}, "name must be UTF-8"},
		{look.Look{Line: strings.Repeat("ä", 141)}, "line must have at most 140 characters"},
		{look.Look{Line: "a\u2028b"}, "line must be one line"},
		{look.Look{Accent: "red"}, "accent must be a colour such as #2b3fd6"},
		{look.Look{Accent: "#12345"}, "accent must be a colour"},
		{look.Look{Accent: "#fff;}body{display:none"}, "accent must be a colour"},
		{look.Look{Support: "javascript:alert(1)"}, "support must be a mail address"},
		{look.Look{Support: "http://shop.example"}, "support must be a mail address"},
		{look.Look{Support: "mailto:a@b.example?bcc=c@d.example"}, "support must be a mail address"},
		{look.Look{Support: "Anna <a@b.example>"}, "support must be a mail address"},
		{look.Look{Support: "a@b.example,c@d.example"}, "support must be a mail address"},
		{look.Look{Terms: "//shop.example"}, "terms must be an absolute https address"},
		{look.Look{Terms: `https:\\shop.example`}, "terms must be an absolute https address"},
		{look.Look{Terms: "https://user@shop.example/"}, "terms must be an absolute https address"},
		{look.Look{Terms: "data:text/html,x"}, "terms must be an absolute https address"},
		{look.Look{Terms: "https://shop.example/a b"}, "terms must be an absolute https address"},
	} {
		_, err := look.Tidy(tt.give)
		field, ok := errors.AsType[*look.FieldError](err)
		if !ok || !strings.HasPrefix(err.Error(), tt.want) || !strings.HasPrefix(tt.want, field.Field+" ") {
			t.Errorf("%+v: %v, want %q", tt.give, err, tt.want)
		}
	}
}

func TestHash_differs_between_looks(t *testing.T) {
	t.Parallel()
	if got := (look.Look{}).Hash(); got != "" {
		t.Errorf("the zero Look has the hash %q, want none", got)
	}
	seen := map[string]look.Look{}
	for _, l := range []look.Look{
		{Name: "a"}, {Accent: "#aaaaaa"}, {Line: "a"}, {Support: "mailto:a@b.example"}, {Terms: "https://a.example"}, {Stay: true},
		{Logo: look.Logo{Type: look.TypePNG, Body: []byte{1}}}, {Logo: look.Logo{Type: look.TypePNG, Body: []byte{2}}},
		{Name: "a", Line: "b"}, {Name: "ab"},
	} {
		hash := l.Hash()
		if len(hash) != 24 || hash != l.Hash() {
			t.Errorf("%+v has the hash %q", l, hash)
		}
		if other, twice := seen[hash]; twice {
			t.Errorf("%+v and %+v have the same hash", l, other)
		}
		seen[hash] = l
	}
}

func TestTidy_keeps_international_domain_names_in_Punycode(t *testing.T) {
	t.Parallel()
	got, err := look.Tidy(look.Look{Support: "https://bücher.example/hilfe", Terms: "https://bücher.example/agb"})
	if err != nil || got.Support != "https://xn--bcher-kva.example/hilfe" || got.Terms != "https://xn--bcher-kva.example/agb" {
		t.Errorf("got %+v, %v", got, err)
	}
}
