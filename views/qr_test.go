package views_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/skip2/go-qrcode"

	"chequer/internal/chain"
	"chequer/internal/money"
	"chequer/views"
)

const paymentURI = "bitcoin:BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4?amount=0.00065379"

func TestNewQR_draws_the_code_of_the_reference_library(t *testing.T) {
	t.Parallel()
	for _, text := range []string{paymentURI, "0x1111111254EEB25477B68fb85Ed929f73A960582", "x"} {
		code, err := views.NewQR(text)
		if err != nil {
			t.Fatal(err)
		}
		reference, err := qrcode.New(text, qrcode.Medium)
		if err != nil {
			t.Fatal(err)
		}
		reference.DisableBorder = true
		want := reference.Bitmap()
		if diff := cmp.Diff(want, drawnModules(t, code.Path, len(want))); diff != "" {
			t.Errorf("%q: the path does not draw the bitmap (-want +got):\n%s", text, diff)
		}
		if box := fmt.Sprintf("-4 -4.5 %[1]d %[1]d", len(want)+8); code.ViewBox != box {
			t.Errorf("view box = %q, want %q: four modules free all around", code.ViewBox, box)
		}
	}
}

func TestNewQR_refuses_a_text_that_is_too_long(t *testing.T) {
	t.Parallel()
	if _, err := views.NewQR(strings.Repeat("long", 1000)); err == nil {
		t.Error("no error for 4,000 bytes")
	}
}

// A shop's name is shortened where the payment link is built, so that a phone can still read the code.
func TestNewQR_of_a_long_shop_name_stays_readable(t *testing.T) {
	t.Parallel()
	bitcoin := chain.Asset{Code: "BTC", Currency: money.BTC, Scheme: "bitcoin"}
	due := money.MustParse("0.00065379", money.BTC)
	label := strings.Repeat("Tea & Café 1+1=2 #7? ", 10)[:200]
	link := bitcoin.Link("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", due, label)
	code, err := views.NewQR(link.Code)
	if err != nil {
		t.Fatal(err)
	}
	if code.Version > 10 {
		t.Errorf("version %d of %q, want at most 10", code.Version, link.Code)
	}
}

// The cache has a bounded size, and returns the same code for the same text after an eviction.
func TestNewQR_returns_the_same_code_after_an_eviction(t *testing.T) {
	t.Parallel()
	first, err := views.NewQR("first")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2500 {
		if _, err := views.NewQR(fmt.Sprint("other ", i)); err != nil {
			t.Fatal(err)
		}
	}
	second, err := views.NewQR("first")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

// drawnModules returns the bitmap that a path draws.
func drawnModules(t *testing.T, path string, size int) [][]bool {
	t.Helper()
	bitmap := make([][]bool, size)
	for y := range bitmap {
		bitmap[y] = make([]bool, size)
	}
	x, y := 0, 0
	for rest := path; rest != ""; {
		var a, b int
		next := strings.IndexAny(rest[1:], "Mmh") + 1
		if next == 0 {
			next = len(rest)
		}
		command, numbers := rest[0], rest[1:next]
		rest = rest[next:]
		switch command {
		case 'M':
			scan(t, numbers, "%d %d", &x, &y)
		case 'm':
			scan(t, numbers, "%d %d", &a, &b)
			x, y = x+a, y+b
		case 'h':
			scan(t, numbers, "%d", &a)
			for range a {
				bitmap[y][x] = true
				x++
			}
		}
	}
	return bitmap
}

func scan(t *testing.T, text, format string, targets ...any) {
	t.Helper()
	if _, err := fmt.Sscanf(text, format, targets...); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}
