package quorum_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// answerDecimals sets the answer of a contract for its decimals on a node.
func answerDecimals(contract, text string) func(*node) {
	return func(n *node) {
		if n.decimals == nil {
			n.decimals = map[string]string{}
		}
		n.decimals[strings.ToLower(contract)] = text
	}
}

// askAddresses allows every endpoint to be asked about addresses.
func askAddresses(c *quorum.Config) { c.AddressQueries = true }

// six and eighteen are numbers of decimals as contracts return them.
var six, eighteen = word("0x06"), word("0x12")

// claimed returns parameters with a token that a setting describes.
func claimed(t *testing.T) ethereum.Params {
	t.Helper()
	contract, err := keys.ParseEthereumAddress("0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430")
	if err != nil {
		t.Fatal(err)
	}
	p := params()
	p.Assets = append(p.Assets[:len(p.Assets):len(p.Assets)], p.Token("EURE", contract, money.Currency{Code: "EURC", Decimals: 6}))
	p.Claimed = []string{"EURE"}
	return p
}

func TestDecimals_decide_which_tokens_are_offered(t *testing.T) {
	t.Parallel()
	const contract = "0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430"
	for name, test := range map[string]struct {
		nodes [3]func(*node)
		want  string // codes; ! = unverified
		text  string
	}{
		"the contract has the decimals of the setting": {[3]func(*node){answerDecimals(contract, six), answerDecimals(contract, six), answerDecimals(contract, six)}, "ETH USDC EURC EURE", ""},
		"the contract has other decimals":              {[3]func(*node){answerDecimals(contract, eighteen), answerDecimals(contract, eighteen), answerDecimals(contract, eighteen)}, "ETH USDC EURC EURE!", "has 18 decimals, not 6"},
		"the contract reverts":                         {[3]func(*node){answerDecimals(contract, "reverts"), answerDecimals(contract, "reverts"), answerDecimals(contract, "reverts")}, "ETH USDC EURC EURE!", "does not return its decimals"},
		"the contract does not exist":                  {[3]func(*node){}, "ETH USDC EURC EURE!", "or does not exist"},
		"the contract returns an invalid number":       {[3]func(*node){answerDecimals(contract, word("0x0100")), answerDecimals(contract, word("0x0100")), answerDecimals(contract, word("0x0100"))}, "ETH USDC EURC EURE!", "does not return its decimals"},
		"one of three endpoints lies":                  {[3]func(*node){answerDecimals(contract, eighteen), answerDecimals(contract, six), answerDecimals(contract, six)}, "ETH USDC EURC EURE", ""},
		"one of three endpoints fails":                 {[3]func(*node){func(n *node) { n.failingMethod = "eth_call" }, answerDecimals(contract, six), answerDecimals(contract, six)}, "ETH USDC EURC EURE", ""},
		"the endpoints do not agree":                   {[3]func(*node){answerDecimals(contract, six), answerDecimals(contract, eighteen), answerDecimals(contract, word("0x08"))}, "ETH USDC EURC EURE!", "is not offered until its contract"},
		"a listed token has other decimals":            {[3]func(*node){answerDecimals(token.Contract, eighteen), answerDecimals(token.Contract, eighteen), answerDecimals(contract, six)}, "ETH USDC EURC! EURE!", "has 18 decimals, not 6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFakeChain(100)
			var list []*node
			for _, change := range test.nodes {
				if change == nil {
					change = func(*node) {}
				}
				list = append(list, newNode(t, fake, change))
			}
			q := openShop(t, fake, endpoints(list...), askAddresses).quorum
			scanner := ethereum.Watch(ethereum.New(claimed(t)), q, fake.Now)
			var reported []ethereum.TokenFault
			scanner.OnTokenFault = func(fault ethereum.TokenFault) { reported = append(reported, fault) }
			if assets := scanner.Assets(); !assets[3].Unverified {
				t.Error("token of a setting is offered before its contract was asked")
			}
			if _, err := scanner.Scan(t.Context(), chain.Cursor{}, chaintest.Watch{}); err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, a := range scanner.Assets() {
				code := a.Code
				if a.Unverified {
					code += "!"
				}
				codes = append(codes, code)
			}
			if diff := cmp.Diff(strings.Join(codes, " "), test.want); diff != "" {
				t.Errorf("assets (-got +want):\n%s", diff)
			}
			faults := scanner.TokenFaults()
			if (test.text == "") != (len(faults) == 0) || len(faults) > 0 && !strings.Contains(faults[0].Text, test.text) {
				t.Errorf("token faults %+v, want %q", faults, test.text)
			}
			for _, fault := range reported {
				if !strings.Contains(fault.Text, test.text) && fault.Asset != "EURE" {
					t.Errorf("OnTokenFault got %+v", fault)
				}
			}
			if wrong := strings.Contains(test.text, "18"); wrong != (len(reported) > 0 && reported[0].Wrong) {
				t.Errorf("OnTokenFault got %+v", reported)
			}
		})
	}
}

// Transfers of a token with wrong decimals are not shown, and all others are.
func TestDecimals_that_are_wrong_hide_transfers_of_the_token(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	n := newNode(t, fake)
	q := openShop(t, fake, []quorum.Endpoint{{URL: n.URL, Trusted: true}}).quorum
	scanner := ethereum.Watch(ethereum.New(claimed(t)), q, fake.Now)
	eure := transfer{contract: "0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430", to: ourAddress, units: 7_000_000}
	fake.mineBlock(eure, tokenPayment(ourAddress, 5_000_000))
	shownCodes := func() (codes []string) {
		t.Helper()
		s, err := scanner.Scan(t.Context(), chain.Cursor{}, chaintest.Watch{ourAddress: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, transfer := range s.Transfers {
			codes = append(codes, transfer.Asset)
		}
		return codes
	}
	if diff := cmp.Diff(shownCodes(), []string{"EURE", "EURC"}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	// From now on the contract exists and has other decimals. It was already asked, and is not
	// asked again before a restart.
	n.change(answerDecimals(eure.contract, eighteen))
	fake.pass(2 * time.Minute)
	fake.mineBlock()
	requests := slices.DeleteFunc(n.received("eth_call"), func(r request) bool {
		return r.Params[0].(map[string]any)["data"] != "0x313ce567"
	})
	if len(requests) != 3 {
		t.Errorf("contracts were asked %d times, want once each", len(requests))
	}
	scanner = ethereum.Watch(ethereum.New(claimed(t)), q, fake.Now)
	if diff := cmp.Diff(shownCodes(), []string{"EURC"}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}
