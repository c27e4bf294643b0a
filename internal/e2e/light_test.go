package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"chequer/internal/api"
)

// TestDamaged_header_files_are_repaired damages the files of headers while their index in light.db is
// intact. The files are not synced to disk, so a power failure may have this effect.
func TestDamaged_header_files_are_repaired(t *testing.T) {
	t.Parallel()
	short := func(by int) func([]byte) []byte {
		return func(all []byte) []byte { return all[:len(all)-by] }
	}
	zeroes := func(last int) func([]byte) []byte {
		return func(all []byte) []byte { clear(all[len(all)-last:]); return all }
	}
	const blocks, filters = "block_headers.bin", "reg_filter_headers.bin"
	c, folder := coins[0], t.TempDir()
	n := c.start(t)
	p, key := shopIn(t, folder, c, n)
	s := newShop(t, p.url, key)
	for _, damage := range []struct {
		name, file string
		do         func([]byte) []byte
	}{
		{"a truncated header", blocks, short(30)},
		{"a header of zeroes", blocks, zeroes(80)},
		{"a missing filter header", filters, short(32)},
		{"a filter header of zeroes", filters, zeroes(32)},
	} {
		t.Log(damage.name)
		id := s.createInvoice()
		r := s.invoice(id)
		p.kill()
		file := filepath.Join(folder, "bitcoin-regtest", damage.file)
		all, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, damage.do(all), 0o600); err != nil {
			t.Fatal(err)
		}
		n.Mine(t, c.pay(t, n, r, r.PaymentMethods[0].DueAmount))
		p.serve()
		s.status(id, api.StatusPaid, waitTimeout)
	}
}
