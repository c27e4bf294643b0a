package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"chequer/internal/chain/simnet"
)

// simnetBlock and simnetTx are rows of the simnet chain. They are comparable, so that rows without a change are not written.
type (
	simnetBlock struct {
		height       int64
		hash, parent string
		time         int64
	}
	simnetTx struct {
		id                          string
		seen, height                int64
		replacedBy, spends, outputs string
	}
)

// simnetOutput is an output within the row of its transaction.
type simnetOutput struct {
	Asset  string `json:"asset"`
	Script string `json:"script"`
	Units  string `json:"units"`
}

// simnetRows are the rows of a part of the chain.
type simnetRows struct {
	blocks []simnetBlock
	txs    []simnetTx
}

// SimnetChain implements simnet.Storage.
func (s *Storage) SimnetChain(ctx context.Context, above int64) (simnet.Chain, error) {
	c, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (simnet.Chain, error) {
		rows, err := readSimnet(ctx, q, above)
		if err != nil {
			return simnet.Chain{}, err
		}
		return rows.chain()
	})
	if err != nil {
		return simnet.Chain{}, fmt.Errorf("read simnet: %w", err)
	}
	return c, nil
}

// UpdateSimnet implements simnet.Storage.
func (s *Storage) UpdateSimnet(ctx context.Context, above int64, change func(*simnet.Chain) error) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		return s.updateSimnet(ctx, q, above, change)
	})
}

// updateSimnet is UpdateSimnet in a transaction. It takes the lock of lockSimnet.
func (s *Storage) updateSimnet(ctx context.Context, q querier, above int64, change func(*simnet.Chain) error) error {
	if err := s.lockSimnet(ctx, q); err != nil {
		return err
	}
	before, err := readSimnet(ctx, q, above)
	if err != nil {
		return fmt.Errorf("read simnet: %w", err)
	}
	c, err := before.chain()
	if err != nil {
		return fmt.Errorf("read simnet: %w", err)
	}
	if err := change(&c); err != nil {
		return err
	}
	if err := saveSimnet(ctx, q, before, simnetToRows(c)); err != nil {
		return fmt.Errorf("write simnet: %w", err)
	}
	return nil
}

// lockSimnet locks the chain and the states of the payment requests until the transaction ends. AddSimnetRequest, which only adds requests and
// deletes ended ones, does not take this lock.
func (s *Storage) lockSimnet(ctx context.Context, q querier) error {
	var locked string
	if err := q.QueryRowContext(ctx, "SELECT name FROM meta WHERE name = 'simnet'"+s.engine.ForUpdate).Scan(&locked); err != nil {
		return fmt.Errorf("lock simnet: %w", err)
	}
	return nil
}

// SimnetTip implements simnet.Storage.
func (s *Storage) SimnetTip(ctx context.Context) (int64, error) {
	height, err := readOne(ctx, s, column[int64], "SELECT COALESCE(MAX(height), -1) FROM simnet_blocks")
	if err != nil {
		return 0, fmt.Errorf("read simnet tip: %w", err)
	}
	return height, nil
}

func readSimnet(ctx context.Context, q querier, above int64) (rows simnetRows, err error) {
	rows.blocks, err = list(ctx, q, func(row scanner) (b simnetBlock, err error) {
		err = row.Scan(&b.height, &b.hash, &b.parent, &b.time)
		return b, err
	}, "SELECT height, hash, parent, time FROM simnet_blocks WHERE height > $1 ORDER BY height", above)
	if err != nil {
		return rows, err
	}
	rows.txs, err = list(ctx, q, func(row scanner) (t simnetTx, err error) {
		err = row.Scan(&t.id, &t.seen, &t.height, &t.replacedBy, &t.spends, &t.outputs)
		return t, err
	}, `
		SELECT id, seen, height, replaced_by, spends, outputs FROM simnet_txs
		WHERE height > $1 AND height >= 0 OR height < 0 AND replaced_by = ''
		ORDER BY seen, id`, above)
	return rows, err
}

// saveSimnet writes the differences between the rows before and after a change of a part of the chain.
func saveSimnet(ctx context.Context, q querier, before, after simnetRows) error {
	err := replace(before.blocks, after.blocks,
		func(b simnetBlock) int64 { return b.height },
		func(b simnetBlock) error { return b.save(ctx, q) },
		func(height int64) error {
			_, err := q.ExecContext(ctx, "DELETE FROM simnet_blocks WHERE height = $1", height)
			return err
		})
	if err != nil {
		return err
	}
	return replace(before.txs, after.txs,
		func(t simnetTx) string { return t.id },
		func(t simnetTx) error { return t.save(ctx, q) },
		func(id string) error {
			_, err := q.ExecContext(ctx, "DELETE FROM simnet_txs WHERE id = $1", id)
			return err
		})
}

// replace saves the rows that are new or changed, and deletes the rows that are missing in after.
func replace[R, K comparable](before, after []R, key func(R) K, save func(R) error, remove func(K) error) error {
	removed := map[K]R{}
	for _, r := range before {
		removed[key(r)] = r
	}
	for _, r := range after {
		old, known := removed[key(r)]
		delete(removed, key(r))
		if known && old == r {
			continue
		}
		if err := save(r); err != nil {
			return err
		}
	}
	for k := range removed {
		if err := remove(k); err != nil {
			return err
		}
	}
	return nil
}

func (b simnetBlock) save(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, `
		INSERT INTO simnet_blocks (height, hash, parent, time) VALUES ($1, $2, $3, $4)
		ON CONFLICT (height) DO UPDATE SET hash = excluded.hash, parent = excluded.parent, time = excluded.time`,
		b.height, b.hash, b.parent, b.time)
	return err
}

func (t simnetTx) save(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, `
		INSERT INTO simnet_txs (id, seen, height, replaced_by, spends, outputs) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO UPDATE SET
			seen = excluded.seen, height = excluded.height, replaced_by = excluded.replaced_by,
			spends = excluded.spends, outputs = excluded.outputs`,
		t.id, t.seen, t.height, t.replacedBy, t.spends, t.outputs)
	return err
}

func simnetToRows(c simnet.Chain) (rows simnetRows) {
	for _, b := range c.Blocks {
		rows.blocks = append(rows.blocks, simnetBlock{height: b.Height, hash: b.Hash, parent: b.Parent, time: b.Time.UnixMilli()})
	}
	for _, t := range c.Txs {
		var outputs []simnetOutput
		for _, o := range t.Outputs {
			outputs = append(outputs, simnetOutput(o))
		}
		rows.txs = append(rows.txs, simnetTx{
			id: t.ID, seen: t.Seen.UnixMilli(), height: t.Height, replacedBy: t.ReplacedBy,
			spends: listText(t.Spends), outputs: jsonText(outputs),
		})
	}
	return rows
}

func (rows simnetRows) chain() (simnet.Chain, error) {
	var c simnet.Chain
	for _, b := range rows.blocks {
		c.Blocks = append(c.Blocks, simnet.Block{Height: b.height, Hash: b.hash, Parent: b.parent, Time: utc(b.time)})
	}
	for _, r := range rows.txs {
		t := simnet.Tx{ID: r.id, Seen: utc(r.seen), Height: r.height, ReplacedBy: r.replacedBy}
		var outputs []simnetOutput
		if err := json.Unmarshal([]byte(r.outputs), &outputs); err != nil {
			return c, fmt.Errorf("outputs of %s: %w", r.id, err)
		}
		for _, o := range outputs {
			t.Outputs = append(t.Outputs, simnet.Output(o))
		}
		var err error
		if t.Spends, err = parseList[string](r.spends); err != nil {
			return c, fmt.Errorf("inputs of %s: %w", r.id, err)
		}
		c.Txs = append(c.Txs, t)
	}
	return c, nil
}
