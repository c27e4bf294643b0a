package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// network is a simulated network with its watcher, which observes every action immediately.
type network struct {
	id      chain.ID
	assets  []chain.Asset
	bridged []chain.Asset
	now     func() time.Time
	fixture *fixture

	mu        sync.Mutex
	unwatched bool   // the watcher observes nothing
	paid      func() // called after each payment, instead of an observation; nil for an observation at once
	payError  error  // of Pay; nil if it succeeds
	sequence  int64
	tip       int64
	transfers []chain.Transfer
	actions   []string
}

var _ interface {
	chain.Scanner
	chain.AddressReader
	chain.Bridged
} = (*network)(nil)

func (n *network) ID() chain.ID           { return n.id }
func (n *network) Assets() []chain.Asset  { return n.assets }
func (n *network) Bridged() []chain.Asset { return n.bridged }

func (n *network) NewDestination(r chain.Request) (chain.Destination, error) {
	return chain.Destination{
		Address: fmt.Sprintf("%s-address-%d", r.Key, r.Index), Script: fmt.Sprintf("%s-script-%d", r.Key, r.Index),
	}, nil
}

// ReadAddress accepts the network's own addresses and those of the test networks.
func (n *network) ReadAddress(asset, text string) (chain.Destination, error) {
	if script := strings.Replace(text, "-address-", "-script-", 1); script != text {
		return chain.Destination{Address: text, Script: script}, nil
	}
	assets := slices.Concat(n.assets, n.bridged)
	i := slices.IndexFunc(assets, func(a chain.Asset) bool { return a.Code == asset })
	address, script, err := keys.ParseAddress(text, keys.Kind(assets[i].Wallet), keys.Test)
	return chain.Destination{Address: address, Script: script}, err
}

func (n *network) Scan(context.Context, chain.Cursor, chain.Watched) (chain.Snapshot, error) {
	panic("Scan is not used: the tests call observe")
}

// start starts the network with a tip at height 100.
func (n *network) start(f *fixture) {
	n.fixture, n.tip = f, 100
	f.storage.SaveProgress(n.id, invoice.Progress{
		Tip: chain.Cursor{Height: 100, Hash: "b100"}, Scanned: n.now(),
	})
}

func (n *network) Pay(ctx context.Context, asset chain.Asset, script string, amount money.Amount) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.payError != nil {
		return "", n.payError
	}
	tx := fmt.Sprintf("tx%d", len(n.transfers)+1)
	n.actions = append(n.actions, fmt.Sprintf("pay %s %s to %s", amount, asset.Code, script))
	n.transfers = append(n.transfers, chain.Transfer{
		ID: tx + ":0", Tx: tx, Asset: asset.Code, Script: script, Amount: amount, Spends: []string{"in" + tx + ":0"},
		FirstSeen: n.now(),
	})
	if n.paid != nil {
		n.paid()
		return tx, nil
	}
	return tx, n.observe(ctx)
}

func (n *network) Confirm(ctx context.Context, txs []string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.actions = append(n.actions, fmt.Sprintf("confirm %v", txs))
	n.tip++
	for i := range n.transfers {
		if t := &n.transfers[i]; slices.Contains(txs, t.Tx) && t.Block == nil {
			t.Block = &chain.Block{Height: n.tip, Hash: fmt.Sprintf("b%d", n.tip), Time: n.now()}
		}
	}
	return n.observe(ctx)
}

func (n *network) Replace(ctx context.Context, tx string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.actions = append(n.actions, "replace "+tx)
	before := len(n.transfers)
	n.transfers = slices.DeleteFunc(n.transfers, func(t chain.Transfer) bool { return t.Tx == tx })
	if len(n.transfers) == before {
		return simnet.ErrUnknownTx
	}
	return n.observe(ctx)
}

func (n *network) Reorganise(ctx context.Context, txs []string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.actions = append(n.actions, fmt.Sprintf("reorganise %v", txs))
	for i := range n.transfers {
		if slices.Contains(txs, n.transfers[i].Tx) {
			n.transfers[i].Block = nil
		}
	}
	return n.observe(ctx)
}

// observe passes the network's current transfers to the service.
func (n *network) observe(ctx context.Context) error {
	if n.unwatched {
		return nil
	}
	n.sequence++
	started := n.now()
	snapshot := chain.Snapshot{
		Started: started, From: chain.Cursor{Height: 90, Hash: "b90"},
		Tip:         chain.Block{Height: n.tip, Hash: fmt.Sprintf("b%d", n.tip), Time: started},
		Unconfirmed: chain.Complete, Transfers: slices.Clone(n.transfers),
	}
	lease := invoice.Lease{Network: n.id, Epoch: 1, Sequence: n.sequence}
	reached := invoice.Progress{
		Tip: snapshot.Tip.Cursor(), Scanned: started, Sequence: n.sequence,
	}
	if err := n.fixture.invoices.Observe(ctx, lease, snapshot, reached, n.fixture.storage.Owner); err != nil {
		return err
	}
	n.fixture.storage.SaveProgress(n.id, reached)
	return nil
}

// takeActions returns the actions since its last call.
func (n *network) takeActions() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	actions := n.actions
	n.actions = nil
	return actions
}
