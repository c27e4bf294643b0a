package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/watcher"
)

// saveAccounts writes the invoice's accounts: destinations of a network's native coin whose balance
// must be read. An account that exists already stays unchanged.
func saveAccounts(ctx context.Context, q querier, inv *invoice.Invoice, position int64) error {
	for _, m := range inv.Methods {
		if !m.Watched || !m.Asset.Policy.Balance {
			continue
		}
		_, err := q.ExecContext(ctx, `
			INSERT INTO accounts (network, script, born, birth_height, birth_hash) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (network, script) DO NOTHING`,
			string(m.Asset.Network), m.Destination.Script, position, m.Birth.Height, m.Birth.Hash)
		if err != nil {
			return fmt.Errorf("write account on %s: %w", m.Asset.Network, err)
		}
	}
	return nil
}

// accountRow holds the account columns of a destination: NULL if it has no account.
type accountRow struct {
	born, height sql.Null[int64]
	hash         sql.Null[string]
}

func (r accountRow) account() *watcher.Account {
	if !r.born.Valid {
		return nil
	}
	return &watcher.Account{Born: r.born.V, Birth: chain.Cursor{Height: r.height.V, Hash: r.hash.V}}
}

// Rises implements watcher.Storage.
func (s *Storage) Rises(ctx context.Context, network chain.ID, scanned time.Time, add func(watcher.Rise)) error {
	_, err := answer(ctx, s.read, func(ctx context.Context, q querier) (struct{}, error) {
		return struct{}{}, each(ctx, q, func(row scanner) error {
			r, err := readRise(row)
			if err == nil {
				add(r)
			}
			return err
		}, `
			SELECT t.id, t.tx, t.asset, t.script, t.amount, t.currency, t.decimals, t.presence, t.old, t.unsure,
				t.block_height, t.block_hash, t.block_time
			FROM destinations d
			JOIN transfers t ON t.invoice_id = d.invoice_id AND t.network = d.network AND t.script = d.script
			WHERE d.network = $1 AND d.watch_until >= $2 AND t.id LIKE 'balance:%'`, string(network), scanned.UnixMilli())
	})
	if err != nil {
		return fmt.Errorf("rises on %s: %w", network, err)
	}
	return nil
}

func readRise(row scanner) (r watcher.Rise, err error) {
	var amount, presence, hash string
	var currency money.Currency
	var height, blockTime sql.Null[int64]
	t := &r.Transfer
	if err := row.Scan(&t.ID, &t.Tx, &t.Asset, &t.Script, &amount, &currency.Code, &currency.Decimals, &presence, &r.Old,
		&t.Unsure, &height, &hash, &blockTime); err != nil {
		return r, err
	}
	if t.Amount, err = parseAmount(amount, currency); err != nil {
		return r, err
	}
	if invoice.Presence(presence) == invoice.Present && height.Valid {
		t.Block = &chain.Block{Height: height.V, Hash: hash, Time: fromMillis(blockTime)}
	}
	return r, nil
}

// balancesRow is the JSON form of a network's last reading of balances, its newest known blocks,
// and the blocks that left the chain.
type balancesRow struct {
	Height int64            `json:"height"`
	Hash   string           `json:"hash"`
	Time   int64            `json:"time"` // seconds
	Loaded map[string]int64 `json:"loaded"`
	Recent []blockRow       `json:"recent,omitempty"`
	Forks  [][2]blockRow    `json:"forks,omitempty"` // left, at
}

// blockRow is a block.
type blockRow struct {
	Height int64  `json:"h"`
	Hash   string `json:"b"`
}

func (r blockRow) cursor() chain.Cursor { return chain.Cursor(r) }

// balancesText returns the text of a balancesRow, "" if it would be empty.
func balancesText(p invoice.Progress) string {
	r := balancesRow{Height: p.Read.Height, Hash: p.Read.Hash, Loaded: p.Loaded}
	if p.Read.Hash != "" {
		r.Time = p.Read.Time.Unix()
	}
	for _, b := range p.Recent {
		r.Recent = append(r.Recent, blockRow(b))
	}
	for _, f := range p.Forks {
		r.Forks = append(r.Forks, [2]blockRow{blockRow(f.Left), blockRow(f.At)})
	}
	if r.Hash == "" && len(r.Recent) == 0 {
		return ""
	}
	return jsonText(r)
}

func parseBalances(text string, p *invoice.Progress) error {
	if text == "" {
		return nil
	}
	var r balancesRow
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return fmt.Errorf("balances: %w", err)
	}
	if r.Hash != "" {
		p.Read, p.Loaded = chain.Block{Height: r.Height, Hash: r.Hash, Time: time.Unix(r.Time, 0).UTC()}, r.Loaded
	}
	for _, b := range r.Recent {
		p.Recent = append(p.Recent, b.cursor())
	}
	for _, f := range r.Forks {
		p.Forks = append(p.Forks, invoice.Fork{Left: f[0].cursor(), At: f[1].cursor()})
	}
	return nil
}
