package merchant

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/keys"
)

// EventWalletChanged is the type of the event that a wallet was added, replaced or
// removed. It is in the feed, and about no invoice.
const EventWalletChanged = "wallet.changed"

// Change says what happened to a wallet.
type Change string

// The changes of a wallet.
const (
	WalletAdded    Change = "added"    // where the asset had none
	WalletReplaced Change = "replaced" // by the wallet that the event is about
	WalletRemoved  Change = "removed"
)

// WalletChange is a change of a merchant's wallets, with its event.
type WalletChange struct {
	Change  Change
	Wallet  Wallet // that was added, or removed
	Former  Wallet // that it replaced; the zero Wallet if there was none
	At      time.Time
	EventID string
	Body    []byte // of the event
}

// WalletStorage keeps wallets. It is safe for concurrent use.
type WalletStorage interface {
	// CreateWallet writes a wallet, which takes the place of the merchant's older
	// one for the asset; ErrExists when it is the same key.
	CreateWallet(ctx context.Context, w Wallet) error
	// ChangeWallet locks a merchant's wallets, lets decide see the one in force of a mode
	// and asset, the zero Wallet if there is none, and writes the change that decide
	// returns, with its event, in one transaction. The wallet that was in force is
	// archived. The errors are ErrNotFound and those of decide.
	ChangeWallet(ctx context.Context, merchantID string, mode Mode, asset string, decide func(inForce Wallet) (WalletChange, error)) (WalletChange, error)
}

// WalletsConfig is what Wallets are made of.
type WalletsConfig struct {
	Storage WalletStorage
	// Encode makes the body of the event of a change.
	Encode func(WalletChange) []byte
	Now    func() time.Time
	// Token makes random letters and digits.
	Token func(length int) string
}

// Wallets changes where a merchant's money goes. It is safe for concurrent use.
type Wallets struct {
	storage WalletStorage
	encode  func(WalletChange) []byte
	now     func() time.Time
	token   func(length int) string
}

// NewWallets returns new Wallets.
func NewWallets(c WalletsConfig) *Wallets {
	return &Wallets{storage: c.Storage, encode: c.Encode, now: c.Now, token: c.Token}
}

// Add makes a public key the merchant's live wallet for its kind of asset; ErrExists if
// it is that already. The wallet that it replaces is kept: its addresses may hold money.
func (s *Wallets) Add(ctx context.Context, merchantID string, key keys.Key) (WalletChange, error) {
	w := s.newWallet(merchantID, Live, key)
	c, err := s.storage.ChangeWallet(ctx, merchantID, Live, w.Asset, func(inForce Wallet) (WalletChange, error) {
		switch inForce.Key {
		case w.Key:
			return WalletChange{}, ErrExists
		case "":
			return s.event(WalletChange{Change: WalletAdded, Wallet: w, At: w.CreatedAt}), nil
		}
		return s.event(WalletChange{Change: WalletReplaced, Wallet: w, Former: inForce, At: w.CreatedAt}), nil
	})
	if err != nil {
		return WalletChange{}, fmt.Errorf("add %s wallet: %w", w.Asset, err)
	}
	return c, nil
}

// AddTest adds a wallet of test invoices with its private key. There is no event: the
// program makes it, and it is paid nothing.
func (s *Wallets) AddTest(ctx context.Context, merchantID string, key keys.Key, secret string) error {
	w := s.newWallet(merchantID, Test, key)
	w.Secret = secret
	return s.storage.CreateWallet(ctx, w)
}

// Remove ends the merchant's live wallet for a kind of asset; ErrNotFound. Its
// invoices keep their addresses.
func (s *Wallets) Remove(ctx context.Context, merchantID string, kind keys.Kind) (WalletChange, error) {
	c, err := s.storage.ChangeWallet(ctx, merchantID, Live, string(kind), func(inForce Wallet) (WalletChange, error) {
		if inForce.ID == "" {
			return WalletChange{}, ErrNotFound
		}
		return s.event(WalletChange{Change: WalletRemoved, Wallet: inForce, At: s.now()}), nil
	})
	if err != nil {
		return WalletChange{}, fmt.Errorf("remove %s wallet: %w", kind, err)
	}
	return c, nil
}

func (s *Wallets) newWallet(merchantID string, mode Mode, key keys.Key) Wallet {
	return Wallet{
		ID: "wlt_" + s.token(16), MerchantID: merchantID, Mode: mode, Asset: string(key.Kind()),
		Key: key.String(), Counter: key.Fingerprint(), CreatedAt: s.now(),
	}
}

// event gives a change its event.
func (s *Wallets) event(c WalletChange) WalletChange {
	c.EventID = "evt_" + s.token(32)
	c.Body = s.encode(c)
	return c
}
