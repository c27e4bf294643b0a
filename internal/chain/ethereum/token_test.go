package ethereum_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
)

func TestTokenFaults_name_tokens_with_wrong_or_unknown_decimals(t *testing.T) {
	t.Parallel()
	const unknown = -1
	tests := map[string]struct {
		contract  string
		code      string
		decimals  int
		claimed   bool
		queryable bool

		isUnverified, watched bool
		text                  string
	}{
		"a listed token with its decimals":         {usdcBase, "USDC-BASE", 6, false, false, false, true, ""},
		"a listed token with other decimals":       {usdcBase, "USDC-BASE", 18, false, false, true, false, "has 18 decimals, not 6"},
		"a listed token that does not answer":      {usdcBase, "USDC-BASE", unknown, false, false, false, true, ""},
		"a claimed token with its decimals":        {usdcBase, "USDC-BASE", 6, true, true, false, true, ""},
		"a claimed token with other decimals":      {usdcBase, "USDC-BASE", 0, true, true, true, false, "has 0 decimals, not 6"},
		"a claimed token that does not answer":     {usdcBase, "USDC-BASE", unknown, true, true, true, true, "does not return its decimals"},
		"a claimed token whose balance is unknown": {usdcBase, "USDC-BASE", 6, true, false, true, false, "only balances of addresses prove"},
		"a bridged token with its decimals":        {bridged, "USDBC", 6, false, false, false, true, ""},
		"a bridged token with other decimals":      {bridged, "USDBC", 8, false, false, true, false, "is not watched"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shallow(ethereum.Base)
			if test.claimed {
				p.Claimed = []string{test.code}
			}
			c := newChain(10)
			c.queryable, c.decimals[test.contract] = test.queryable, test.decimals
			c.addTransfer(t, test.contract, payee, big.NewInt(1_000_000), "x")
			c.last().tokens[payee] = 1_000_000
			s := watch(p, c)
			var reported []ethereum.TokenFault
			s.OnTokenFault = func(fault ethereum.TokenFault) { reported = append(reported, fault) }
			got := scan(t, s, chain.Cursor{}, &fakeWatched{scripts: []string{payee}})

			faults := s.TokenFaults()
			if (len(faults) == 1) != test.isUnverified || test.isUnverified && (faults[0].Asset != test.code || !strings.Contains(faults[0].Text, test.text)) {
				t.Errorf("token faults %+v, want about %q: %t, %q", faults, test.code, test.isUnverified, test.text)
			}
			if watched := slices.Contains(s.WatchedCodes(), test.code); watched != test.watched || watched != (len(got.Transfers) == 1) {
				t.Errorf("watched: %t, %d transfers; want %t", watched, len(got.Transfers), test.watched)
			}
			for _, a := range s.Assets() {
				if a.Code == test.code && a.Unverified != test.isUnverified {
					t.Errorf("the asset has Unverified %t, want %t", a.Unverified, test.isUnverified)
				}
			}
			if isAnswered := test.isUnverified && !(test.claimed && !test.queryable); isAnswered != (len(reported) == 1) {
				t.Errorf("reported token faults: %+v", reported)
			}
		})
	}
}
