package merchant

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"chequer/internal/keys"
)

// Wallet is a public key of a merchant from which destinations are derived.
type Wallet struct {
	ID         string
	MerchantID string
	Mode       Mode
	Asset      string // BTC, LTC, or ETH for all EVM networks
	Key        string // canonical public key, in the format of keys.Load
	Counter    string // name of the counter of address indexes: the fingerprint of the key, see keys.Key.Fingerprint
	// Secret is the private key of a test wallet, so that money sent to a test address by mistake
	// is not lost. It is sealed in storage. It is empty for live wallets: the server has no private
	// keys that can spend real money.
	Secret     string
	CreatedAt  time.Time
	ArchivedAt time.Time // time of its replacement or removal; zero while active
}

// EventWalletChanged is the type of the event for a wallet that was added, replaced or removed. It
// is in the feed, but has no invoice.
const EventWalletChanged = "wallet.changed"

// Change is the kind of a change of a wallet.
type Change string

// The kinds of changes of a wallet.
const (
	WalletAdded    Change = "added"    // the asset had no wallet
	WalletReplaced Change = "replaced" // WalletChange.Wallet replaced WalletChange.Former
	WalletRemoved  Change = "removed"
)

// Addition is a public key that a merchant adds as the live wallet for its kind of asset.
type Addition struct {
	Key keys.Key
	// Start is the lowest index of new addresses: the wallet has used those below for something else.
	Start uint32
	// Replaces is the ID of the active wallet that the key replaces; "" if there is none.
	Replaces string
}

// WalletChange is a change of a merchant's wallets, with its event.
type WalletChange struct {
	Change  Change
	Wallet  Wallet // wallet that was added or removed
	Former  Wallet // wallet that it replaced; the zero Wallet if none
	Start   uint32 // lowest index of new addresses
	At      time.Time
	EventID string
	Body    []byte // body of the event
}

// WalletStorage stores wallets. It is safe for concurrent use.
type WalletStorage interface {
	// CreateWallet writes a wallet, which replaces the merchant's active wallet for the asset. It returns
	// ErrExists if the active wallet has the same key, and ErrOtherShop if a wallet of another merchant has,
	// or had, the same counter.
	CreateWallet(ctx context.Context, w Wallet) error
	// ChangeWallet locks a merchant's wallets and calls decide with the active wallet of a mode
	// and asset, or with the zero Wallet if there is none. It writes the change that decide
	// returns, with its event, in the same transaction. The formerly active wallet is archived.
	// The errors are ErrNotFound, those of decide, and ErrOtherShop as for CreateWallet.
	ChangeWallet(ctx context.Context, merchantID string, mode Mode, asset string, decide func(active Wallet) (WalletChange, error)) (WalletChange, error)
}

// WalletsConfig configures Wallets.
type WalletsConfig struct {
	Storage WalletStorage
	// Encode returns the body of the event of a change.
	Encode func(WalletChange) []byte
	Now    func() time.Time
	// Token returns random letters and digits.
	Token func(length int) string
}

// Wallets manages the wallets of merchants. It is safe for concurrent use.
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

// Add makes a public key the merchant's live wallet for its kind of asset. The wallet that it replaces is
// kept, since its addresses may hold money. The errors are ErrExists if the active wallet has the same
// addresses, ErrStale if the ID of the active wallet is not a.Replaces, and ErrOtherShop.
func (s *Wallets) Add(ctx context.Context, merchantID string, a Addition) (WalletChange, error) {
	w := newWallet(merchantID, Live, a.Key, s.now(), s.token)
	c, err := s.storage.ChangeWallet(ctx, merchantID, Live, w.Asset, func(active Wallet) (WalletChange, error) {
		same, err := active.HasAddresses(a.Key)
		switch {
		case err != nil:
			return WalletChange{}, err
		case same:
			return WalletChange{}, ErrExists
		case active.ID != a.Replaces:
			return WalletChange{}, ErrStale
		}
		c := WalletChange{Change: WalletAdded, Wallet: w, Former: active, Start: a.Start, At: w.CreatedAt}
		if active.ID != "" {
			c.Change = WalletReplaced
		}
		return s.event(c), nil
	})
	if err != nil {
		return WalletChange{}, fmt.Errorf("add %s wallet: %w", w.Asset, err)
	}
	return c, nil
}

// HasAddresses reports whether a key has the addresses of the wallet, even if it is written differently.
func (w Wallet) HasAddresses(key keys.Key) (bool, error) {
	if w.Key == "" {
		return false, nil
	}
	stored, err := keys.Load(w.Key)
	if err != nil {
		return false, fmt.Errorf("wallet %s: %w", w.ID, err)
	}
	stored, err = stored.On(key.Network())
	return err == nil && stored.Same(key), nil // a key of another network has other addresses
}

// Remove archives the merchant's live wallet for a kind of asset. Its invoices keep their addresses. The
// error is ErrNotFound if there is none, or if id is not "" and differs from its ID.
func (s *Wallets) Remove(ctx context.Context, merchantID string, kind keys.Kind, id string) (WalletChange, error) {
	c, err := s.storage.ChangeWallet(ctx, merchantID, Live, string(kind), func(active Wallet) (WalletChange, error) {
		if active.ID == "" || id != "" && id != active.ID {
			return WalletChange{}, ErrNotFound
		}
		return s.event(WalletChange{Change: WalletRemoved, Wallet: active, At: s.now()}), nil
	})
	if err != nil {
		return WalletChange{}, fmt.Errorf("remove %s wallet: %w", kind, err)
	}
	return c, nil
}

// newWallet returns a wallet with a random ID.
func newWallet(merchantID string, mode Mode, key keys.Key, at time.Time, token func(int) string) Wallet {
	return Wallet{
		ID: "wlt_" + token(16), MerchantID: merchantID, Mode: mode, Asset: string(key.Kind()),
		Key: key.String(), Counter: key.Fingerprint(), CreatedAt: at,
	}
}

// event returns a change with its event.
func (s *Wallets) event(c WalletChange) WalletChange {
	c.EventID = "evt_" + s.token(32)
	c.Body = s.encode(c)
	return c
}

// testKinds are the kinds of wallets for test invoices.
var testKinds = []keys.Kind{keys.BTC, keys.LTC, keys.ETH}

// EnsureTestWallets creates the wallets of a merchant's test invoices that do not exist.
func (s *Service) EnsureTestWallets(ctx context.Context, merchantID string) error {
	existing, err := s.storage.Wallets(ctx, merchantID, Test)
	if err != nil {
		return fmt.Errorf("test wallets: %w", err)
	}
	for _, kind := range testKinds {
		if slices.ContainsFunc(existing, func(w Wallet) bool { return w.Asset == string(kind) }) {
			continue
		}
		w, err := newTestWallet(merchantID, kind, s.now(), s.token)
		if err != nil {
			return err
		}
		if err := s.storage.CreateWallet(ctx, w); err != nil {
			return fmt.Errorf("test wallets: %w", err)
		}
	}
	return nil
}

// newTestWallets returns a wallet of each kind for the test invoices of a merchant.
func newTestWallets(merchantID string, at time.Time, token func(int) string) (all []Wallet, err error) {
	for _, kind := range testKinds {
		w, err := newTestWallet(merchantID, kind, at, token)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// newTestWallet returns a wallet for test invoices with a random key. It has the private key, so that coins
// that are sent to a test address by mistake are not lost.
func newTestWallet(merchantID string, kind keys.Kind, at time.Time, token func(int) string) (Wallet, error) {
	secret, key, err := keys.NewTestKey(rand.Reader, kind)
	if err != nil {
		return Wallet{}, fmt.Errorf("test wallet: %w", err)
	}
	w := newWallet(merchantID, Test, key, at, token)
	w.Secret = secret
	return w, nil
}
