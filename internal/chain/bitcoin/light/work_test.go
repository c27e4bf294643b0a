package light_test

import (
	"slices"
	"testing"

	"github.com/btcsuite/btcd/wire"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/bitcoin/light"
)

// A block has a work of 2 with the bits easy, regtest's minimum difficulty, and of 4 with harder, half that target.
const easy, harder = 0x207fffff, 0x203fffff

// blocks returns headers that differ in their nonce.
func blocks(count int, nonce, bits uint32) (headers []*wire.BlockHeader) {
	for i := range count {
		headers = append(headers, &wire.BlockHeader{Nonce: nonce + uint32(i), Bits: bits})
	}
	return headers
}

func TestWork_is_summed_up_for_a_growing_chain(t *testing.T) {
	t.Parallel()
	chain := blocks(1000, 0, easy)
	longer := append(slices.Clone(chain), blocks(1000, 1000, harder)...)
	got, err := light.Works(
		chain[:1], chain, longer,
		longer[:1900], // a shorter chain
		append(slices.Clone(longer[:1500]), blocks(501, 9000, easy)...), // a deep fork
		append(slices.Clone(chain[:10]), blocks(100, 20000, harder)...), // a fork deeper than the kept sums
	)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{2, 2000, 2000 + 4000, 2000 + 3600, 2000 + 2000 + 1002, 20 + 400}, got); diff != "" {
		t.Errorf("work (-want +got):\n%s", diff)
	}
}
