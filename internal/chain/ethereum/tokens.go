package ethereum

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// ParseTokens parses a list of additional tokens and returns them by network. Each is the code of a
// listed token, such as USDT, or network:CODE:contract:decimals:RATE, where RATE is the code of the
// asset by whose rate it is priced.
func ParseTokens(list []string) (map[chain.ID][]chain.Asset, error) {
	found := map[chain.ID][]chain.Asset{}
	codes, contracts := map[string]bool{}, map[string]bool{}
	for _, p := range Networks {
		for _, a := range p.Assets {
			codes[a.Code], contracts[string(p.ID)+strings.ToLower(a.Contract)] = true, true
		}
	}
	for _, text := range list {
		asset, err := parseToken(text)
		if err != nil {
			return nil, err
		}
		contract := string(asset.Network) + strings.ToLower(asset.Contract)
		if codes[asset.Code] || contracts[contract] || hasBridgedCode(asset) {
			return nil, fmt.Errorf("%q: the code or the contract is already in use", text)
		}
		codes[asset.Code], contracts[contract] = true, true
		found[asset.Network] = append(found[asset.Network], asset)
	}
	return found, nil
}

// hasBridgedCode reports whether a token has the code of a different token that is bridged. Such a token
// is refused, because recorded transfers are distinguished by their codes.
func hasBridgedCode(token chain.Asset) bool {
	for _, p := range Networks {
		for _, b := range p.Bridged {
			if b.Code == token.Code && (b.Network != token.Network || !strings.EqualFold(b.Contract, token.Contract)) {
				return true
			}
		}
	}
	return false
}

// maxDecimals is the largest number of decimals of an additional token.
const maxDecimals = 24

// parseToken parses one token.
func parseToken(text string) (chain.Asset, error) {
	fields := strings.Split(text, ":")
	if len(fields) == 1 {
		for _, p := range Networks {
			if i := slices.IndexFunc(p.More, func(a chain.Asset) bool { return a.Code == text }); i >= 0 {
				return p.More[i], nil
			}
		}
		return chain.Asset{}, fmt.Errorf("%q is not a listed token: describe it as network:CODE:contract:decimals:RATE", text)
	}
	i := slices.IndexFunc(Networks, func(p Params) bool { return string(p.ID) == fields[0] })
	if len(fields) != 5 {
		return chain.Asset{}, fmt.Errorf("%q is not in the form network:CODE:contract:decimals:RATE, such as base:CODE:0x…:6:USDC", text)
	}
	if i < 0 {
		return chain.Asset{}, fmt.Errorf("%q: %q is not a known EVM network", text, fields[0])
	}
	contract, err := keys.ParseEthereumAddress(fields[2])
	decimals, numberErr := strconv.ParseUint(fields[3], 10, 8)
	switch {
	case err != nil:
		return chain.Asset{}, fmt.Errorf("%q: %w", text, err)
	case numberErr != nil || decimals > maxDecimals:
		return chain.Asset{}, fmt.Errorf("%q: %q is not a number of decimals from 0 to %d", text, fields[3], maxDecimals)
	case !isCode(fields[1]) || !isCode(fields[4]):
		return chain.Asset{}, fmt.Errorf("%q: a code is 2 to 20 capital letters, digits and hyphens", text)
	}
	return Networks[i].Token(fields[1], contract, money.Currency{Code: fields[4], Decimals: int32(decimals)}), nil
}

func isCode(text string) bool {
	isInvalid := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' }
	return len(text) >= 2 && len(text) <= 20 && !strings.ContainsFunc(text, isInvalid)
}

// RateCodes returns the rate codes of the coins and tokens of the EVM networks, including additional
// tokens.
func RateCodes(tokens map[chain.ID][]chain.Asset) []string {
	codes := map[string]bool{}
	for _, p := range Networks {
		for _, a := range slices.Concat(p.Assets, p.More, tokens[p.ID]) {
			codes[a.Rate] = true
		}
	}
	return slices.Sorted(maps.Keys(codes))
}

// With returns the parameters with additional tokens. The codes of tokens that are not in p.More are added to
// Claimed, because no issuer's list confirms them. A bridged token among them is offered like any other token, and
// is removed from Bridged.
func (p Params) With(tokens []chain.Asset) Params {
	p.Claimed = nil
	for _, a := range tokens {
		if !slices.ContainsFunc(p.More, func(listed chain.Asset) bool { return listed.Code == a.Code }) {
			p.Claimed = append(p.Claimed, a.Code)
		}
	}
	p.Assets = slices.Concat(p.Assets, tokens)
	p.Bridged = slices.DeleteFunc(slices.Clone(p.Bridged), func(b chain.Asset) bool {
		return slices.ContainsFunc(tokens, func(a chain.Asset) bool { return strings.EqualFold(a.Contract, b.Contract) })
	})
	return p
}

// NativeCoin returns the code of the network's native coin.
func (p Params) NativeCoin() string {
	i := slices.IndexFunc(p.Assets, func(a chain.Asset) bool { return a.Policy.Balance })
	return p.Assets[i].Code
}
