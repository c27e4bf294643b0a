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

// accountRow holds the account columns of a destination: NULL if it has no account. An account is a
// destination of a network's native coin whose balance must be read.
type accountRow struct {
	birthHeight, height sql.Null[int64]
	hash                sql.Null[string] // packed since schema version 30
}

func newAccount(birthHeight int64, birth chain.Cursor) accountRow {
	return accountRow{
		birthHeight: sql.Null[int64]{V: birthHeight, Valid: true}, height: sql.Null[int64]{V: birth.Height, Valid: true},
		hash: sql.Null[string]{V: pack(birth.Hash), Valid: true},
	}
}

// account returns the account of a destination, nil if it has none.
func (r accountRow) account() (*watcher.Account, error) {
	if !r.birthHeight.Valid {
		return nil, nil
	}
	hash, err := unpack(r.hash.V)
	if err != nil {
		return nil, fmt.Errorf("account: birth: %w", err)
	}
	return &watcher.Account{Position: r.birthHeight.V, Birth: chain.Cursor{Height: r.height.V, Hash: hash}}, nil
}

// Rises implements watcher.Storage.
func (s *Storage) Rises(ctx context.Context, network chain.ID, scanned time.Time, add func(watcher.Rise)) error {
	_, err := answer(ctx, s.read, func(ctx context.Context, q querier) (struct{}, error) {
		return struct{}{}, visitRows(ctx, q, func(row scanner) error {
			r, err := readRise(row)
			if err == nil {
				add(r)
			}
			return err
		}, rises, string(network), scanned.UnixMilli())
	})
	if err != nil {
		return fmt.Errorf("rises on %s: %w", network, err)
	}
	return nil
}

// rises reads the observed rises of balances, whose transfers have IDs with this prefix, of the
// destinations that are still watched.
const rises = `
	SELECT t.id, t.tx, t.asset, t.script, t.amount, t.currency, t.decimals, t.presence, t.old, t.unsure,
		t.block_height, t.block_hash, t.block_time
	FROM transfers t
	JOIN destinations d ON d.network = t.network AND d.script = t.script AND d.invoice_id = t.invoice_id
	WHERE t.network = $1 AND t.id >= 'balance:' AND t.id < 'balance;' AND d.watch_until >= $2`

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
	Forks  [][2]blockRow    `json:"forks,omitempty"` // Left and At of invoice.Fork
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
