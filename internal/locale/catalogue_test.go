package locale_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/locale"
)

// forms are the plural forms of each language in CLDR. A plural message of a catalogue has exactly
// these. See README.md beside the catalogues.
var forms = map[string]string{
	"en": "one other", "de": "one other", "et": "one other", "fi": "one other", "nl": "one other", "sv": "one other",
	"bg": "one other", "el": "one other", "hu": "one other", "da": "one other",
	"es": "many one other", "fr": "many one other", "it": "many one other", "pt": "many one other",
	"lv": "one other zero", "ro": "few one other", "hr": "few one other", "sl": "few one other two",
	"cs": "few many one other", "sk": "few many one other", "pl": "few many one other", "lt": "few many one other",
	"mt": "few many one other two", "ga": "few many one other two",
	"ar": "few many one other two zero",
}

// catalogue is a parsed catalogue: each value is a text, or a map from plural form to text.
type catalogue map[string]any

func catalogues(t *testing.T) map[string]catalogue {
	t.Helper()
	folder := os.DirFS("catalogue")
	paths, err := fs.Glob(folder, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]catalogue{}
	for _, path := range paths {
		body, err := fs.ReadFile(folder, path)
		if err != nil {
			t.Fatal(err)
		}
		var c catalogue
		if err := json.Unmarshal(body, &c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if lines := regexp.MustCompile(`(?m)^  "`).FindAllString(string(body), -1); len(lines) != len(c) {
			t.Errorf("%s: %d keys on %d lines: a key occurs twice, or is not on a line of its own", path, len(c), len(lines))
		}
		all[strings.TrimSuffix(path, ".json")] = c
	}
	return all
}

// texts returns the texts of a message by plural form. A message without plural forms has "other"
// only.
func texts(message any) map[string]string {
	if text, ok := message.(string); ok {
		return map[string]string{"other": text}
	}
	list := map[string]string{}
	for form, text := range message.(map[string]any) {
		list[form], _ = text.(string)
	}
	return list
}

var placeholder = regexp.MustCompile(`\{\{\.([A-Za-z]+)\}\}`)

// placeholders returns the names of the placeholders in a text, each once.
func placeholders(text string) []string {
	found := map[string]bool{}
	for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// isDeskMessage reports whether a message is one of the merchant's desk, which is in English only.
func isDeskMessage(key string) bool { return strings.HasPrefix(key, "desk.") }

// Every language has exactly the messages of English, with the same placeholders and with all plural
// forms of the language. The desk's messages are in English only.
func TestCatalogues_have_the_same_messages(t *testing.T) {
	t.Parallel()
	all := catalogues(t)
	english := all["en"]
	for code, c := range all {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			if forms[code] == "" {
				t.Fatalf("the plural forms of %s are unknown: add them here and to the README", code)
			}
			want := slices.Sorted(maps.Keys(english))
			if code != "en" {
				want = slices.DeleteFunc(want, isDeskMessage)
			}
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(c))); diff != "" {
				t.Fatalf("keys (-en +%s):\n%s", code, diff)
			}
			for key, message := range c {
				checkMessage(t, code, key, english[key], message)
			}
		})
	}
}

func checkMessage(t *testing.T, code, key string, english, message any) {
	t.Helper()
	_, isSingle := message.(string)
	if _, want := english.(string); isSingle != want {
		t.Errorf("%s: plural forms: %t, in English %t", key, !isSingle, !want)
		return
	}
	said := texts(message)
	if got := strings.Join(slices.Sorted(maps.Keys(said)), " "); !isSingle && got != forms[code] {
		t.Errorf("%s: forms %q, want %q", key, got, forms[code])
	}
	want := placeholders(texts(english)["other"])
	for form, text := range said {
		got := placeholders(text)
		// "One day" and "two days" may have the number in words.
		if exact := form == "zero" || form == "one" || form == "two"; exact && slices.Contains(want, "Count") && !slices.Contains(got, "Count") {
			got = slices.Sorted(slices.Values(append(got, "Count")))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, %s: placeholders (-want +got):\n%s", key, form, diff)
		}
		if strings.Count(text, "{") != 2*len(placeholder.FindAllString(text, -1)) || strings.Count(text, "}") != strings.Count(text, "{") {
			t.Errorf("%s, %s: unbalanced or single braces in %q", key, form, text)
		}
		if strings.TrimSpace(text) != text || text == "" {
			t.Errorf("%s, %s: %q begins or ends with space, or is empty", key, form, text)
		}
		for _, r := range text {
			if unicode.IsControl(r) || r == '\u061c' || r >= '\u200e' && r <= '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
				t.Errorf("%s, %s: %U in %q", key, form, r, text)
			}
		}
	}
}

// Every message can be rendered for every number, and contains the number.
func TestEvery_message_is_rendered(t *testing.T) {
	t.Parallel()
	for code, c := range catalogues(t) {
		l, ok := locale.All().Find(code)
		if !ok || l.Code != code {
			t.Fatalf("there is no %s", code)
		}
		for key, message := range c {
			said := texts(message)
			var pairs []string
			for _, name := range placeholders(said["other"]) {
				if name != "Count" {
					pairs = append(pairs, name, "<"+name+">")
				}
			}
			if _, isSingle := message.(string); isSingle {
				checkRendered(t, code, key, l.Text(key, pairs...), pairs)
				continue
			}
			for _, n := range []int{0, 1, 2, 3, 5, 11, 21, 100, 1_000_000} {
				got := l.Count(key, n, pairs...)
				checkRendered(t, code, key, got, pairs)
				if n > 2 && !strings.Contains(got, strconv.Itoa(n)) {
					t.Errorf("%s: %s for %d lacks the number: %q", code, key, n, got)
				}
			}
		}
	}
}

func checkRendered(t *testing.T, code, key, got string, pairs []string) {
	t.Helper()
	if got == "" || strings.Contains(got, "{{") || strings.Contains(got, "<no value>") {
		t.Errorf("%s: %s renders as %q", code, key, got)
	}
	for i := 1; i < len(pairs); i += 2 {
		if !strings.Contains(got, pairs[i]) {
			t.Errorf("%s: %s lacks %s: %q", code, key, pairs[i], got)
		}
	}
}
