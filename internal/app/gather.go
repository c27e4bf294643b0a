package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// Holding is the amount of one asset at an address of a wallet.
type Holding struct {
	Index    uint32 `json:"index"`
	Path     string `json:"path"`
	Address  string `json:"address"`
	Asset    string `json:"asset"`
	Contract string `json:"contract,omitempty"`
	Amount   string `json:"amount"`
	Wallet   string `json:"wallet"` // identifier of the wallet to which the path belongs
}

// balanceBatch is the number of addresses that are read in one request.
const balanceBatch = 1000

// remedies describes how endpoints can be allowed to read balances, and what they learn from it.
func remedies(setting string) string {
	return "name a node of your own in " + setting + " as trusted:http://…, or set " + addressQueries + "=on, which lets public endpoints learn " + addressPrice
}

// Gather lists the holdings of all addresses that were issued from a merchant's wallets on an EVM
// network, including former wallets, so that the merchant can collect them with the wallets' seeds.
func (c *Core) Gather(ctx context.Context, cfg config.Config, merchantID string, network chain.ID) ([]Holding, error) {
	e, setting, err := watchedEVM(cfg, network)
	if err != nil {
		return nil, err
	}
	if !e.quorum.MayAsk() {
		return nil, fmt.Errorf("%s: no endpoint may be queried for the balances of addresses: %s", network, remedies(setting))
	}
	wallets, err := c.Storage.AllWallets(ctx, merchantID, merchant.Live)
	if err != nil {
		return nil, err
	}
	wallets = gathered(wallets)
	if len(wallets) == 0 {
		return nil, errors.New("there is no ETH wallet yet")
	}
	best, err := e.quorum.Best(ctx)
	if err != nil {
		return nil, err
	}
	holdings := []Holding{}
	for _, w := range wallets {
		key, err := keys.Load(w.Key)
		if err != nil {
			return nil, fmt.Errorf("wallet %s: %w", w.ID, err)
		}
		next, err := c.Storage.NextIndex(ctx, w.Counter)
		if err != nil {
			return nil, err
		}
		for first := uint32(0); first < next; first += balanceBatch {
			some, err := e.holdings(ctx, best.Header, key, first, min(first+balanceBatch, next))
			if err != nil {
				return nil, err
			}
			for i := range some {
				some[i].Wallet = w.ID
			}
			holdings = append(holdings, some...)
		}
	}
	return holdings, nil
}

// gathered returns the wallets whose addresses may hold assets on EVM networks, including former
// ones. Of several wallets with the same addresses it returns the newest.
func gathered(all []merchant.Wallet) (some []merchant.Wallet) {
	for i, w := range all {
		same := func(o merchant.Wallet) bool { return o.Asset == w.Asset && o.Counter == w.Counter }
		if w.Asset == string(keys.ETH) && !slices.ContainsFunc(all[i+1:], same) {
			some = append(some, w)
		}
	}
	return some
}

// watchedEVM returns a network that is watched through endpoints, and the name of its setting.
func watchedEVM(cfg config.Config, network chain.ID) (endpoints, string, error) {
	all, err := evmNetworks(cfg, now, slog.New(slog.DiscardHandler))
	if err != nil {
		return endpoints{}, "", err
	}
	var known []string
	for _, l := range all {
		e, watched := l.Network.(endpoints)
		if watched && l.ID() == network {
			return e, l.setting, nil
		}
		if watched {
			known = append(known, string(l.ID()))
		}
	}
	return endpoints{}, "", fmt.Errorf("%q is no EVM network that is watched: these are %q", network, known)
}

// holdings returns the holdings of the addresses at some indexes of a key, after a block.
func (e endpoints) holdings(ctx context.Context, at ethereum.Header, key keys.Key, first, end uint32) ([]Holding, error) {
	var texts []string
	var accounts []keys.EthereumAddress
	for i := first; i < end; i++ {
		text, script, err := key.Address(i)
		if err != nil {
			return nil, err
		}
		account, err := keys.ParseEthereumAddress(script)
		if err != nil {
			return nil, err
		}
		texts, accounts = append(texts, text), append(accounts, account)
	}
	var found []Holding
	for _, asset := range slices.Concat(e.Assets(), e.Bridged()) {
		amounts, err := e.amounts(ctx, at, asset, accounts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", asset.Code, err)
		}
		for i, n := range amounts {
			if n.Sign() == 0 {
				continue
			}
			index := first + uint32(i)
			found = append(found, Holding{
				Index: index, Path: key.Path(index), Address: texts[i], Asset: asset.Code, Contract: asset.Contract,
				Amount: money.FromMinor(n, asset.Currency).String(),
			})
		}
	}
	slices.SortStableFunc(found, func(a, b Holding) int { return int(a.Index) - int(b.Index) })
	return found, nil
}

// amounts returns the amounts of an asset in accounts, in its smallest units.
func (e endpoints) amounts(ctx context.Context, at ethereum.Header, asset chain.Asset, accounts []keys.EthereumAddress) ([]*big.Int, error) {
	if asset.Policy.Balance {
		return e.quorum.Balances(ctx, at, accounts)
	}
	contract, err := keys.ParseEthereumAddress(asset.Contract)
	if err != nil {
		return nil, err
	}
	return e.quorum.Tokens(ctx, at, contract, accounts)
}
