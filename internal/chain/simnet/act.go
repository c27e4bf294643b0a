package simnet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Pay sends an amount to a script. The transaction is in the mempool. If the asset is Lightning, script is a payment
// request or its hash, the payment is final at once, and tx is the hash. Then the error is ErrUnpayable if the request
// cannot be paid, or not with the amount.
func (n *Network) Pay(ctx context.Context, asset chain.Asset, script string, amount money.Amount) (tx string, err error) {
	if asset.Requested() {
		return n.settle(ctx, asset, script, amount)
	}
	return n.Send(ctx, Tx{Outputs: []Output{OutputTo(asset, script, amount)}})
}

// OutputTo returns an output that pays a script.
func OutputTo(asset chain.Asset, script string, amount money.Amount) Output {
	return Output{Asset: asset.Code, Script: script, Units: amount.Minor().String()}
}

// Send puts a transaction into the mempool and returns its identifier. If it has no
// inputs, it gets a new one. It replaces conflicting transactions in the mempool. The error
// is ErrSpent if an input is already spent in a block. Payments by Lightning are made by Pay, and are refused.
func (n *Network) Send(ctx context.Context, tx Tx) (string, error) {
	if tx.isLightning() {
		return "", errors.New("simnet: send: a payment by Lightning is not a transaction")
	}
	tx.ID, tx.Height = randomHash(), waiting
	if len(tx.Spends) == 0 {
		tx.Spends = []string{randomHash() + ":0"}
	}
	err := n.update(ctx, func(c *Chain) error {
		tx.Seen = n.now()
		for i := range c.Txs {
			other := &c.Txs[i]
			if other.ReplacedBy != "" || !overlap(other.Spends, tx.Spends) {
				continue
			}
			if other.Height >= 0 {
				return fmt.Errorf("send: %w by %s", ErrSpent, other.ID)
			}
			other.ReplacedBy = tx.ID
		}
		c.Txs = append(c.Txs, tx)
		return nil
	})
	return tx.ID, err
}

// Replace double-spends a waiting transaction to a script outside simnet. The error for
// an unknown transaction is ErrUnknownTx, for a payment by Lightning ErrFinal.
func (n *Network) Replace(ctx context.Context, tx string) error {
	return n.update(ctx, func(c *Chain) error {
		i := c.index(tx)
		switch {
		case i >= 0 && c.Txs[i].isLightning():
			return ErrFinal
		case i < 0 || c.Txs[i].Height >= 0 || c.Txs[i].ReplacedBy != "":
			return ErrUnknownTx
		}
		other := Tx{ID: randomHash(), Height: waiting, Seen: n.now(), Spends: c.Txs[i].Spends}
		for _, out := range c.Txs[i].Outputs {
			other.Outputs = append(other.Outputs, Output{Asset: out.Asset, Script: outsideScript, Units: out.Units})
		}
		c.Txs[i].ReplacedBy = other.ID
		c.Txs = append(c.Txs, other)
		return nil
	})
}

// Confirm mines one block with the given waiting transactions and with every double spend
// that Replace made.
func (n *Network) Confirm(ctx context.Context, txs []string) error {
	return n.update(ctx, func(c *Chain) error {
		b := c.addBlock(n.now())
		for i := range c.Txs {
			t := &c.Txs[i]
			wanted := slices.Contains(txs, t.ID) || t.paysOutside()
			if wanted && t.Height < 0 && t.ReplacedBy == "" {
				t.Height = b.Height
			}
		}
		return nil
	})
}

// Reorganise replaces the lowest block that contains one of the transactions, and all later blocks, by
// a branch that is one block longer. The given transactions are unconfirmed again. All others are in
// the new blocks at the same heights. The error is ErrUnknownTx if none of the transactions is in a
// block, and ErrFinal if one of them is a payment by Lightning.
func (n *Network) Reorganise(ctx context.Context, txs []string) error {
	return n.update(ctx, func(c *Chain) error {
		lowest := int64(-1)
		for i := range c.Txs {
			t := &c.Txs[i]
			if !slices.Contains(txs, t.ID) || t.Height < 0 {
				continue
			}
			if t.isLightning() {
				return ErrFinal
			}
			if lowest < 0 || t.Height < lowest {
				lowest = t.Height
			}
			t.Height = waiting
		}
		if lowest < 0 {
			return ErrUnknownTx
		}
		for i := range c.Blocks {
			if b := &c.Blocks[i]; b.Height >= lowest {
				b.Hash = randomHash()
				b.Parent = c.hash(b.Height - 1)
			}
		}
		c.addBlock(n.now())
		return nil
	})
}

// Drop removes a waiting transaction, as a full mempool does. The error for an unknown
// transaction is ErrUnknownTx, for a payment by Lightning ErrFinal.
func (n *Network) Drop(ctx context.Context, tx string) error {
	return n.update(ctx, func(c *Chain) error {
		i := c.index(tx)
		switch {
		case i >= 0 && c.Txs[i].isLightning():
			return ErrFinal
		case i < 0 || c.Txs[i].Height >= 0:
			return ErrUnknownTx
		}
		c.Txs[i].ReplacedBy = noReplacement
		return nil
	})
}

// waiting is the height of a transaction in the mempool.
const waiting = -1

// noReplacement is the ReplacedBy of a transaction that was dropped.
const noReplacement = "nothing"

// outsideScript is a script that is not a destination.
const outsideScript = "elsewhere"

// paysOutside reports whether a transaction pays only to outsideScript.
func (t Tx) paysOutside() bool {
	return !slices.ContainsFunc(t.Outputs, func(o Output) bool { return o.Script != outsideScript })
}

// isLightning reports whether a transaction is a payment by Lightning.
func (t Tx) isLightning() bool {
	return slices.ContainsFunc(t.Outputs, func(o Output) bool {
		asset, _ := assetByCode(o.Asset)
		return asset.Requested()
	})
}

// update changes the newest part of the chain and sends a wake-up.
func (n *Network) update(ctx context.Context, change func(*Chain) error) error {
	return n.write(ctx, func(above int64) error {
		return n.storage.UpdateSimnet(ctx, above, func(c *Chain) error {
			c.begin(n.now())
			return change(c)
		})
	})
}

// write calls save with the height above which the chain may change, and sends a wake-up.
func (n *Network) write(ctx context.Context, save func(above int64) error) error {
	tip, err := n.storage.SimnetTip(ctx)
	if err != nil {
		return err
	}
	if err := save(tip - depth - 1); err != nil {
		return fmt.Errorf("simnet: %w", err)
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
	return nil
}

// begin adds the first block if there is none.
func (c *Chain) begin(now time.Time) {
	if len(c.Blocks) == 0 {
		c.Blocks = []Block{{Height: 0, Hash: randomHash(), Time: now}}
	}
}

// addBlock adds an empty block.
func (c *Chain) addBlock(now time.Time) Block {
	last := c.Blocks[len(c.Blocks)-1]
	b := Block{Height: last.Height + 1, Hash: randomHash(), Parent: last.Hash, Time: now}
	c.Blocks = append(c.Blocks, b)
	return b
}

// index returns the index of a transaction, −1 if it does not exist.
func (c *Chain) index(tx string) int {
	return slices.IndexFunc(c.Txs, func(t Tx) bool { return t.ID == tx })
}

// hash returns the hash of the block at a height, or "" if it is below the loaded part.
func (c *Chain) hash(height int64) string {
	for _, b := range c.Blocks {
		if b.Height == height {
			return b.Hash
		}
	}
	return ""
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(o string) bool { return slices.Contains(b, o) })
}
