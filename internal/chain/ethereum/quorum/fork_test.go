package quorum_test

import (
	"fmt"
	"testing"
)

// A reorganisation may remove the block at which an invoice was created before the next scan. Transfers
// from before the creation still do not count for the invoice, and later transfers do.
func TestFork_below_the_birth_block_of_an_invoice(t *testing.T) {
	t.Parallel()
	for name, restarts := range map[string]bool{"without a restart": false, "with a restart": true} {
		for depth := 1; depth <= 3; depth++ {
			t.Run(fmt.Sprint(depth, " blocks ", name), func(t *testing.T) {
				t.Parallel()
				fake := newFakeChain(100)
				e := openEther(t, fake, threeNodes(t, fake)...)
				_, next, err := e.key.Address(0)
				e.must(err)
				before := fake.mineBlock(tokenPayment(next, 40_000_000))
				e.mine(5)
				e.step()
				inv, to := e.invoice("EURC")
				if to != next && inv.Methods[0].Destination.Script != next {
					t.Fatalf("invoice has address %s, want %s", to, next)
				}
				fake.reorganise(depth)
				e.mine(depth + 1)
				if restarts {
					e.start()
				}
				old := fmt.Sprint("40 old in ", before.height, " by ", before.transfers[0].tx[:6])
				e.want(inv, "created old", old)
				e.mine(2)
				paid := fake.mineBlock(tokenPayment(next, 40_000_000))
				e.mine(12)
				e.want(inv, "paid old", old, fmt.Sprint("40 confirmed in ", paid.height, " by ", paid.transfers[0].tx[:6]))
			})
		}
	}
}
