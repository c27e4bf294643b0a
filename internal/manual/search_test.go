package manual_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/manual"
)

func index() *manual.Index {
	return manual.NewIndex([]manual.Entry{
		{Page: "Webhooks", Title: "Delivery", URL: "/docs/webhooks#delivery", Text: "A retry follows after every other answer."},
		{Page: "Webhooks", Title: "Retries", URL: "/docs/webhooks#retries", Text: "Ünique words"},
		{Page: "Configuration", Title: "All settings", URL: "/docs/configuration", Text: "Set CHEQUER_MAX_UNPAID to a number, " + strings.Repeat("and so on ", 40) + "without a retry."},
	})
}

func TestFind_matches_the_beginnings_of_words(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]string{
		"retr":                      {"Retries", "Delivery", "All settings"},
		"RETRY answer":              {"Delivery"},
		"webhooks":                  {"Delivery", "Retries"},
		"chequer_max_unpaid":        {"All settings"},
		"max_unpaid":                {"All settings"},
		"etry":                      nil, // within a word
		"retry nonsense":            nil,
		"":                          nil,
		" -- ":                      nil,
		"\xff\x00":                  nil,
		"Ünique":                    {"Retries"},
		strings.Repeat("retr ", 99): {"Retries", "Delivery", "All settings"},
	} {
		var got []string
		for _, hit := range index().Find(query, 10) {
			got = append(got, hit.Title)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.40q (-want +got):\n%s", query, diff)
		}
	}
	if got := len(index().Find("retr", 2)); got != 2 {
		t.Errorf("%d hits, want the limit of 2", got)
	}
}

func TestFind_excerpt_is_short_and_marks_the_words(t *testing.T) {
	t.Parallel()
	hits := index().Find("retry without", 1)
	if len(hits) != 1 {
		t.Fatalf("%d hits", len(hits))
	}
	var text string
	var matched []string
	for _, span := range hits[0].Excerpt {
		text += span.Text
		if span.IsMatch {
			matched = append(matched, span.Text)
		}
	}
	if diff := cmp.Diff([]string{"without", "retry"}, matched); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(text, "… ") || !strings.HasSuffix(text, "without a retry.") || len(text) > 250 {
		t.Errorf("the excerpt is %q, want at most 250 bytes, from … to the end of the sentence", text)
	}
}

// The excerpt for any query is a part of the text.
func FuzzFind(f *testing.F) {
	f.Add("retry", "a retry, a Retry-after and a rétry")
	f.Add("é", "é éé e")
	f.Fuzz(func(t *testing.T, query, text string) {
		text = strings.ToValidUTF8(text, "")
		for _, hit := range manual.NewIndex([]manual.Entry{{Text: text}}).Find(query, 1) {
			var excerpt string
			for _, span := range hit.Excerpt {
				excerpt += span.Text
			}
			excerpt = strings.TrimSuffix(strings.TrimPrefix(excerpt, "… "), "…")
			if !strings.Contains(text, excerpt) {
				t.Errorf("%q finds %q in %q", query, excerpt, text)
			}
		}
	})
}
