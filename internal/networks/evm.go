package networks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/config"
	"chequer/internal/evm"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// EVM is an EVM network that is watched through several endpoints.
type EVM struct {
	*ethereum.Scanner
	Quorum *quorum.Quorum
}

// Reports returns the state of each endpoint.
func (e EVM) Reports() []quorum.Report { return e.Quorum.Reports() }

var _ chain.CoinReader = EVM{}

// coin returns the network's native coin.
func (e EVM) coin() (chain.Asset, bool) {
	for _, a := range e.Assets() {
		if a.Policy.Balance {
			return a, true
		}
	}
	return chain.Asset{}, false
}

// CoinTransfers implements chain.CoinReader. Enough operators must show each receipt and each block, which is read once.
func (e EVM) CoinTransfers(ctx context.Context, sent []chain.SentCoin) ([]chain.Transfer, error) {
	coin, exists := e.coin()
	if !exists || len(sent) == 0 {
		return nil, nil
	}
	best, err := e.Quorum.Best(ctx)
	if err != nil {
		return nil, err
	}
	hashes := make([]evm.Hash, len(sent))
	scripts := map[evm.Hash][]string{}
	for i, s := range sent {
		hash, _ := ethereum.ParseHash(s.Tx) // no transaction has the zero hash
		hashes[i] = evm.Hash(hash)
		scripts[hashes[i]] = append(scripts[hashes[i]], s.Script)
	}
	mined, err := e.Quorum.Mined(ctx, best.Height, slices.Compact(slices.SortedFunc(slices.Values(hashes), compareHashes)))
	if err != nil {
		return nil, err
	}
	byBlock := map[string][]chain.Transfer{}
	blocks := map[string]ethereum.Header{}
	for _, m := range mined {
		blocks[m.Block] = m.Header
		for _, script := range scripts[m.Tx] {
			t := chain.Transfer{ID: chain.CoinID(m.Tx.String()), Tx: m.Tx.String(), Asset: coin.Code, Script: script, Amount: money.Zero(coin.Currency), Block: &m.Header.Block}
			byBlock[m.Block] = append(byBlock[m.Block], t)
		}
	}
	var found []chain.Transfer
	var errs []error
	for hash, transfers := range byBlock {
		if err := e.addAmounts(ctx, blocks[hash], transfers); err != nil {
			errs = append(errs, err)
			continue
		}
		found = append(found, transfers...)
	}
	return found, errors.Join(errs...)
}

func compareHashes(a, b evm.Hash) int { return bytes.Compare(a[:], b[:]) }

// addAmounts sets the amounts of the transfers of the coin in a block. Failed transactions and those that do not themselves pay the
// script keep the amount zero.
func (e EVM) addAmounts(ctx context.Context, block ethereum.Header, transfers []chain.Transfer) error {
	accounts := make([]keys.EthereumAddress, len(transfers))
	for i, t := range transfers {
		var err error
		if accounts[i], err = keys.ParseEthereumAddress(t.Script); err != nil {
			return err
		}
	}
	payments, err := e.Quorum.Payments(ctx, block, accounts)
	if err != nil {
		return fmt.Errorf("read the payments of block %d: %w", block.Height, err)
	}
	for i := range transfers {
		t := &transfers[i]
		for _, p := range payments {
			if p.To == accounts[i] && p.Tx.String() == t.Tx {
				t.Amount = money.FromMinor(new(big.Int).SetBytes(p.Amount[:]), t.Amount.Currency())
			}
		}
	}
	return nil
}

// evmNetworks returns the EVM networks of the settings. A network that is off but offered by
// default is included without a source, so that it can be offered unwatched.
func evmNetworks(c config.Config, now func() time.Time, log *slog.Logger) ([]Network, error) {
	tokens, err := ethereum.ParseTokens(c.EVM.TokenList())
	if err != nil {
		return nil, fmt.Errorf("CHEQUER_EVM_TOKENS: %w", err)
	}
	var found []Network
	for _, params := range ethereum.Networks {
		mode, list := c.EVM.RPC(string(params.ID))
		setting := config.RPCSetting(string(params.ID))
		params = params.With(tokens[params.ID])
		if mode == config.RPCOff {
			if offered := params.ID == ethereum.Mainnet.ID || params.ID == ethereum.Base.ID; offered && !c.EVM.Testnet() {
				found = append(found, Network{Network: ethereum.New(params), Setting: setting})
			}
			continue
		}
		if mode == config.RPCPublic {
			list = nil
			for _, address := range params.Public {
				list = append(list, config.Endpoint{URL: address})
			}
		}
		n, err := watchEVM(c, params, list, now, log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		n.Setting = setting
		found = append(found, n)
	}
	return found, nil
}

// watchEVM returns a network that is watched through endpoints.
func watchEVM(c config.Config, params ethereum.Params, list []config.Endpoint, now func() time.Time, log *slog.Logger) (Network, error) {
	qc := quorum.Config{
		Network: params.ID, ChainID: params.ChainID, Tags: params.Tags, AddressQueries: bool(c.EVM.AddressQueries),
		Poll: pollInterval(params.BlockTime), Now: now, Chance: rand.Float64, Log: log,
	}
	for _, e := range list {
		qc.Endpoints = append(qc.Endpoints, quorum.Endpoint{URL: e.URL, Operator: e.Operator, Trusted: e.Trusted})
	}
	q, err := quorum.New(qc)
	if err != nil {
		return Network{}, err
	}
	scanner := ethereum.Watch(ethereum.New(params), q, now)
	scanner.OnTokenFault = func(fault ethereum.TokenFault) {
		log.Error("token left out", "network", params.ID, "asset", fault.Asset, "reason", fault.Text)
	}
	for _, fault := range scanner.TokenFaults() {
		if fault.Unreadable {
			log.Warn("token left out", "network", params.ID, "asset", fault.Asset, "reason", fault.Text)
		}
	}
	if len(scanner.Assets()) == 0 {
		return Network{}, errors.New("no token of this network is known: name one in CHEQUER_EVM_TOKENS; or for the network's native coin, " + Remedies("this setting"))
	}
	return Network{
		Network: EVM{scanner, q},
		Probe: func(ctx context.Context) error {
			err := q.Probe(ctx)
			if err == nil {
				_ = scanner.CheckTokens(ctx) // tokens that could not be checked stay unverified
			}
			return err
		},
	}, nil
}

// pollInterval returns the interval at which a network's newest block is requested: half of the block
// time, within one and four seconds, so that free endpoints are not overloaded. The watcher scans
// every second. The interval is 200 ms less than whole seconds, so that it has passed at the time of
// a scan.
func pollInterval(blockTime time.Duration) time.Duration {
	return min(max(blockTime/2, time.Second), 4*time.Second) - 200*time.Millisecond
}
