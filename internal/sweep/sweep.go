// Package sweep lists the holdings of the addresses of former payments, so that the merchant can collect them.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/networks"
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

// Storage reads wallets and the indexes of their addresses.
type Storage interface {
	AllWallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error)
	NextIndex(ctx context.Context, counter string) (uint32, error)
}

// Holdings lists the holdings of all addresses that were issued from a merchant's wallets on an EVM
// network, including former wallets, so that the merchant can collect them with the wallets' seeds.
func Holdings(ctx context.Context, storage Storage, c config.Config, merchantID string, network chain.ID, now func() time.Time) ([]Holding, error) {
	e, setting, err := watchedEVM(c, network, now)
	if err != nil {
		return nil, err
	}
	if !e.Quorum.QueryableByAddress() {
		return nil, fmt.Errorf("%s: no endpoint may be queried by address for balances: %s", network, networks.Remedies(setting))
	}
	wallets, err := storage.AllWallets(ctx, merchantID, merchant.Live)
	if err != nil {
		return nil, err
	}
	wallets = ethWallets(wallets)
	if len(wallets) == 0 {
		return nil, errors.New("there is no ETH wallet yet")
	}
	best, err := e.Quorum.Best(ctx)
	if err != nil {
		return nil, err
	}
	found := []Holding{}
	for _, w := range wallets {
		key, err := keys.Load(w.Key)
		if err != nil {
			return nil, fmt.Errorf("wallet %s: %w", w.ID, err)
		}
		next, err := storage.NextIndex(ctx, w.Counter)
		if err != nil {
			return nil, err
		}
		for first := uint32(0); first < next; first += balanceBatch {
			batch, err := holdings(ctx, e, best.Header, key, first, min(first+balanceBatch, next))
			if err != nil {
				return nil, err
			}
			for i := range batch {
				batch[i].Wallet = w.ID
			}
			found = append(found, batch...)
		}
	}
	return found, nil
}

// ethWallets returns the wallets whose addresses may hold assets on EVM networks, including former
// ones. Of several wallets with the same addresses it returns the newest.
func ethWallets(wallets []merchant.Wallet) (list []merchant.Wallet) {
	for i, w := range wallets {
		same := func(o merchant.Wallet) bool { return o.Asset == w.Asset && o.Counter == w.Counter }
		if w.Asset == string(keys.ETH) && !slices.ContainsFunc(wallets[i+1:], same) {
			list = append(list, w)
		}
	}
	return list
}

// watchedEVM returns a network that is watched through endpoints, and the name of its setting.
func watchedEVM(c config.Config, network chain.ID, now func() time.Time) (networks.EVM, string, error) {
	all, err := networks.New(c, now, slog.New(slog.DiscardHandler))
	if err != nil {
		return networks.EVM{}, "", err
	}
	var known []string
	for _, n := range all {
		e, watched := n.Network.(networks.EVM)
		if watched && n.ID() == network {
			return e, n.Setting, nil
		}
		if watched {
			known = append(known, string(n.ID()))
		}
	}
	return networks.EVM{}, "", fmt.Errorf("%q is not a watched EVM network; the watched EVM networks are %q", network, known)
}

// holdings returns the holdings of the addresses at some indexes of a key, after a block.
func holdings(ctx context.Context, e networks.EVM, at ethereum.Header, key keys.Key, first, end uint32) ([]Holding, error) {
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
		minor, err := balances(ctx, e, at, asset, accounts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", asset.Code, err)
		}
		for i, n := range minor {
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

// balances returns the balances of accounts in an asset, in its smallest units.
func balances(ctx context.Context, e networks.EVM, at ethereum.Header, asset chain.Asset, accounts []keys.EthereumAddress) ([]*big.Int, error) {
	if asset.Policy.Balance {
		return e.Quorum.Balances(ctx, at, accounts)
	}
	contract, err := keys.ParseEthereumAddress(asset.Contract)
	if err != nil {
		return nil, err
	}
	return e.Quorum.Tokens(ctx, at, contract, accounts)
}
