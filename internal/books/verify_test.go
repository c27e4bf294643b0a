package books_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"chequer/internal/books"
	"chequer/internal/proof"
)

func TestVerify_finds_every_change(t *testing.T) {
	f := newFixture(t)
	at := moment("2026-10-03T10:00:00Z")
	inv := newInvoice("inv_a", at)
	pay(inv, "BTC", 100, "90000", at)
	f.put(inv)
	files := f.close(t, "2026-11")
	signed := func() []books.SignedFile {
		return []books.SignedFile{{"2026-10", files[0].CSV, files[0].Statement}, {"2026-11", files[1].CSV, files[1].Statement}}
	}
	trusted := f.trusted(t)
	other := newFixture(t)
	other.put(inv)
	foreign := other.close(t, "2026-11")
	for name, c := range map[string]struct {
		change func([]books.SignedFile)
		want   error
	}{
		"a cell":        {func(s []books.SignedFile) { s[0].CSV = strings.Replace(s[0].CSV, "0.00065379", "0.00065380", 1) }, books.ErrChanged},
		"an added line": {func(s []books.SignedFile) { s[1].CSV += strings.SplitAfter(s[0].CSV, "\r\n")[1] }, books.ErrChanged},
		"the number of lines": {func(s []books.SignedFile) {
			s[0].Statement = strings.Replace(s[0].Statement, "lines: 1", "lines: 2", 1)
		}, proof.ErrSignature},
		"the statement of another": {func(s []books.SignedFile) { s[0].Statement = foreign[0].Statement }, proof.ErrUntrusted},
		"no statement":             {func(s []books.SignedFile) { s[0].Statement = "" }, proof.ErrFormat},
	} {
		t.Run(name, func(t *testing.T) {
			s := signed()
			c.change(s)
			if _, err := books.Verify(s, trusted); !errors.Is(err, c.want) {
				t.Errorf("Verify() = %v, want %v", err, c.want)
			}
		})
	}
	if _, err := books.Verify(signed(), trusted); err != nil {
		t.Error(err)
	}
	pay(inv, "EURC", 10, "1", at)
	replaced := newFixture(t)
	replaced.keyring = f.keyring
	replaced.Service = books.NewService(replaced.memory, f.keyring, func() time.Time { return f.now })
	replaced.put(inv)
	first := replaced.close(t, "2026-10")[0]
	chain := []books.SignedFile{{"2026-10", first.CSV, first.Statement}, signed()[1]}
	if _, err := books.Verify(chain, trusted); !errors.Is(err, books.ErrChain) {
		t.Errorf("another signed month before: %v, want %v", err, books.ErrChain)
	}
}
