package storage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/report"
)

// receivedSumRow identifies a row of received_sums.
type receivedSumRow struct {
	merchantID, counter, asset string
	currency                   money.Currency
}

// compare compares rows by their primary key.
func (r receivedSumRow) compare(o receivedSumRow) int {
	return cmp.Or(
		strings.Compare(r.merchantID, o.merchantID), strings.Compare(r.counter, o.counter), strings.Compare(r.asset, o.asset),
		strings.Compare(r.currency.Code, o.currency.Code), cmp.Compare(r.currency.Decimals, o.currency.Decimals))
}

// receivedSums are sums, or changes of sums, in the smallest units of the currencies.
type receivedSums map[receivedSumRow]*big.Int

// add adds a number, which may be negative, to a sum.
func (r receivedSums) add(row receivedSumRow, units *big.Int) {
	if r[row] == nil {
		r[row] = new(big.Int)
	}
	r[row].Add(r[row], units)
}

// drop deletes the sums that are zero.
func (r receivedSums) drop() {
	maps.DeleteFunc(r, func(_ receivedSumRow, units *big.Int) bool { return units.Sign() == 0 })
}

// save adds the changes to the stored sums, in the order of the primary key, so that transactions on PostgreSQL do not deadlock.
// It locks each row before it reads the sum, since SQL cannot add numbers of this size.
func (r receivedSums) save(ctx context.Context, q querier, forUpdate string) error {
	r.drop()
	for _, row := range slices.SortedFunc(maps.Keys(r), receivedSumRow.compare) {
		key := []any{row.merchantID, row.counter, row.asset, row.currency.Code, row.currency.Decimals}
		_, err := q.ExecContext(ctx, `
			INSERT INTO received_sums (merchant_id, counter, asset, currency, decimals, units) VALUES ($1, $2, $3, $4, $5, '0')
			ON CONFLICT DO NOTHING`, key...)
		if err != nil {
			return fmt.Errorf("write a received sum: %w", err)
		}
		const isRow = "WHERE merchant_id = $1 AND counter = $2 AND asset = $3 AND currency = $4 AND decimals = $5"
		sum, err := readSum(q.QueryRowContext(ctx, "SELECT units FROM received_sums "+isRow+forUpdate, key...))
		if err != nil {
			return fmt.Errorf("read a received sum: %w", err)
		}
		if _, err = q.ExecContext(ctx, "UPDATE received_sums SET units = $6 "+isRow, append(key, sum.Add(sum, r[row]).String())...); err != nil {
			return fmt.Errorf("write a received sum: %w", err)
		}
	}
	return nil
}

func readSum(row scanner) (*big.Int, error) {
	var text string
	if err := row.Scan(&text); err != nil {
		return nil, err
	}
	return parseSum(text)
}

// parseSum parses a stored sum.
func parseSum(text string) (*big.Int, error) {
	units, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, fmt.Errorf("the sum %q is not a number", text)
	}
	return units, nil
}

// receivedChange is a change of the sums by a change of the transfers of one live invoice.
type receivedChange struct {
	invoice retentionPosition
	sums    receivedSums
}

// receivedTransfer is a transfer that counts as received.
type receivedTransfer struct {
	network, script string
	index           uint32 // of the address under its key
	asset           string // code
	amount          money.Amount
}

// isReceived reports whether a transfer counts as received: whether it is as deep as its policy requires.
func (r transferRow) isReceived() bool {
	return r.presence == string(invoice.Present) && r.blockHeight.Valid && r.required > 0 && r.confirmations >= r.required
}

// receivedChange returns the change of the sums by a change of the transfers of an invoice. It reads the destinations of the
// invoice.
func (s *Storage) receivedChange(ctx context.Context, q querier, inv invoiceRow, before, after []transferRow) (c receivedChange, err error) {
	if inv.mode != string(invoice.Live) || slices.Equal(before, after) {
		return c, nil
	}
	type place struct {
		network, script, asset string
		currency               money.Currency
	}
	changes := map[place]*big.Int{}
	for _, side := range []struct {
		rows []transferRow
		sign int64
	}{{before, -1}, {after, 1}} {
		for _, r := range side.rows {
			if !r.isReceived() {
				continue
			}
			p := place{r.network, r.script, r.asset, money.Currency{Code: r.currency, Decimals: int32(r.decimals)}}
			amount, err := parseAmount(r.amount, p.currency)
			if err != nil {
				return c, fmt.Errorf("transfer %s: %w", r.id, err)
			}
			if changes[p] == nil {
				changes[p] = new(big.Int)
			}
			changes[p].Add(changes[p], new(big.Int).Mul(amount.Minor(), big.NewInt(side.sign)))
		}
	}
	maps.DeleteFunc(changes, func(_ place, units *big.Int) bool { return units.Sign() == 0 })
	if len(changes) == 0 {
		return c, nil
	}
	f, err := s.newKeyFinder(ctx, q, inv.merchantID)
	if err != nil {
		return c, err
	}
	c = receivedChange{retentionPosition{inv.createdAt, inv.id}, receivedSums{}}
	for p, units := range changes {
		indexes, err := list(ctx, q, column[uint32], "SELECT address_index FROM destinations WHERE script = $1 AND network = $2", p.script, p.network)
		if err != nil {
			return c, fmt.Errorf("read the index of a destination: %w", err)
		}
		for _, index := range indexes { // at most one
			if counter := f.find(p.network, p.script, index); counter != "" {
				c.sums.add(receivedSumRow{inv.merchantID, counter, p.asset, p.currency}, units)
			}
		}
	}
	return c, nil
}

// saveReceived changes the received sums of a merchant after changes of transfers, which must be written already. Like
// saveDaySums it locks the zone of the sums, so that fillReceived counts each invoice either before the changes or after them.
func (s *Storage) saveReceived(ctx context.Context, q querier, merchantID string, changes ...receivedChange) error {
	changes = slices.DeleteFunc(changes, func(c receivedChange) bool { return len(c.sums) == 0 })
	if len(changes) == 0 {
		return nil
	}
	z, err := s.lockSumZoneShared(ctx, q, merchantID)
	if err != nil {
		return err
	}
	all := receivedSums{}
	for _, c := range changes {
		if z.receivedUntil.compare(c.invoice) < 0 { // fillReceived adds the invoice later
			continue
		}
		for row, units := range c.sums {
			all.add(row, units)
		}
	}
	return all.save(ctx, q, s.engine.ForUpdate)
}

// allReceived is the position after all invoices.
var allReceived = retentionPosition{at: math.MaxInt64}

// compare compares positions.
func (p retentionPosition) compare(o retentionPosition) int {
	return cmp.Or(cmp.Compare(p.at, o.at), strings.Compare(p.id, o.id))
}

// restartReceived begins to compute the received sums of a merchant again, whose zone is locked.
func (s *Storage) restartReceived(ctx context.Context, q querier, z *sumZone) error {
	if _, err := q.ExecContext(ctx, "DELETE FROM received_sums WHERE merchant_id = $1", z.merchantID); err != nil {
		return fmt.Errorf("delete the received sums: %w", err)
	}
	z.receivedUntil = retentionPosition{}
	return z.save(ctx, q)
}

// receivedBatch is the number of invoices that one transaction adds to the received sums. It is smaller than sumBatch, since the
// derivation of their addresses takes longer, and other writes wait on SQLite.
const receivedBatch = 250

// fillReceived adds the transfers of the next invoices to the received sums of a merchant, whose zone is locked. done reports
// whether the sums then have all invoices.
func (s *Storage) fillReceived(ctx context.Context, q querier, z sumZone) (done bool, err error) {
	last, err := list(ctx, q, func(row scanner) (p retentionPosition, err error) {
		err = row.Scan(&p.at, &p.id)
		return p, err
	}, nthInvoice, z.merchantID, z.receivedUntil.at, z.receivedUntil.id, min(s.sumBatch, receivedBatch)-1)
	if err != nil {
		return false, fmt.Errorf("find invoices: %w", err)
	}
	until := allReceived
	if len(last) > 0 {
		until = last[0]
	}
	sums, err := s.sumReceived(ctx, q, z.merchantID, z.receivedUntil, until)
	if err != nil {
		return false, err
	}
	if err := sums.save(ctx, q, s.engine.ForUpdate); err != nil {
		return false, err
	}
	z.receivedUntil = until
	return until == allReceived, z.save(ctx, q)
}

// The statements of fillReceived.
const (
	nthInvoice = `
		SELECT created_at, id FROM invoices WHERE merchant_id = $1 AND mode = 'live' AND (created_at, id) > ($2, $3)
		ORDER BY created_at, id LIMIT 1 OFFSET $4`
	receivedTransfers = `
		SELECT t.network, t.script, d.address_index, t.asset, t.amount, t.currency, t.decimals
		FROM invoices i JOIN transfers t ON t.invoice_id = i.id JOIN destinations d ON d.script = t.script AND d.network = t.network
		WHERE i.merchant_id = $1 AND i.mode = 'live' AND (i.created_at, i.id) > ($2, $3) AND (i.created_at, i.id) <= ($4, $5)
			AND t.presence = 'present' AND t.block_height IS NOT NULL AND t.required > 0 AND t.confirmations >= t.required`
)

// sumReceived returns the sums of the invoices of a merchant after one position, up to another one.
func (s *Storage) sumReceived(ctx context.Context, q querier, merchantID string, after, until retentionPosition) (receivedSums, error) {
	f, err := s.newKeyFinder(ctx, q, merchantID)
	if err != nil {
		return nil, err
	}
	sums := receivedSums{}
	err = visitRows(ctx, q, func(row scanner) error {
		t, err := readReceived(row)
		if err != nil {
			return err
		}
		if counter := f.find(t.network, t.script, t.index); counter != "" {
			sums.add(receivedSumRow{merchantID, counter, t.asset, t.amount.Currency()}, t.amount.Minor())
		}
		return nil
	}, receivedTransfers, merchantID, after.at, after.id, until.at, until.id)
	if err != nil {
		return nil, fmt.Errorf("read received transfers: %w", err)
	}
	return sums, nil
}

func readReceived(row scanner) (t receivedTransfer, err error) {
	var amount string
	var currency money.Currency
	if err := row.Scan(&t.network, &t.script, &t.index, &t.asset, &amount, &currency.Code, &currency.Decimals); err != nil {
		return t, err
	}
	if t.amount, err = parseAmount(amount, currency); err != nil {
		return t, fmt.Errorf("transfer of %s to %s: %w", t.asset, t.script, err)
	}
	return t, nil
}

// Received returns what the keys of a merchant received.
func (s *Storage) Received(ctx context.Context, merchantID string) (report.Received, error) {
	received, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (r report.Received, err error) {
		z, err := readSumZone(ctx, q, merchantID, "")
		if err != nil || z.receivedUntil != allReceived {
			return r, err
		}
		sums, err := readReceivedSums(ctx, q, merchantID)
		if err != nil {
			return r, err
		}
		r = report.Received{Complete: true, ByKey: map[string][]report.ReceivedSum{}}
		for _, row := range slices.SortedFunc(maps.Keys(sums), receivedSumRow.compare) {
			if units := sums[row]; units.Sign() > 0 { // only a damaged database has negative sums
				r.ByKey[row.counter] = append(r.ByKey[row.counter], report.ReceivedSum{Asset: row.asset, Amount: money.FromMinor(units, row.currency)})
			}
		}
		return r, nil
	})
	if err != nil {
		return report.Received{}, fmt.Errorf("read the received sums of %s: %w", merchantID, err)
	}
	return received, nil
}

// selectReceived is the statement that reads the received sums of a merchant.
const selectReceived = "SELECT counter, asset, currency, decimals, units FROM received_sums WHERE merchant_id = $1"

// readReceivedSums returns the received sums of a merchant that are not zero.
func readReceivedSums(ctx context.Context, q querier, merchantID string) (receivedSums, error) {
	sums := receivedSums{}
	err := visitRows(ctx, q, func(row scanner) error {
		r, text := receivedSumRow{merchantID: merchantID}, ""
		if err := row.Scan(&r.counter, &r.asset, &r.currency.Code, &r.currency.Decimals, &text); err != nil {
			return err
		}
		units, err := parseSum(text)
		if err == nil {
			sums[r] = units
		}
		return err
	}, selectReceived, merchantID)
	sums.drop()
	return sums, err
}

// keyFinder finds the key of an address, or the connection of a payment request.
type keyFinder struct {
	keys []countedKey
	// connections has the counters of connections by their networks.
	connections map[string]string
}

// countedKey is a key with its counter.
type countedKey struct {
	counter string
	key     keys.Key
}

// newKeyFinder returns a new finder of the keys of a merchant's live wallets, also of former ones. It omits a wallet that cannot
// be read, since a payment must be stored nevertheless.
func (s *Storage) newKeyFinder(ctx context.Context, q querier, merchantID string) (*keyFinder, error) {
	rows, err := list(ctx, q, readWalletRow, allWallets, merchantID, string(merchant.Live))
	if err != nil {
		return nil, fmt.Errorf("read wallets: %w", err)
	}
	f := &keyFinder{connections: map[string]string{}}
	for _, r := range slices.Backward(rows) {
		if slices.ContainsFunc(f.keys, func(k countedKey) bool { return k.counter == r.counter }) {
			continue
		}
		w, err := r.unseal(s.box)
		if err != nil {
			s.log.ErrorContext(ctx, "received payments of a wallet not counted", "wallet", r.id, "error", err)
			continue
		}
		if w.IsConnection() {
			f.connections[string(chain.LightningID(w.ID))] = w.Counter
			continue
		}
		key, err := s.keys.Load(w.Derivation())
		if err != nil {
			s.log.ErrorContext(ctx, "received payments of a wallet not counted", "wallet", r.id, "error", err)
			continue
		}
		f.keys = append(f.keys, countedKey{w.Counter, key})
	}
	return f, nil
}

// find returns the counter of the connection with a network, or of the key whose address at an index has a script; "" if there
// is none. It begins with the key that it found last. The time of an invoice cannot replace the derivation, since a requote may
// use the key of a newer wallet.
func (f *keyFinder) find(network, script string, index uint32) string {
	if counter, found := f.connections[network]; found {
		return counter
	}
	for i, k := range f.keys {
		if _, derived, err := k.key.Address(index); err == nil && derived == script {
			f.keys[0], f.keys[i] = f.keys[i], f.keys[0]
			return k.counter
		}
	}
	return ""
}
