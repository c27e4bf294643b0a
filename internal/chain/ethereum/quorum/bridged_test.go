package quorum_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
)

// bridged is a bridged token of the fake chain.
var bridged = ethereum.Base.Bridged[0]

// bridgedPayment is a transfer of the bridged token.
func bridgedPayment(to string, units uint64) transfer {
	return transfer{contract: bridged.Contract, to: to, units: units}
}

// watchBridged watches the fake chain for the bridged token too.
func (s *shop) watchBridged() *shop {
	p := params()
	p.Bridged = []chain.Asset{bridged}
	s.scanner = ethereum.Watch(ethereum.New(p), s.quorum, s.fake.Now)
	return s
}

// codesOf returns the codes of assets.
func codesOf(assets []chain.Asset) (codes []string) {
	for _, a := range assets {
		codes = append(codes, a.Code)
	}
	return codes
}

// assetsOf returns the transfers of a snapshot as "5 EURC in EURC": amount, asset and currency.
func assetsOf(snapshot chain.Snapshot) (shown []string) {
	for _, t := range snapshot.Transfers {
		shown = append(shown, t.Amount.String()+" "+t.Asset+" in "+t.Amount.Currency().Code)
	}
	slices.Sort(shown)
	return shown
}

// A transfer of a bridged token is shown with the token's own code. Its logs are read in the
// same request as those of the other tokens.
func TestBridged_tokens_are_read_with_the_others_and_never_offered(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*quorum.Config){
		"by transfers to all addresses": func(*quorum.Config) {},
		"by address":                    askAddresses,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFakeChain(19)
			fake.mineBlock(bridgedPayment(ourAddress, 7_000_000), tokenPayment(ourAddress, 5_000_000), bridgedPayment(otherAddress, 1))
			fake.mineBlock()
			nodes := []*node{newNode(t, fake), newNode(t, fake)}
			s := openShop(t, fake, endpoints(nodes...), change).watchBridged()
			if diff := cmp.Diff(assetsOf(s.want("5", "7")), []string{"5 EURC in EURC", "7 USDBC in USDBC"}); diff != "" {
				t.Errorf("shown (-got +want):\n%s", diff)
			}
			if slices.Contains(codesOf(s.scanner.Assets()), "USDBC") {
				t.Error("the bridged token is offered")
			}
			plain := []*node{newNode(t, fake), newNode(t, fake)}
			openShop(t, fake, endpoints(plain...), change).want("5")
			if got, want := len(nodes[0].received("eth_getLogs")), len(plain[0].received("eth_getLogs")); got != want || want == 0 {
				t.Errorf("got %d eth_getLogs requests, want %d as without the bridged token, and more than 0", got, want)
			}
		})
	}
}

// Amounts with a wrong scale are not shown.
func TestBridged_token_with_other_decimals_is_not_watched(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(19)
	fake.mineBlock(bridgedPayment(ourAddress, 7_000_000), tokenPayment(ourAddress, 5_000_000))
	fake.mineBlock()
	s := openShop(t, fake, endpoints(newNode(t, fake, answerDecimals(bridged.Contract, eighteen)), newNode(t, fake, answerDecimals(bridged.Contract, eighteen)))).watchBridged()
	var got []ethereum.TokenFault
	s.scanner.OnTokenFault = func(fault ethereum.TokenFault) { got = append(got, fault) }
	s.want("5")
	if len(got) != 1 || got[0].Asset != "USDBC" || strings.Contains(got[0].Text, "offered") || !strings.HasPrefix(got[0].Text, "is not watched: its contract ") {
		t.Errorf("OnTokenFault got %+v, want one fault of USDBC", got)
	}
	// Bridged lists the bridged tokens of the network, whether they are watched or not.
	if got := codesOf(s.scanner.Bridged()); len(got) != 1 {
		t.Errorf("bridged tokens are %v, want one", got)
	}
}

// A program that does not watch a token, such as an older version, leaves the recorded transfers of it unchanged
// until a reorganisation removes their block.
func TestRecorded_transfer_of_an_unwatched_token_stays_until_a_reorganisation(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(19)
	fake.mineBlock(bridgedPayment(ourAddress, 7_000_000))
	fake.mineBlock()
	a, b := newNode(t, fake), newNode(t, fake)
	before := openShop(t, fake, endpoints(a, b)).watchBridged().want("7")
	old, watched := openShop(t, fake, endpoints(a, b)).restart(before, endpoints(a, b))
	for range 2 {
		after, err := old.scanner.Scan(t.Context(), old.from, watched)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(assetsOf(after), []string{"7 USDBC in USDBC"}); diff != "" || len(after.Refuted) > 0 {
			t.Errorf("a program that does not watch the token refutes %v, shows (-got +want):\n%s", after.Refuted, diff)
		}
	}
	restarted, watched := old.restart(before, endpoints(a, b))
	after, err := restarted.watchBridged().scanner.Scan(t.Context(), restarted.from, watched)
	if err != nil || len(after.Transfers) != 1 || len(after.Refuted) > 0 {
		t.Errorf("a program that watches the token shows %+v, refutes %v: %v", after.Transfers, after.Refuted, err)
	}
	fake.reorganise(2)
	for range 3 {
		fake.mineBlock()
	}
	fake.pass(time.Minute)
	after, err = old.scanner.Scan(t.Context(), old.from, watched)
	if err != nil || len(after.Transfers) != 0 {
		t.Errorf("after the block left the chain, a program that does not watch the token shows %+v: %v", after.Transfers, err)
	}
}
