package sweep

import (
	"context"
	"fmt"
	"slices"

	"chequer/internal/evm"
	"chequer/internal/keys"
	"chequer/internal/sweep/plan"
)

// domains are the names and versions in the EIP-712 domains of the tokens of issuers, by symbol. The contract confirms the one that
// it uses: see github.com/circlefin/stablecoin-evm and, for the differences between networks, x402-foundation/x402 #3102 and #3105.
var domains = map[string][]evm.Domain{
	"USDC": {{Name: "USD Coin", Version: "2"}, {Name: "USDC", Version: "2"}},
	"EURC": {{Name: "EURC", Version: "2"}, {Name: "Euro Coin", Version: "2"}},
}

// Functions of tokens; see EIP-3009, EIP-712 and FiatTokenV2_2.
const (
	authorizationState = "authorizationState(address,bytes32)"
	domainSeparator    = "DOMAIN_SEPARATOR()"
	isBlacklisted      = "isBlacklisted(address)"
	isBlackListed      = "isBlackListed(address)" // of TetherToken
	balanceOf          = "balanceOf(address)"
	transfer           = "transfer(address,uint256)"
)

// chooseWays sets the ways of the rows, and skips those of tokens without authorizations.
func (d *drafting) chooseWays(ctx context.Context) error {
	for _, indexes := range d.byAsset() {
		way, domain, err := d.wayOf(ctx, d.rows[indexes[0]])
		if err != nil {
			return err
		}
		for _, i := range indexes {
			d.rows[i].way, d.rows[i].domain = way, domain
		}
	}
	d.skip(func(r row) plan.Reason {
		if r.way == "" {
			return plan.NoWay
		}
		return ""
	})
	return d.noRows()
}

// wayOf returns the way in which an asset is moved, "" if there is none, and the domain of its token, of which only the contract is set if the
// token has no authorizations. It asks the contract, because a signature for another domain moves nothing.
func (d *drafting) wayOf(ctx context.Context, r row) (plan.Way, evm.Domain, error) {
	if r.asset.Contract == "" {
		return plan.ByOwn, evm.Domain{}, nil
	}
	contract, err := keys.ParseEthereumAddress(r.asset.Contract)
	if err != nil {
		return "", evm.Domain{}, err
	}
	var other plan.Way // without authorizations
	if d.Fund {
		other = plan.ByFunding
	}
	known := domains[r.asset.Symbol]
	if len(known) == 0 || r.asset.BridgeOf != "" {
		return other, evm.Domain{Contract: contract}, nil
	}
	results, err := d.evm.Quorum.Results(ctx, d.tip, []evm.Call{
		{To: contract, Data: evm.EncodeCall(authorizationState, evm.AddressWord(r.address), evm.Word{})},
		{To: contract, Data: evm.EncodeCall(domainSeparator)},
	})
	if err != nil {
		return "", evm.Domain{}, fmt.Errorf("ask the contract of %s for authorizations: %w", r.asset.Code, err)
	}
	if len(results[0]) != len(evm.Word{}) || len(results[1]) != len(evm.Hash{}) {
		return other, evm.Domain{Contract: contract}, nil
	}
	for _, domain := range known {
		domain.ChainID, domain.Contract = d.network.ChainID, contract
		if domain.Separator() == evm.Hash(results[1]) {
			return plan.ByAuthorization, domain, nil
		}
	}
	return other, evm.Domain{Contract: contract}, nil
}

// callBatch is the number of calls of contracts that are read in one request. It is even.
const callBatch = 500

// skipBlocked skips the rows whose address the issuer of the token has blocked. It refuses a destination that is blocked.
func (d *drafting) skipBlocked(ctx context.Context) error {
	blocked := map[int]bool{} // by index of the row
	for _, indexes := range d.byAsset() {
		first := d.rows[indexes[0]]
		if first.way == plan.ByOwn {
			continue
		}
		answers, err := d.blocked(ctx, first.domain.Contract, []evm.Address{d.To})
		if err != nil {
			return err
		}
		if answers[0] {
			return fmt.Errorf("the destination is refused: the issuer of %s has blocked %s", first.asset.Symbol, d.To)
		}
		for batch := range slices.Chunk(indexes, callBatch/2) {
			var accounts []evm.Address
			for _, i := range batch {
				accounts = append(accounts, d.rows[i].address)
			}
			answers, err := d.blocked(ctx, first.domain.Contract, accounts)
			if err != nil {
				return err
			}
			for n, i := range batch {
				blocked[i] = answers[n]
			}
		}
	}
	index := -1
	d.skip(func(row) plan.Reason {
		if index++; blocked[index] {
			return plan.Blocked
		}
		return ""
	})
	return d.noRows()
}

// blocked reports for each account whether the issuer of a token has blocked it. A contract without such a list blocks no account.
func (d *drafting) blocked(ctx context.Context, contract evm.Address, accounts []evm.Address) ([]bool, error) {
	var calls []evm.Call
	for _, a := range accounts {
		calls = append(calls, blockedCalls(contract, a)...)
	}
	results, err := d.evm.Quorum.Results(ctx, d.tip, calls)
	if err != nil {
		return nil, fmt.Errorf("ask the token %s for blocked addresses: %w", contract, err)
	}
	blocked := make([]bool, len(accounts))
	for i := range accounts {
		blocked[i] = isBlocked(results[2*i:])
	}
	return blocked, nil
}

// blockedCalls returns the two calls that ask a token whether its issuer has blocked an account. A token has one of the methods at most.
func blockedCalls(contract, account evm.Address) []evm.Call {
	return []evm.Call{
		{To: contract, Data: evm.EncodeCall(isBlacklisted, evm.AddressWord(account))},
		{To: contract, Data: evm.EncodeCall(isBlackListed, evm.AddressWord(account))},
	}
}

// isBlocked reports whether one of the results of blockedCalls, which are the first two, is true.
func isBlocked(results [][]byte) bool { return isTrue(results[0]) || isTrue(results[1]) }

// isTrue reports whether the result of a call is a number that is not zero.
func isTrue(result []byte) bool {
	return len(result) == len(evm.Word{}) && evm.Word(result) != evm.Word{}
}
