package light_test

import (
	"fmt"
	"testing"

	"chequer/internal/chain/bitcoin/light"
)

func TestBook_returns_addresses_of_different_groups_that_serve_filters(t *testing.T) {
	t.Parallel()
	var addresses []string
	useful := map[uint64]bool{}
	for i := range 30 {
		// Two addresses of each group.
		for j := range 2 {
			addresses = append(addresses, fmt.Sprintf("51.%d.%d.1:8333", i, j))
		}
	}
	for i, a := range addresses {
		if i%3 != 2 { // NextGroups makes every third address one that does not serve filters
			useful[light.Group(a[:len(a)-len(":8333")])] = true
		}
	}
	groups := light.NextGroups(t, addresses, 8)
	seen := map[uint64]bool{}
	for _, g := range groups {
		if seen[g] || !useful[g] {
			t.Errorf("group %x: returned before %t, serves filters %t", g, seen[g], useful[g])
		}
		seen[g] = true
	}
	if len(groups) != 8 {
		t.Errorf("%d addresses, want 8", len(groups))
	}
}
