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
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/seal"
	"chequer/internal/storage/engine"
)

// walletRow is a wallet as stored in columns.
type walletRow struct {
	id, merchantID, mode, asset, key, counter string

	secret     string // sealed, "" if there is none
	createdAt  int64
	archivedAt sql.Null[int64]
	mac        string
}

// sealWallet returns the row of a wallet.
func sealWallet(box *seal.Box, w merchant.Wallet) walletRow {
	r := walletRow{
		id: w.ID, merchantID: w.MerchantID, mode: string(w.Mode), asset: w.Asset, key: w.Key, counter: w.Counter,
		createdAt: w.CreatedAt.UnixMilli(),
	}
	if w.Secret != "" {
		r.secret = box.Seal(walletSecretPurpose(w.ID), []byte(w.Secret))
	}
	r.mac = box.MAC("wallets", r.fields()...)
	return r
}

// unseal verifies the row and decrypts its secret. It returns ErrTampered if the MAC is wrong.
func (r walletRow) unseal(box *seal.Box) (merchant.Wallet, error) {
	if !box.Check(r.mac, "wallets", r.fields()...) {
		return merchant.Wallet{}, fmt.Errorf("wallet %s: %w", r.id, merchant.ErrTampered)
	}
	w := merchant.Wallet{
		ID: r.id, MerchantID: r.merchantID, Mode: merchant.Mode(r.mode), Asset: r.asset, Key: r.key, Counter: r.counter,
		CreatedAt: utc(r.createdAt), ArchivedAt: fromMillis(r.archivedAt),
	}
	if r.secret == "" {
		return w, nil
	}
	secret, err := box.Open(walletSecretPurpose(r.id), r.secret)
	if err != nil {
		return merchant.Wallet{}, fmt.Errorf("wallet %s: %w", r.id, err)
	}
	w.Secret = string(secret)
	return w, nil
}

// fields returns the fields that the row's MAC covers.
func (r walletRow) fields() []string {
	return []string{
		r.id, r.merchantID, r.mode, r.asset, r.key, r.counter, r.secret,
		strconv.FormatInt(r.createdAt, 10), nullText(r.archivedAt),
	}
}

// CreateWallet implements merchant.WalletStorage.
func (s *Storage) CreateWallet(ctx context.Context, w merchant.Wallet) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		c, err := s.changeWallet(ctx, q, w.MerchantID, w.Mode, w.Asset, func(active merchant.Wallet) (merchant.WalletChange, error) {
			if active.Key == w.Key {
				return merchant.WalletChange{}, merchant.ErrExists
			}
			return merchant.WalletChange{Change: merchant.WalletAdded, Wallet: w, Former: active, At: w.CreatedAt}, nil
		})
		if err != nil {
			return err
		}
		return s.record(ctx, q, walletChange(c))
	})
}

// ChangeWallet implements merchant.WalletStorage. It locks the feed before the merchant, as CreateInvoice
// does, to avoid a deadlock.
func (s *Storage) ChangeWallet(ctx context.Context, merchantID string, mode merchant.Mode, asset string, decide func(active merchant.Wallet) (merchant.WalletChange, error)) (merchant.WalletChange, error) {
	return answer(ctx, s.write, func(ctx context.Context, q querier) (merchant.WalletChange, error) {
		position, err := takePositions(ctx, q, merchantID, 1)
		if err != nil {
			return merchant.WalletChange{}, err
		}
		c, err := s.changeWallet(ctx, q, merchantID, mode, asset, decide)
		if err != nil {
			return merchant.WalletChange{}, err
		}
		err = appendEvents(ctx, q, recordedEvents{
			merchantID: merchantID, mode: invoice.Mode(mode),
			events: []invoice.Event{{ID: c.EventID, Type: merchant.EventWalletChanged, CreatedAt: c.At, Body: c.Body}},
		}, position)
		if err != nil {
			return c, err
		}
		return c, s.record(ctx, q, walletChange(c))
	})
}

// walletChange returns the entry of the audit log about a change of a merchant's wallets.
func walletChange(c merchant.WalletChange) audit.Change {
	entry := audit.Change{
		MerchantID: c.Wallet.MerchantID, Action: "wallet." + string(c.Change), Subject: c.Wallet.ID,
		Before: walletFields(c.Former), After: walletFields(c.Wallet),
	}
	if c.Change == merchant.WalletRemoved {
		entry.Before, entry.After = entry.After, nil
	}
	return entry
}

// changeWallet writes the change of a merchant's wallet that decide returns. Former wallets
// are kept, because their invoices may still be paid.
func (s *Storage) changeWallet(ctx context.Context, q querier, merchantID string, mode merchant.Mode, asset string, decide func(active merchant.Wallet) (merchant.WalletChange, error)) (c merchant.WalletChange, err error) {
	if err := s.lockMerchant(ctx, q, merchantID); err != nil {
		return c, err
	}
	r, err := readWalletRow(q.QueryRowContext(ctx, `
		SELECT id, merchant_id, mode, asset, key, counter, secret, created_at, archived_at, mac
		FROM wallets WHERE merchant_id = $1 AND mode = $2 AND asset = $3 AND archived_at IS NULL`,
		merchantID, string(mode), asset))
	var active merchant.Wallet
	if err == nil {
		active, err = r.unseal(s.box)
	}
	if err != nil && !engine.Absent(err) {
		return c, fmt.Errorf("read wallet: %w", err)
	}
	if c, err = decide(active); err != nil {
		return c, err
	}
	if active.ID != "" {
		if err := s.archive(ctx, q, r, c.At); err != nil {
			return c, err
		}
	}
	if c.Wallet.ID == active.ID { // the wallet was removed
		return c, nil
	}
	if err := checkOtherShops(ctx, q, c.Wallet); err != nil {
		return c, err
	}
	if err := s.insertWallet(ctx, q, c.Wallet); err != nil {
		return c, err
	}
	return c, s.raiseNextIndex(ctx, q, c.Wallet.Counter, max(c.Start, keys.Kind(c.Wallet.Asset).FirstIndex()))
}

// checkOtherShops returns merchant.ErrOtherShop if another merchant has, or had, a wallet with the public key
// of a wallet. The lock makes a concurrent transaction of another merchant wait.
func checkOtherShops(ctx context.Context, q querier, w merchant.Wallet) error {
	if err := lockShops(ctx, q); err != nil {
		return err
	}
	var elsewhere bool
	err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM wallets WHERE counter = $1 AND merchant_id <> $2)", w.Counter, w.MerchantID).Scan(&elsewhere)
	if err != nil {
		return fmt.Errorf("look for the public key: %w", err)
	}
	if elsewhere {
		return merchant.ErrOtherShop
	}
	return nil
}

// insertWallet writes a wallet. It returns merchant.ErrExists if the merchant has an active wallet for the asset.
func (s *Storage) insertWallet(ctx context.Context, q querier, w merchant.Wallet) error {
	r := sealWallet(s.box, w)
	inserted, err := exec(ctx, q, `
		INSERT INTO wallets (id, merchant_id, mode, asset, key, counter, secret, created_at, mac)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
		r.id, r.merchantID, r.mode, r.asset, r.key, r.counter, r.secret, r.createdAt, r.mac)
	if err != nil {
		return fmt.Errorf("write wallet: %w", err)
	}
	if inserted == 0 {
		return merchant.ErrExists
	}
	return nil
}

// archive makes a wallet inactive. Its row is kept.
func (s *Storage) archive(ctx context.Context, q querier, r walletRow, at time.Time) error {
	r.archivedAt = millis(at)
	_, err := q.ExecContext(ctx, "UPDATE wallets SET archived_at = $2, mac = $3 WHERE id = $1",
		r.id, r.archivedAt, s.box.MAC("wallets", r.fields()...))
	if err != nil {
		return fmt.Errorf("archive wallet: %w", err)
	}
	return nil
}

// Wallets implements merchant.Storage. If a row was tampered with, the error names the wallet.
func (s *Storage) Wallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error) {
	return s.wallets(ctx, `
		SELECT id, merchant_id, mode, asset, key, counter, secret, created_at, archived_at, mac
		FROM wallets WHERE merchant_id = $1 AND mode = $2 AND archived_at IS NULL
		ORDER BY created_at, id`, merchantID, string(mode))
}

// AllWallets implements merchant.Storage.
func (s *Storage) AllWallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error) {
	return s.wallets(ctx, allWallets, merchantID, string(mode))
}

// allWallets is the statement that reads all wallets of a merchant in a mode.
const allWallets = `
	SELECT id, merchant_id, mode, asset, key, counter, secret, created_at, archived_at, mac
	FROM wallets WHERE merchant_id = $1 AND mode = $2 ORDER BY created_at, id`

// wallets returns the wallets that a statement selects.
func (s *Storage) wallets(ctx context.Context, statement string, args ...any) ([]merchant.Wallet, error) {
	rows, err := readAll(ctx, s, "read wallets", readWalletRow, statement, args...)
	if err != nil {
		return nil, err
	}
	return unsealAll(s.box, rows)
}

// connectionMargin is the time by which a removed connection is kept longer than its last payment request is looked up.
const connectionMargin = time.Hour

// Connections returns the live connections to Lightning wallets and nodes of all merchants, oldest first: those that are
// active, and former ones with payment requests that are still looked up. If rows were tampered with, it returns the
// others with an error that is merchant.ErrTampered and names the wallets.
func (s *Storage) Connections(ctx context.Context) ([]merchant.Wallet, error) {
	rows, err := readAll(ctx, s, "read connections", readWalletRow, selectConnections, connectionMargin.Milliseconds())
	if err != nil {
		return nil, err
	}
	var all []merchant.Wallet
	var errs []error
	for _, r := range rows {
		if w, err := r.unseal(s.box); err != nil {
			errs = append(errs, err)
		} else {
			all = append(all, w)
		}
	}
	return all, errors.Join(errs...)
}

// selectConnections is the statement that reads connections. Its conditions repeat those of the indexes wallets_connections
// and destinations_lightning, so that both are used.
const selectConnections = `
	SELECT w.id, w.merchant_id, w.mode, w.asset, w.key, w.counter, w.secret, w.created_at, w.archived_at, w.mac
	FROM wallets w WHERE w.mode = 'live' AND w.asset = 'BTC-LN' AND (w.archived_at IS NULL OR EXISTS (
		SELECT 1 FROM destinations d WHERE substr(d.network, 1, 10) = 'lightning-' AND d.network = 'lightning-' || w.id
			AND d.watch_until > COALESCE((SELECT n.scanned_at FROM networks n WHERE n.network = 'lightning-' || w.id), 0) - $1))
	ORDER BY w.created_at, w.id`

// WalletsOf returns the live wallets of all merchants for an asset, including former wallets, oldest first. If a row was
// tampered with, the error names the wallet.
func (s *Storage) WalletsOf(ctx context.Context, asset string) ([]merchant.Wallet, error) {
	return s.wallets(ctx, `
		SELECT id, merchant_id, mode, asset, key, counter, secret, created_at, archived_at, mac
		FROM wallets WHERE mode = 'live' AND asset = $1 ORDER BY created_at, id`, asset)
}

// HasWallet reports whether any merchant has or had a live wallet for an asset. Former wallets count,
// because their invoices may still be paid.
func (s *Storage) HasWallet(ctx context.Context, asset string) (bool, error) {
	found, err := readOne(ctx, s, column[bool], "SELECT EXISTS (SELECT 1 FROM wallets WHERE mode = 'live' AND asset = $1)", asset)
	if err != nil {
		return false, fmt.Errorf("look for a wallet: %w", err)
	}
	return found, nil
}

func readWalletRow(row scanner) (r walletRow, err error) {
	err = row.Scan(&r.id, &r.merchantID, &r.mode, &r.asset, &r.key, &r.counter, &r.secret, &r.createdAt, &r.archivedAt, &r.mac)
	return r, err
}

// walletSecretPurpose returns the purpose with which a wallet's secret is sealed; see seal.Box.
func walletSecretPurpose(id string) string { return "wallets secret " + id }
