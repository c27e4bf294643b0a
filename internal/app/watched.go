package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/format"
	"chequer/internal/invoice"
	"chequer/internal/networks"
)

// checkStillWatched returns an error if open invoices wait for payments that are no longer watched with
// the current settings: on an unwatched network, in a network's native coin whose balances cannot be
// read, or in a token that is no longer configured.
func (c *Core) checkStillWatched(ctx context.Context, all []networks.Network) error {
	waiting := newUnwatched(all)
	if err := c.Storage.OpenMethods(ctx, waiting.add); err != nil {
		return err
	}
	findings := waiting.findings()
	if len(findings) == 0 {
		return nil
	}
	return errors.New("open invoices wait for payments that would no longer be watched: " + strings.Join(findings, ", ") +
		": switch them on again until these invoices are paid or expired, or set CHEQUER_UNWATCHED=on to let the invoices expire unwatched")
}

// unwatched counts the open invoices that wait for payments which are no longer watched.
type unwatched struct {
	// assets has, by watched network, a function that reports whether an asset is watched.
	assets map[chain.ID]func(chain.Asset) bool
	// counts has the number of invoices by network and asset. The asset is "" if the network is not watched.
	counts map[chain.ID]map[string]int
}

func newUnwatched(all []networks.Network) *unwatched {
	u := &unwatched{assets: map[chain.ID]func(chain.Asset) bool{}, counts: map[chain.ID]map[string]int{}}
	for _, n := range all {
		if n.Watched() {
			u.assets[n.ID()] = watchedAssets(n)
		}
	}
	return u
}

// watchedAssets returns a function that reports whether a watched network watches an asset.
func watchedAssets(n networks.Network) func(chain.Asset) bool {
	balances := slices.ContainsFunc(n.Assets(), func(a chain.Asset) bool { return a.Policy.Balance })
	e, isEVM := n.Network.(networks.EVM)
	if !isEVM {
		return func(a chain.Asset) bool { return balances || !a.Policy.Balance }
	}
	tokens := e.WatchedCodes()
	return func(a chain.Asset) bool {
		if a.Policy.Balance {
			return balances
		}
		return slices.Contains(tokens, a.Code)
	}
}

// add counts an open invoice with the given methods, once for each network that is not watched and
// once for each asset that is not watched on a watched network.
func (u *unwatched) add(methods []invoice.Method) {
	type key struct {
		network chain.ID
		asset   string
	}
	counted := map[key]bool{}
	for _, m := range methods {
		if !m.Watched || m.Asset.Requested() { // connections follow storage, and no setting switches them off
			continue
		}
		k := key{network: m.Asset.Network}
		if isWatched, scanned := u.assets[k.network]; scanned {
			if isWatched(m.Asset) {
				continue
			}
			k.asset = m.Asset.Code
			if m.Asset.Policy.Balance {
				k.asset = nativeCoin
			}
		}
		if counted[k] {
			continue
		}
		counted[k] = true
		if u.counts[k.network] == nil {
			u.counts[k.network] = map[string]int{}
		}
		u.counts[k.network][k.asset]++
	}
}

// nativeCoin is the asset of a network's native coin in counts. No asset has this code.
const nativeCoin = "its native coin"

// findings describes the counts, sorted by network and asset.
func (u *unwatched) findings() (all []string) {
	for _, network := range slices.Sorted(maps.Keys(u.counts)) {
		for _, asset := range slices.Sorted(maps.Keys(u.counts[network])) {
			count := format.Plural(u.counts[network][asset], "open invoice")
			if asset == "" {
				all = append(all, fmt.Sprintf("%s (%s)", network, count))
			} else {
				all = append(all, fmt.Sprintf("%s in %s (%s)", network, asset, count))
			}
		}
	}
	return all
}
