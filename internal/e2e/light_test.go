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
	truncate := func(count int) func([]byte) []byte {
		return func(content []byte) []byte { return content[:len(content)-count] }
	}
	clearLast := func(count int) func([]byte) []byte {
		return func(content []byte) []byte { clear(content[len(content)-count:]); return content }
	}
	const blocks, filters = "block_headers.bin", "reg_filter_headers.bin"
	coin, folder := coins[0], t.TempDir()
	n := coin.start(t)
	p, key := startShopIn(t, folder, coin, n)
	s := newShop(t, p.url, key)
	for _, damage := range []struct {
		name, file string
		apply      func([]byte) []byte
	}{
		{"a truncated header", blocks, truncate(30)},
		{"a header of zeroes", blocks, clearLast(80)},
		{"a missing filter header", filters, truncate(32)},
		{"a filter header of zeroes", filters, clearLast(32)},
	} {
		t.Log(damage.name)
		id := s.createInvoice()
		r := s.invoice(id)
		p.kill()
		file := filepath.Join(folder, "bitcoin-regtest", damage.file)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, damage.apply(content), 0o600); err != nil {
			t.Fatal(err)
		}
		n.Mine(t, coin.pay(t, n, r, r.PaymentMethods[0].DueAmount))
		p.serve()
		s.waitStatus(id, api.StatusPaid, waitTimeout)
	}
}
