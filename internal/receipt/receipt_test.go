package receipt_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"chequer/internal/programtest"
	"chequer/internal/receipt"
)

var update = flag.Bool("update", false, "rewrite the golden documents")

func paid() receipt.Receipt {
	return receipt.Receipt{
		Title: "Paid – Atelier Nord", Lang: "en-IE", Shop: "Atelier Nord", Label: "Order 1042 · Ref. aK3x-9QfW",
		Due:     receipt.Due{Label: "Paid", Amount: "€56.50", Line: "0.00065379 BTC"},
		Heading: "Paid. Thank you.",
		Facts: []receipt.Fact{
			{Label: "Reference", Value: "aK3x-9QfW"}, {Label: "Received", Value: "0.00065379 BTC"},
			{Label: "Confirmed", Value: "27 Nov 2026, 12:52 UTC"}, {Label: "Rate", Value: "1 BTC = €86,420.00"},
			{Label: "Transaction", Value: "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"},
		},
		Summary: receipt.Summary{Heading: "Your order", Text: "Two prints (A4) & a frame", Rows: []receipt.Fact{
			{Label: "Total", Value: "€56.50"}, {Label: "In words", Value: "fifty-six euros and fifty cents"},
		}},
		Footing:  "This is the receipt of a payment, not a VAT invoice.",
		Replaced: "Letters that this document cannot show stand as \ufffd in it.",
		At:       time.Date(2026, 11, 27, 12, 52, 0, 0, time.UTC),
	}
}

func write(t *testing.T, r receipt.Receipt) []byte {
	t.Helper()
	document, err := receipt.Write(r)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// text returns the text of a document as pdftotext extracts it. Without pdftotext the test is
// skipped, but fails in CI.
func text(t *testing.T, document []byte) string {
	t.Helper()
	programtest.RequireProgram(t, "pdftotext")
	c := exec.CommandContext(t.Context(), "pdftotext", "-layout", "-", "-")
	c.Stdin = bytes.NewReader(document)
	var faults strings.Builder
	c.Stderr = &faults
	output, err := c.Output()
	if err != nil || faults.Len() > 0 {
		t.Fatalf("pdftotext: %v\n%s", err, faults.String())
	}
	return string(output)
}

// flat returns a text without line breaks and repeated spaces.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestWrite_is_deterministic(t *testing.T) {
	t.Parallel()
	got := write(t, paid())
	for range 5 {
		if !bytes.Equal(write(t, paid()), got) {
			t.Fatal("the same receipt gave different bytes")
		}
	}
	golden := filepath.Join("testdata", "paid.pdf")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s (%d bytes) differs from the document written (%d bytes): compare them, then run with -update", golden, len(want), len(got))
	}
	if len(got) > 30_000 {
		t.Errorf("document has %d bytes, want at most 30000", len(got))
	}
}

func TestWrite_contains_every_text(t *testing.T) {
	t.Parallel()
	r := paid()
	r.Banner, r.Notes = "Test – no real money.", []receipt.Note{{Strong: "Another payment was late.", Text: "The shop decides what happens with it."}}
	got := flat(text(t, write(t, r)))
	for _, want := range []string{
		"Test – no real money.", "Atelier Nord", "Order 1042 · Ref. aK3x-9QfW", "€56.50", "0.00065379 BTC", "Paid. Thank you.",
		"Reference aK3x-9QfW", "Confirmed 27 Nov 2026, 12:52 UTC", "Rate 1 BTC = €86,420.00", "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b",
		"Another payment was late.", "The shop decides", "Two prints (A4) & a frame", "Total €56.50", "In words fifty-six euros and fifty cents", "not a VAT invoice",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "cannot show") {
		t.Errorf("the document mentions missing characters:\n%s", got)
	}
}

// A document is written for any text of a shop or a shopper, with all characters that can be shown.
func TestWrite_replaces_characters_that_the_fonts_lack(t *testing.T) {
	t.Parallel()
	const missing = "cannot show"
	tests := map[string]struct {
		typed  string
		want   string
		absent string
	}{
		"languages":              {"Ġgantija żebbuġ — Łódź ještěrka őrült ș ț ģ ķ ų Ṁaiġin", "Ġgantija żebbuġ — Łódź ještěrka őrült ș ț ģ ķ ų Ṁaiġin", missing},
		"Greek":                  {"Πληρωμή ΐ ΰ Άλφα", "Πληρωμή ΐ ΰ Άλφα", missing},
		"Cyrillic":               {"Плащане ѝ щъркел Ґ ѓ", "Плащане ѝ щъркел Ґ ѓ", missing},
		"marks_apart":            {"Cafe\u0301 u\u0308ber", "Café über", missing},
		"lines_and_tabs":         {"one\r\ntwo\n\n\n\tthree\u2028four", "one two three four", missing},
		"control_characters":     {"a\x00b\x1b[31mc\u200bd\ufeffe", "ab[31mcde", missing},
		"directional_characters": {"pay \u202e00.65€\u202c \u2066now\u2069", "pay 00.65€ now", missing},
		"emoji":                  {"Thanks 🎉 👩‍👩‍👧 ok", "Thanks \ufffd \ufffd\ufffd\ufffd ok", "🎉"},
		"Arabic":                 {"متجر ok", "\ufffd\ufffd\ufffd\ufffd ok", "م"},
		"Chinese":                {"ok 商店", "ok \ufffd\ufffd", "商"},
		"many_combining_marks":   {"z" + strings.Repeat("\u0335\u0327", 500) + " ok", "ok", "\u0335"},
		"invalid_UTF-8":          {"a\xff\xfeb", "a\ufffd\ufffdb", "\xff"},
		"PDF_itself":             {"(a) Tj ET endstream endobj \\ ) %PDF", "(a) Tj ET endstream endobj \\ ) %PDF", missing},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := paid()
			r.Summary.Text, r.Shop = test.typed, test.typed
			got := flat(text(t, write(t, r)))
			if strings.Count(got, test.want) < 2 || strings.Contains(got, test.absent) {
				t.Errorf("want %q twice and no %q in:\n%s", test.want, test.absent, got)
			}
			if (test.absent == missing) == strings.Contains(got, missing) {
				t.Errorf("wrong note about missing characters:\n%s", got)
			}
		})
	}
}

// Long texts wrap and continue on the next page without loss.
func TestWrite_wraps_long_texts(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("Donaudampfschifffahrt", 25)
	r := paid()
	r.Shop, r.Label, r.Due.Amount = word, word, "€"+strings.Repeat("9", 40)
	r.Summary.Text = strings.Repeat("many words ", 400)
	for range 60 {
		r.Facts = append(r.Facts, receipt.Fact{Label: strings.Repeat("Payment ", 9), Value: strings.Repeat("ab", 80) + "end"})
	}
	got := text(t, write(t, r))
	joined := strings.Join(strings.Fields(got), "")
	for want, times := range map[string]int{word: 2, strings.Repeat("9", 40): 1, "manywords": 400, "Payment": 9 * 60, "end": 60} {
		if n := strings.Count(joined, want); n != times {
			t.Errorf("%.30q occurs %d times, want %d", want, n, times)
		}
	}
	pages := strings.Split(strings.TrimSuffix(got, "\f"), "\f")
	if len(pages) < 4 {
		t.Errorf("%d pages, want at least 4", len(pages))
	}
	for i, page := range pages { // a row is not split
		if labels, values := strings.Count(page, "Payment"), strings.Count(page, "end"); labels != 9*values {
			t.Errorf("page %d has %d words of labels for %d values", i+1, labels, values)
		}
	}
}

// The list of characters agrees with the fonts.
func TestWrite_shows_every_character_of_the_list(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	n := 0
	for _, r := range receipt.Covered() {
		all.WriteRune(r)
		if n++; n%40 == 0 {
			all.WriteByte(' ')
		}
	}
	r := paid()
	r.Heading, r.Summary.Text = all.String(), all.String() // bold and regular
	got := strings.Join(strings.Fields(text(t, write(t, r))), "")
	want := strings.Join(strings.Fields(norm.NFC.String(all.String())), "")
	if strings.Count(got, want) != 2 {
		t.Errorf("not twice in the document:\n%s\nbut\n%s", want, got)
	}
}
