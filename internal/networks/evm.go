package networks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/config"
)

// EVM is an EVM network that is watched through several endpoints.
type EVM struct {
	*ethereum.Scanner
	Quorum *quorum.Quorum
}

// Reports returns the state of each endpoint.
func (e EVM) Reports() []quorum.Report { return e.Quorum.Reports() }

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
