// Package sweep lists the holdings of the addresses of former payments, and makes plans that move them to an address of the
// merchant. It has no keys: package sign signs a plan on another computer.
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
	"chequer/internal/evm"
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
	_, found, err := readHoldings(ctx, storage, c, merchantID, network, now)
	list := []Holding{}
	for _, h := range found {
		list = append(list, h.public())
	}
	return list, err
}

// readHoldings returns a network, and the holdings of a merchant there after the newest block.
func readHoldings(ctx context.Context, storage Storage, c config.Config, merchantID string, network chain.ID, now func() time.Time) (networks.EVM, []holding, error) {
	e, err := queryableEVM(c, network, now)
	if err != nil {
		return e, nil, err
	}
	wallets, err := issuedWallets(ctx, storage, merchantID)
	if err != nil {
		return e, nil, err
	}
	best, err := e.Quorum.Best(ctx)
	if err != nil {
		return e, nil, err
	}
	found, err := readWallets(ctx, e, best.Header, wallets)
	return e, found, err
}

// queryableEVM returns a watched network with an endpoint that may be queried by address.
func queryableEVM(c config.Config, network chain.ID, now func() time.Time) (networks.EVM, error) {
	e, setting, err := watchedEVM(c, network, now)
	if err == nil && !e.Quorum.QueryableByAddress() {
		err = fmt.Errorf("%s: no endpoint may be queried by address for balances: %s", network, networks.Remedies(setting))
	}
	return e, err
}

// issuedWallet is a wallet with its key, and the number of addresses that may have been issued from it.
type issuedWallet struct {
	id     string
	key    keys.Key
	issued uint32
}

// issuedWallets returns the wallets of a merchant whose addresses may hold assets on EVM networks.
func issuedWallets(ctx context.Context, storage Storage, merchantID string) ([]issuedWallet, error) {
	wallets, err := storage.AllWallets(ctx, merchantID, merchant.Live)
	if err != nil {
		return nil, err
	}
	var list []issuedWallet
	for _, w := range ethWallets(wallets) {
		key, err := keys.Load(w.Key)
		if err != nil {
			return nil, fmt.Errorf("wallet %s: %w", w.ID, err)
		}
		next, err := storage.NextIndex(ctx, w.Counter)
		if err != nil {
			return nil, err
		}
		list = append(list, issuedWallet{w.ID, key, next})
	}
	if len(list) == 0 {
		return nil, errors.New("there is no ETH wallet yet")
	}
	return list, nil
}

// readWallets returns the holdings of the addresses of wallets, after a block.
func readWallets(ctx context.Context, e networks.EVM, at ethereum.Header, wallets []issuedWallet) ([]holding, error) {
	var found []holding
	for _, w := range wallets {
		for first := uint32(0); first < w.issued; first += balanceBatch {
			batch, err := holdings(ctx, e, at, w.key, first, min(first+balanceBatch, w.issued))
			if err != nil {
				return nil, err
			}
			for i := range batch {
				batch[i].wallet = w.id
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
	all, err := networks.New(c, nil, now, slog.New(slog.DiscardHandler))
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

// holding is an amount of one asset at an address of a wallet.
type holding struct {
	wallet  string // ID
	index   uint32
	path    string // see keys.Key.Path
	address evm.Address
	asset   chain.Asset
	units   *big.Int // smallest units
}

// public returns the holding as it is listed.
func (h holding) public() Holding {
	return Holding{
		Index: h.index, Path: h.path, Address: h.address.String(), Asset: h.asset.Code, Contract: h.asset.Contract,
		Amount: money.FromMinor(h.units, h.asset.Currency).String(), Wallet: h.wallet,
	}
}

// holdings returns the holdings of the addresses at some indexes of a key, after a block.
func holdings(ctx context.Context, e networks.EVM, at ethereum.Header, key keys.Key, first, end uint32) ([]holding, error) {
	accounts, err := addresses(key, first, end)
	if err != nil {
		return nil, err
	}
	var found []holding
	for _, asset := range slices.Concat(e.Assets(), e.Bridged()) {
		units, err := balances(ctx, e, at, asset, accounts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", asset.Code, err)
		}
		for i, n := range units {
			if n.Sign() > 0 {
				index := first + uint32(i)
				found = append(found, holding{index: index, path: key.Path(index), address: accounts[i], asset: asset, units: n})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b holding) int { return int(a.index) - int(b.index) })
	return found, nil
}

// addresses returns the addresses at some indexes of a key.
func addresses(key keys.Key, first, end uint32) ([]evm.Address, error) {
	var accounts []evm.Address
	for i := first; i < end; i++ {
		_, script, err := key.Address(i)
		if err != nil {
			return nil, err
		}
		account, err := keys.ParseEthereumAddress(script)
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, account)
	}
	return accounts, nil
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
