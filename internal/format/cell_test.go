package format_test

import (
	"testing"

	"chequer/internal/format"
)

func TestInertCell_quotes_cells_that_begin_a_formula(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"":                   "",
		"1042":               "1042",
		"a=1":                "a=1",
		"chair - oak":        "chair - oak",
		"=1+1":               "'=1+1",
		"+1":                 "'+1",
		"-1":                 "'-1",
		"@SUM(1)":            "'@SUM(1)",
		"＝1+1":               "'＝1+1",
		"＋1":                 "'＋1",
		"－1":                 "'－1",
		"＠SUM(1)":            "'＠SUM(1)",
		"﹦1":                 "'﹦1",
		"\u22121":            "'\u22121",
		" =1":                "' =1",
		"\u00a0=1+1":         "'\u00a0=1+1",
		"\u200b=1+1":         "'\u200b=1+1",
		"\u200b\u00a0 ＝1":    "'\u200b\u00a0 ＝1",
		"\ufeff=1":           "'\ufeff=1",
		"\u2060=1":           "'\u2060=1",
		"\u3000=1":           "'\u3000=1",
		"\u3164=1":           "'\u3164=1",
		"\ufe0f=1":           "'\ufe0f=1",
		"\x01=1":             "'\x01=1",
		"\ttext":             "'\ttext",
		"a;=1":               "a;'=1",
		"a;\u00a0＝1":         "a;\u00a0'＝1",
		"a,\"\u200b=1":       "a,\"\u200b'=1",
		"a\n＠SUM(1);－1":      "a\n'＠SUM(1);'－1",
		"a\u00a0=1":          "a\u00a0=1",
		"Zürich; 2 – 3 Tage": "Zürich; 2 – 3 Tage",
	} {
		if got := format.InertCell(cell); got != want {
			t.Errorf("InertCell(%q) = %q, want %q", cell, got, want)
		}
	}
}
