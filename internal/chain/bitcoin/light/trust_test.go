package light_test

import (
	"math/big"
	"testing"
	"time"

	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/light"
)

func TestTrust_requires_agreeing_peers_and_a_recent_tip(t *testing.T) {
	t.Parallel()
	trust := light.Trust{Peers: 4, Filters: 3, MaxTipAge: 3 * time.Hour, MinWork: big.NewInt(1000)}
	// Each witness has a group, a tip and a filter header. Those of the client are 1.
	good := []light.Witness{{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 0}}
	for _, tt := range []struct {
		name      string
		trust     light.Trust
		age       time.Duration
		work      int64
		witnesses []light.Witness
		want      string
	}{
		{"enough peers agree", trust, 2 * time.Hour, 1000, good, ""},
		{"no peers", trust, 0, 1000, nil, "0 of 4 peers agree on block 870,123"},
		{"one peer has another tip", trust, 0, 1000, []light.Witness{{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 2, 1}}, "3 of 4 peers agree on block 870,123"},
		{"three peers of one group", trust, 0, 1000, []light.Witness{{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {3, 1, 1}, {3, 1, 1}}, "3 of 4 peers agree on block 870,123"},
		{"two peers with another filter", trust, 0, 1000, []light.Witness{{1, 1, 1}, {2, 1, 1}, {3, 1, 2}, {4, 1, 2}}, "2 of 3 peers serve the same filter header for block 870,123"},
		{"three of four peers serve another filter header", trust, 0, 1000, []light.Witness{{1, 1, 1}, {2, 1, 2}, {3, 1, 2}, {4, 1, 2}}, "3 peers serve another filter header for block 870,123 than the stored one"},
		{"four of seven peers serve another filter header", trust, 0, 1000, []light.Witness{{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 2}, {5, 1, 2}, {6, 1, 2}, {7, 1, 2}}, "4 peers serve another filter header for block 870,123 than the stored one"},
		{"an old tip", trust, 3*time.Hour + time.Second, 1000, good, "the newest block, 870,123, is of 2026-01-02 08:59:59: more than 3h0m0s ago"},
		{"little work", trust, 0, 999, good, "the chain up to block 870,123 has less work than the network had when this program was released"},
		{"the limits of regtest", light.Regtest.Trust, 1000 * time.Hour, 0, good[:1], ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := light.CheckTip(tt.trust, 870_123, tt.age, tt.work, tt.witnesses); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestGroup_is_a_part_of_the_address_space(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"1.2.3.4", "1.2.255.1", true},
		{"1.2.3.4", "1.3.3.4", false},
		{"1.2.3.4", "::ffff:1.2.9.9", true},
		{"127.1.0.1", "127.2.0.1", false},
		{"2001:db8:1::1", "2001:db8:ffff::1", true},
		{"2001:db8::1", "2001:db9::1", false},
		{"0.0.0.6", "::6", false},
	} {
		if got := light.Group(tt.a) == light.Group(tt.b); got != tt.same {
			t.Errorf("%s and %s in one group: %t, want %t", tt.a, tt.b, got, tt.same)
		}
	}
}

func TestNetworks_are_those_of_the_settings(t *testing.T) {
	t.Parallel()
	for i, n := range light.Networks {
		if p := bitcoin.Bitcoins[i]; n.Name != p.Name || n.Params.GenesisHash.String() != p.Genesis {
			t.Errorf("%s has genesis block %s, want %s with %s", n.Name, n.Params.GenesisHash, p.Name, p.Genesis)
		}
	}
}

func TestNetworks_have_different_least_work(t *testing.T) {
	t.Parallel()
	minimum := light.Mainnet.Trust.MinWork
	for _, n := range []light.Network{light.Testnet4, light.Signet} {
		if n.Trust.MinWork.Sign() <= 0 || n.Trust.MinWork.Cmp(minimum) >= 0 {
			t.Errorf("%s: %x", n.Name, n.Trust.MinWork)
		}
		minimum = n.Trust.MinWork
	}
}
