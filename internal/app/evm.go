package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// endpoints is an EVM network that is watched through several endpoints.
type endpoints struct {
	*ethereum.Scanner
	quorum *quorum.Quorum
}

// evmNetworks returns the EVM networks of the settings. A network that is off but offered by
// default is included without a source, so that it can be offered unwatched.
func evmNetworks(c config.Config, now func() time.Time, log *slog.Logger) ([]live, error) {
	tokens, err := tokensOf(c)
	if err != nil {
		return nil, fmt.Errorf("CHEQUER_EVM_TOKENS: %w", err)
	}
	var found []live
	for _, params := range ethereum.Networks {
		how, list := c.EVM.RPC(string(params.ID))
		setting := config.RPCSetting(string(params.ID))
		params.Claimed = claimed(params, tokens[params.ID])
		params.Assets = slices.Concat(params.Assets, tokens[params.ID])
		params.Bridged = unnamed(params.Bridged, tokens[params.ID])
		if how == config.RPCOff {
			if offered := params.ID == ethereum.Mainnet.ID || params.ID == ethereum.Base.ID; offered && !c.EVM.Trial() {
				found = append(found, live{Network: ethereum.New(params), setting: setting})
			}
			continue
		}
		if how == config.RPCPublic {
			list = nil
			for _, address := range params.Public {
				list = append(list, config.Endpoint{URL: address})
			}
		}
		l, err := watchEVM(c, params, list, now, log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		l.setting = setting
		found = append(found, l)
	}
	return found, nil
}

// watchEVM returns a network that is watched through endpoints.
func watchEVM(c config.Config, params ethereum.Params, list []config.Endpoint, now func() time.Time, log *slog.Logger) (live, error) {
	qc := quorum.Config{
		Network: params.ID, ChainID: params.ChainID, Tags: params.Tags, AddressQueries: bool(c.EVM.AddressQueries),
		Poll: pollFor(params.BlockTime), Now: now, Chance: rand.Float64, Log: log,
	}
	for _, e := range list {
		qc.Endpoints = append(qc.Endpoints, quorum.Endpoint{URL: e.URL, Operator: e.Operator, Trusted: e.Trusted})
	}
	q, err := quorum.New(qc)
	if err != nil {
		return live{}, err
	}
	scanner := ethereum.Watch(ethereum.New(params), q, now)
	scanner.Doubted = func(d ethereum.Doubt) {
		log.Error("token left out", "network", params.ID, "asset", d.Asset, "reason", d.Says)
	}
	for _, d := range scanner.Doubts() {
		if d.Unreadable {
			log.Warn("token left out", "network", params.ID, "asset", d.Asset, "reason", d.Says)
		}
	}
	if len(scanner.Assets()) == 0 {
		return live{}, errors.New("no token is known there yet: name one in CHEQUER_EVM_TOKENS; or for the network's own coin, " + remedies("this setting"))
	}
	return live{
		Network: endpoints{scanner, q},
		probe: func(ctx context.Context) error {
			err := q.Probe(ctx)
			if err == nil {
				_ = scanner.CheckTokens(ctx) // tokens that could not be checked stay in doubt
			}
			return err
		},
		details: func() []Finding {
			setting := config.RPCSetting(string(params.ID))
			return append(findingsOf(q, ownCoin(params), setting), doubtsOf(scanner, setting)...)
		},
	}, nil
}

// claimed returns the codes of the tokens of a network that are described by a setting.
func claimed(params ethereum.Params, tokens []chain.Asset) []string {
	var codes []string
	for _, a := range tokens {
		if !slices.ContainsFunc(params.More, func(listed chain.Asset) bool { return listed.Code == a.Code }) {
			codes = append(codes, a.Code)
		}
	}
	return codes
}

// unnamed returns the bridged tokens that no setting names. Named ones are offered like any other
// token.
func unnamed(bridged, tokens []chain.Asset) []chain.Asset {
	return slices.DeleteFunc(slices.Clone(bridged), func(b chain.Asset) bool {
		return slices.ContainsFunc(tokens, func(a chain.Asset) bool { return strings.EqualFold(a.Contract, b.Contract) })
	})
}

// doubtsOf returns a finding for each token that is not offered or not watched. setting is the name
// of the setting with the network's endpoints.
func doubtsOf(s *ethereum.Scanner, setting string) []Finding {
	var found []Finding
	for _, d := range s.Doubts() {
		f := Finding{Level: LevelWarn, About: "token " + d.Asset, Says: d.Says}
		if d.Wrong {
			f.Level = LevelFail
		}
		if d.Unreadable {
			f.Says += ": " + remedies(setting)
		}
		found = append(found, f)
	}
	return found
}

// pollFor returns the interval at which a network's newest block is requested: half of the block
// time, within one and four seconds, so that free endpoints are not overloaded. The watcher scans
// every second; the interval is 200 ms less than whole seconds, so that a scan never comes just
// before it has passed.
func pollFor(blockTime time.Duration) time.Duration {
	return min(max(blockTime/2, time.Second), 4*time.Second) - 200*time.Millisecond
}

// ownCoin returns the code of a network's own coin.
func ownCoin(p ethereum.Params) string {
	i := slices.IndexFunc(p.Assets, func(a chain.Asset) bool { return a.Policy.Balance })
	return p.Assets[i].Code
}

// findingsOf returns the findings about the probed endpoints. coin is the code of the network's own
// coin.
func findingsOf(q *quorum.Quorum, coin, setting string) []Finding {
	var found []Finding
	if !q.MayAsk() {
		found = append(found, Finding{Level: LevelWarn, About: "own coin " + coin, Says: "is not offered, as only balances of addresses show it: " + remedies(setting)})
	}
	if says := q.Narrow(); says != "" {
		found = append(found, Finding{Level: LevelWarn, About: "endpoints", Says: says})
	}
	for _, r := range q.Reports() {
		f := Finding{Level: LevelOK, About: "endpoint " + r.Name, Says: fmt.Sprintf("at block %s, answered in %s", chain.Grouped(r.Height), r.Latency.Round(time.Millisecond))}
		if r.Fault != "" {
			f.Level, f.Says = LevelWarn, r.Fault
		}
		if r.Trusted {
			f.Says = "own node, " + f.Says
		}
		found = append(found, f)
	}
	return found
}

// evmRates returns the rate codes of the coins and tokens of the EVM networks, including those of
// CHEQUER_EVM_TOKENS.
func evmRates(c config.Config) []string {
	tokens, _ := tokensOf(c) // an invalid setting is reported where the networks are created
	codes := map[string]bool{}
	for _, p := range ethereum.Networks {
		for _, a := range slices.Concat(p.Assets, p.More, tokens[p.ID]) {
			codes[a.Rate] = true
		}
	}
	for _, known := range []string{"ETH", "USDC", "EURC"} { // every table has these
		delete(codes, known)
	}
	return slices.Sorted(maps.Keys(codes))
}

// tokensOf parses the additional tokens of the settings. Each is the code of a listed token, such
// as USDT, or network:CODE:contract:decimals:RATE, where RATE is the code of the asset by whose
// rate it is priced.
func tokensOf(c config.Config) (map[chain.ID][]chain.Asset, error) {
	found := map[chain.ID][]chain.Asset{}
	codes, contracts := map[string]bool{}, map[string]bool{}
	for _, p := range ethereum.Networks {
		for _, a := range p.Assets {
			codes[a.Code], contracts[string(p.ID)+strings.ToLower(a.Contract)] = true, true
		}
	}
	for _, text := range c.EVM.TokenList() {
		asset, err := tokenOf(text)
		if err != nil {
			return nil, err
		}
		contract := string(asset.Network) + strings.ToLower(asset.Contract)
		if codes[asset.Code] || contracts[contract] || isOfAnotherBridged(asset) {
			return nil, fmt.Errorf("%q: there is such a code or contract already", text)
		}
		codes[asset.Code], contracts[contract] = true, true
		found[asset.Network] = append(found[asset.Network], asset)
	}
	return found, nil
}

// isOfAnotherBridged reports whether a token has the code of another, bridged token. Such a token
// is refused, because recorded transfers are distinguished by their codes.
func isOfAnotherBridged(token chain.Asset) bool {
	for _, p := range ethereum.Networks {
		for _, b := range p.Bridged {
			if b.Code == token.Code && (b.Network != token.Network || !strings.EqualFold(b.Contract, token.Contract)) {
				return true
			}
		}
	}
	return false
}

// tokenOf parses one token.
func tokenOf(text string) (chain.Asset, error) {
	fields := strings.Split(text, ":")
	if len(fields) == 1 {
		for _, p := range ethereum.Networks {
			if i := slices.IndexFunc(p.More, func(a chain.Asset) bool { return a.Code == text }); i >= 0 {
				return p.More[i], nil
			}
		}
		return chain.Asset{}, fmt.Errorf("%q is no token that we list: describe it as network:CODE:contract:decimals:RATE", text)
	}
	i := slices.IndexFunc(ethereum.Networks, func(p ethereum.Params) bool { return string(p.ID) == fields[0] })
	if len(fields) != 5 || i < 0 {
		return chain.Asset{}, fmt.Errorf("%q is not like base:CODE:0x…:6:USDC", text)
	}
	contract, err := keys.ParseEthereumAddress(fields[2])
	decimals, numberErr := strconv.ParseUint(fields[3], 10, 8)
	switch {
	case err != nil:
		return chain.Asset{}, fmt.Errorf("%q: %w", text, err)
	case numberErr != nil || decimals > 24:
		return chain.Asset{}, fmt.Errorf("%q: %q is no number of decimals", text, fields[3])
	case !isCode(fields[1]) || !isCode(fields[4]):
		return chain.Asset{}, fmt.Errorf("%q: a code is 2 to 20 capital letters, digits and hyphens", text)
	}
	return ethereum.Networks[i].Token(fields[1], contract, money.Currency{Code: fields[4], Decimals: int32(decimals)}), nil
}

func isCode(text string) bool {
	odd := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' }
	return len(text) >= 2 && len(text) <= 20 && !strings.ContainsFunc(text, odd)
}

// probeDetails queries a network's source once and returns the findings about its parts.
func probeDetails(ctx context.Context, l live) ([]Finding, error) {
	err := probe(ctx, l)
	if l.details == nil {
		return nil, err
	}
	return l.details(), err
}
