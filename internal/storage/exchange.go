package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/sale"
	"chequer/internal/seal"
	"chequer/internal/storage/engine"
)

// exchangeRow is an exchange account as stored in columns.
type exchangeRow struct {
	id, merchantID, exchange string
	key, secret              string // the secret is sealed
	coins, smallest          string
	slippage                 int64
	active                   bool
	createdAt                int64
	archivedAt               sql.Null[int64]
	mac                      string
}

// sealExchange returns the row of an account.
func sealExchange(box *seal.Box, a merchant.ExchangeAccount) exchangeRow {
	r := exchangeRow{
		id: a.ID, merchantID: a.MerchantID, exchange: a.Exchange, key: a.Key, secret: box.Seal(exchangeSecretPurpose(a.ID), []byte(a.Secret)),
		coins: listText(a.Coins), smallest: a.Smallest, slippage: a.Slippage, active: a.Active,
		createdAt: a.CreatedAt.UnixMilli(), archivedAt: millis(a.ArchivedAt),
	}
	r.mac = box.MAC("exchange_accounts", r.fields()...)
	return r
}

// unseal verifies the row and decrypts its secret. It returns merchant.ErrTampered if the MAC is wrong.
func (r exchangeRow) unseal(box *seal.Box) (merchant.ExchangeAccount, error) {
	if !box.Check(r.mac, "exchange_accounts", r.fields()...) {
		return merchant.ExchangeAccount{}, fmt.Errorf("exchange account %s: %w", r.id, merchant.ErrTampered)
	}
	a := merchant.ExchangeAccount{
		ID: r.id, MerchantID: r.merchantID, Exchange: r.exchange, Key: r.key, Smallest: r.smallest, Slippage: r.slippage,
		Active: r.active, CreatedAt: utc(r.createdAt), ArchivedAt: fromMillis(r.archivedAt),
	}
	var err error
	if a.Coins, err = parseList[string](r.coins); err != nil {
		return a, fmt.Errorf("exchange account %s: coins: %w", r.id, err)
	}
	secret, err := box.Open(exchangeSecretPurpose(r.id), r.secret)
	if err != nil {
		return a, fmt.Errorf("exchange account %s: %w", r.id, err)
	}
	a.Secret = string(secret)
	return a, nil
}

// fields returns the fields that the row's MAC covers.
func (r exchangeRow) fields() []string {
	return []string{
		r.id, r.merchantID, r.exchange, r.key, r.secret, r.coins, r.smallest, strconv.FormatInt(r.slippage, 10), strconv.FormatBool(r.active),
		strconv.FormatInt(r.createdAt, 10), nullText(r.archivedAt),
	}
}

// exchangeSecretPurpose returns the purpose for which an account's secret is sealed.
func exchangeSecretPurpose(id string) string { return "exchange_accounts secret " + id }

// exchangeColumns are the columns that readExchangeRow reads.
const exchangeColumns = "id, merchant_id, exchange, key, secret, coins, smallest, slippage, active, created_at, archived_at, mac"

func readExchangeRow(row scanner) (r exchangeRow, err error) {
	err = row.Scan(&r.id, &r.merchantID, &r.exchange, &r.key, &r.secret, &r.coins, &r.smallest, &r.slippage, &r.active,
		&r.createdAt, &r.archivedAt, &r.mac)
	return r, err
}

// CreateExchangeAccount implements merchant.ExchangeStorage.
func (s *Storage) CreateExchangeAccount(ctx context.Context, a merchant.ExchangeAccount) error {
	r := sealExchange(s.box, a)
	return s.write(ctx, func(ctx context.Context, q querier) error {
		if err := s.lockMerchant(ctx, q, a.MerchantID); err != nil {
			return err
		}
		var count int
		err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM exchange_accounts WHERE merchant_id = $1 AND archived_at IS NULL", a.MerchantID).Scan(&count)
		if err != nil {
			return fmt.Errorf("count exchange accounts: %w", err)
		}
		if count > 0 {
			return merchant.ErrExists
		}
		_, err = q.ExecContext(ctx, `
			INSERT INTO exchange_accounts (
				id, merchant_id, exchange, key, secret, coins, smallest, slippage, active, created_at, archived_at, mac, claimed_until, nonce
			) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0, $13)`,
			r.id, r.merchantID, r.exchange, r.key, r.secret, r.coins, r.smallest, r.slippage, r.active, r.createdAt, r.archivedAt, r.mac,
			a.CreatedAt.UnixMicro()+noncesPerClaim) // the check of the key used nonces of that time

		if err != nil {
			return fmt.Errorf("write exchange account: %w", err)
		}
		return s.record(ctx, q, audit.Change{MerchantID: a.MerchantID, Action: "exchange_account.created", Subject: a.ID, After: exchangeFields(a)})
	})
}

// ExchangeAccount implements merchant.ExchangeStorage.
func (s *Storage) ExchangeAccount(ctx context.Context, merchantID string) (merchant.ExchangeAccount, error) {
	r, err := readOne(ctx, s, readExchangeRow, "SELECT "+exchangeColumns+" FROM exchange_accounts WHERE merchant_id = $1 AND archived_at IS NULL", merchantID)
	if err != nil {
		return merchant.ExchangeAccount{}, merchantNotFound(err, "read exchange account")
	}
	return r.unseal(s.box)
}

// UpdateExchangeAccount implements merchant.ExchangeStorage.
func (s *Storage) UpdateExchangeAccount(ctx context.Context, merchantID string, change func(*merchant.ExchangeAccount) error) (merchant.ExchangeAccount, error) {
	return answer(ctx, s.write, func(ctx context.Context, q querier) (merchant.ExchangeAccount, error) {
		before, err := readExchangeRow(q.QueryRowContext(ctx,
			"SELECT "+exchangeColumns+" FROM exchange_accounts WHERE merchant_id = $1 AND archived_at IS NULL"+s.engine.ForUpdate, merchantID))
		if err != nil {
			return merchant.ExchangeAccount{}, merchantNotFound(err, "read exchange account")
		}
		a, err := before.unseal(s.box)
		if err != nil {
			return a, err
		}
		entry := audit.Change{MerchantID: merchantID, Action: "exchange_account.changed", Subject: a.ID}
		fieldsBefore := exchangeFields(a)
		if err := change(&a); err != nil {
			return a, err
		}
		entry = entry.Diff(fieldsBefore, exchangeFields(a))
		if !a.ArchivedAt.IsZero() {
			entry.Action = "exchange_account.removed"
			if err := checkNotBusy(ctx, q, a); err != nil {
				return a, err
			}
		}
		r := sealExchange(s.box, a)
		_, err = q.ExecContext(ctx, `
			UPDATE exchange_accounts SET key = $2, secret = $3, coins = $4, smallest = $5, slippage = $6, active = $7, archived_at = $8, mac = $9
			WHERE id = $1`, r.id, r.key, r.secret, r.coins, r.smallest, r.slippage, r.active, r.archivedAt, r.mac)
		if err != nil {
			return a, fmt.Errorf("write exchange account: %w", err)
		}
		return a, s.record(ctx, q, entry)
	})
}

// checkNotBusy returns ErrBusy while the outcome of one of a merchant's orders is not known. Both the
// caller and ClaimSale lock the account's row.
func checkNotBusy(ctx context.Context, q querier, a merchant.ExchangeAccount) error {
	var claimed int64
	if err := q.QueryRowContext(ctx, "SELECT claimed_until FROM exchange_accounts WHERE id = $1", a.ID).Scan(&claimed); err != nil {
		return fmt.Errorf("read claim: %w", err)
	}
	rows, err := list(ctx, q, readSaleColumns,
		"SELECT "+saleColumns+" FROM conversions WHERE merchant_id = $1 AND state IN ('sending', 'failed')", a.MerchantID)
	if err != nil {
		return fmt.Errorf("read sales: %w", err)
	}
	for _, r := range rows {
		c, err := r.sale()
		if err != nil {
			return err
		}
		if c.OpenOrder() != nil {
			return merchant.ErrBusy
		}
	}
	if claimed > a.ArchivedAt.UnixMilli() {
		return merchant.ErrBusy // an order may be about to be written
	}
	return nil
}

// noncesPerClaim is the number of nonces that belong to one claim.
const noncesPerClaim = 1000

// ClaimSale implements sale.Storage.
func (s *Storage) ClaimSale(ctx context.Context, now, claimedUntil time.Time) (sale.Claim, error) {
	c, err := answer(ctx, s.write, func(ctx context.Context, q querier) (sale.Claim, error) {
		return s.claimSale(ctx, q, now, claimedUntil)
	})
	if err != nil && !errors.Is(err, sale.ErrNothing) && !errors.Is(err, merchant.ErrTampered) {
		err = fmt.Errorf("claim sale: %w", err)
	}
	return c, err
}

// claimable is the condition for a sale that is due. A sale with an order is due in every state of its
// invoice. A waiting sale is due if its merchant's account is active, its invoice is paid, and no other
// order for the coin has an unknown outcome, because the outcome is determined from the balance.
const claimable = `
	c.merchant_id = a.merchant_id AND c.next_at <= $1 AND (c.state = 'sending' OR a.active
		AND EXISTS (SELECT 1 FROM invoices i WHERE i.id = c.invoice_id AND i.status = 'paid')
		AND NOT EXISTS (SELECT 1 FROM conversions o WHERE o.merchant_id = c.merchant_id AND o.coin = c.coin AND o.next_at IS NOT NULL AND o.state = 'sending'))`

// maxClaimAccounts is the number of accounts that one claim reads.
const maxClaimAccounts = 50

// lockSellingAccount locks, of the accounts with a due sale, the account that was not used for the longest time. It
// passes over accounts that were tampered with: their errors are returned only if there is no other account.
func (s *Storage) lockSellingAccount(ctx context.Context, q querier, now time.Time) (merchant.ExchangeAccount, error) {
	ids, err := list(ctx, q, column[string], `
		SELECT a.id FROM exchange_accounts a
		WHERE a.archived_at IS NULL AND a.claimed_until <= $1 AND EXISTS (SELECT 1 FROM conversions c WHERE `+claimable+`)
		ORDER BY a.claimed_until, a.id LIMIT $2`+s.engine.SkipLocked, now.UnixMilli(), maxClaimAccounts)
	if err != nil {
		return merchant.ExchangeAccount{}, err
	}
	var tampered error
	for _, id := range ids {
		row, err := readExchangeRow(q.QueryRowContext(ctx, "SELECT "+exchangeColumns+" FROM exchange_accounts WHERE id = $1", id))
		if err != nil {
			return merchant.ExchangeAccount{}, err
		}
		a, err := row.unseal(s.box)
		if err == nil {
			return a, nil
		}
		tampered = errors.Join(tampered, err)
	}
	if tampered != nil {
		return merchant.ExchangeAccount{}, tampered
	}
	return merchant.ExchangeAccount{}, sale.ErrNothing
}

func (s *Storage) claimSale(ctx context.Context, q querier, now, claimedUntil time.Time) (c sale.Claim, err error) {
	c.Account, err = s.lockSellingAccount(ctx, q, now)
	if err != nil {
		return c, err
	}
	id := c.Account.ID
	var number int64
	err = q.QueryRowContext(ctx, `
		SELECT c.invoice_id, c.number, c.coin FROM conversions c JOIN exchange_accounts a ON a.id = $2 WHERE `+claimable+`
		ORDER BY c.next_at, c.invoice_id, c.number LIMIT 1`, now.UnixMilli(), id).Scan(&c.InvoiceID, &number, &c.Coin)
	if engine.Absent(err) {
		return c, sale.ErrNothing
	}
	if err != nil {
		return c, err
	}
	c.Until = claimedUntil
	err = q.QueryRowContext(ctx, `
		UPDATE exchange_accounts SET claimed_until = $2, nonce = CASE WHEN nonce + $4 > $3 THEN nonce + $4 ELSE $3 END
		WHERE id = $1 RETURNING nonce`, id, claimedUntil.UnixMilli(), now.UnixMicro(), noncesPerClaim).Scan(&c.Nonce)
	if err != nil {
		return c, err
	}
	// The invoice's row is locked first, as in every change of an invoice.
	_, err = q.ExecContext(ctx, "UPDATE invoices SET revision = revision + 1 WHERE id = $1", c.InvoiceID)
	if err != nil {
		return c, err
	}
	_, err = q.ExecContext(ctx, "UPDATE conversions SET claim = $3 WHERE invoice_id = $1 AND number = $2", c.InvoiceID, number, c.Nonce)
	return c, err
}

// ReleaseSale implements sale.Storage.
func (s *Storage) ReleaseSale(ctx context.Context, c sale.Claim) error {
	return s.change(ctx, "release sale", nil, "UPDATE exchange_accounts SET claimed_until = 0 WHERE id = $1 AND claimed_until = $2", c.Account.ID, c.Until.UnixMilli())
}

// NextNonce implements sale.AccountStorage.
func (s *Storage) NextNonce(ctx context.Context, accountID string, now time.Time) (nonce int64, err error) {
	return answer(ctx, s.write, func(ctx context.Context, q querier) (nonce int64, err error) {
		err = q.QueryRowContext(ctx, `
			UPDATE exchange_accounts SET nonce = CASE WHEN nonce + $3 > $2 THEN nonce + $3 ELSE $2 END
			WHERE id = $1 RETURNING nonce`, accountID, now.UnixMicro(), noncesPerClaim).Scan(&nonce)
		return nonce, merchantNotFound(err, "take nonces of an exchange account")
	})
}

// SaleCounts returns the number of all sales in each state.
func (s *Storage) SaleCounts(ctx context.Context) (map[invoice.SaleState]int, error) {
	return s.saleCounts(ctx, "SELECT state, COUNT(*) FROM conversions GROUP BY state")
}

// SaleCountsOf returns the number of a merchant's sales in each state.
func (s *Storage) SaleCountsOf(ctx context.Context, merchantID string) (map[invoice.SaleState]int, error) {
	return s.saleCounts(ctx, "SELECT state, COUNT(*) FROM conversions WHERE merchant_id = $1 GROUP BY state", merchantID)
}

// saleCounts returns the number of sales in each state, which a query returns.
func (s *Storage) saleCounts(ctx context.Context, query string, args ...any) (map[invoice.SaleState]int, error) {
	type row struct {
		state string
		n     int
	}
	rows, err := readAll(ctx, s, "count sales", func(r scanner) (x row, err error) {
		err = r.Scan(&x.state, &x.n)
		return x, err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	counts := map[invoice.SaleState]int{}
	for _, r := range rows {
		counts[invoice.SaleState(r.state)] = r.n
	}
	return counts, nil
}
