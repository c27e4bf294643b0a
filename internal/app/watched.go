package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/networks"
)

// checkStillWatched returns an error if open invoices wait for payments that are no longer watched with
// the current settings: on an unwatched network, in a network's own coin whose balances cannot be
// read, or in a token that is no longer configured.
func (c *Core) checkStillWatched(ctx context.Context, all []networks.Network) error {
	var watched, tokensOnly []chain.ID
	for _, n := range all {
		if !n.Watched() {
			continue
		}
		watched = append(watched, n.ID())
		if !slices.ContainsFunc(n.Assets(), func(a chain.Asset) bool { return a.Policy.Balance }) {
			tokensOnly = append(tokensOnly, n.ID())
		}
	}
	open, err := c.Storage.OpenWatched(ctx, watched)
	if err != nil {
		return err
	}
	coins, err := c.Storage.OpenBalances(ctx, tokensOnly)
	if err != nil {
		return err
	}
	var findings []string
	for _, network := range slices.Sorted(maps.Keys(open)) {
		findings = append(findings, fmt.Sprintf("%s (%s)", network, chain.Plural(open[network], "open invoice")))
	}
	for _, network := range slices.Sorted(maps.Keys(coins)) {
		findings = append(findings, fmt.Sprintf("%s in its own coin (%s)", network, chain.Plural(coins[network], "open invoice")))
	}
	tokens, err := c.openTokens(ctx, all)
	if err != nil {
		return err
	}
	if findings = append(findings, tokens...); len(findings) == 0 {
		return nil
	}
	return errors.New("open invoices wait for payments that would no longer be watched: " + strings.Join(findings, ", ") +
		": switch them on again until these are paid or expired, or set CHEQUER_UNWATCHED=on to let the clock decide")
}

// openTokens describes the tokens for which open invoices wait on watched networks but which are no
// longer watched, such as a token that was removed from the settings.
func (c *Core) openTokens(ctx context.Context, all []networks.Network) ([]string, error) {
	var findings []string
	for _, n := range all {
		e, isEVM := n.Network.(networks.EVM)
		if !isEVM {
			continue
		}
		watched := e.WatchedCodes()
		for _, a := range e.Params().Assets {
			if a.Policy.Balance { // reported by the check of balances
				watched = append(watched, a.Code)
			}
		}
		open, err := c.Storage.OpenAssets(ctx, n.ID(), watched)
		if err != nil {
			return nil, err
		}
		for _, code := range slices.Sorted(maps.Keys(open)) {
			findings = append(findings, fmt.Sprintf("%s in %s (%s)", n.ID(), code, chain.Plural(open[code], "open invoice")))
		}
	}
	return findings, nil
}
