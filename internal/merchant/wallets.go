package merchant

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// Wallet is a public key of a merchant from which destinations are derived, the view key of a Monero wallet, or a connection
// to a Lightning wallet or node, which makes destinations.
type Wallet struct {
	ID         string
	MerchantID string
	Mode       Mode
	Asset      string // BTC, LTC, ETH for all EVM networks, XMR, or chain.CodeLightning for a connection
	// Key is the canonical public key, in the format of keys.Key.String. For a connection it is the name of the provider
	// for people, without secrets.
	Key string
	// Counter is the name of the counter of address indexes: the fingerprint of the key, see keys.Key.Fingerprint. A
	// connection has no indexes; its Counter is its ID.
	Counter string
	// Secret is the private key of a test wallet, so that money sent to a test address by mistake
	// is not lost, or the text of a live connection, or the private view key of a live Monero wallet. It is sealed in
	// storage. It is empty for other live wallets: the server has no private keys that can spend real money. The secret of
	// a Monero wallet for test invoices is its private spend key, ":" and its private view key.
	Secret     string
	CreatedAt  time.Time
	ArchivedAt time.Time // time of its replacement or removal; zero while active
}

// IsConnection reports whether the wallet is a connection to a Lightning wallet or node, which has no public key.
func (w Wallet) IsConnection() bool { return w.Asset == chain.CodeLightning }

// Derivation returns the text from which destinations are derived, in the format of keys.Load. It shows all payments of the
// wallet, so it must not be logged or stored elsewhere. A connection has none.
func (w Wallet) Derivation() string {
	if w.Asset != string(keys.XMR) {
		return w.Key
	}
	return w.Key + ":" + w.Secret[strings.LastIndex(w.Secret, ":")+1:]
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
	// Spending is the permission by which an added connection may spend from the wallet; "" if there is none.
	Spending string
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
	// Examine examines the text of a connection that a merchant adds. The provider must make and find a payment
	// request. The error names the reason for people, and contains no secret.
	Examine func(ctx context.Context, text string) (Connection, error)
	Now     func() time.Time
	// Token returns random letters and digits.
	Token func(length int) string
}

// Wallets manages the wallets of merchants. It is safe for concurrent use.
type Wallets struct {
	storage WalletStorage
	encode  func(WalletChange) []byte
	examine func(ctx context.Context, text string) (Connection, error)
	now     func() time.Time
	token   func(length int) string
}

// NewWallets returns new Wallets.
func NewWallets(c WalletsConfig) *Wallets {
	return &Wallets{storage: c.Storage, encode: c.Encode, examine: c.Examine, now: c.Now, token: c.Token}
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
		return s.addition(w, active, a.Start), nil
	})
	if err != nil {
		return WalletChange{}, fmt.Errorf("add %s wallet: %w", w.Asset, err)
	}
	return c, nil
}

// Connection is a connection to a Lightning wallet or node that was examined.
type Connection struct {
	// Name is the provider for people, without secrets: "NWC, relay.example".
	Name string
	// Text is the connection with its secrets, in its canonical form.
	Text string
	// Spending is the permission by which the connection may spend from the wallet; "" if it may only receive.
	Spending string
}

// ConnectionAddition is a connection that a merchant adds for its live invoices.
type ConnectionAddition struct {
	Text string // as the provider shows it
	// AllowSpending accepts a connection that may spend from the wallet.
	AllowSpending bool
	// Replaces is the ID of the active connection that it replaces; "" if there is none.
	Replaces string
}

// SpendingError means that a connection may spend from the merchant's wallet, and that the merchant did not allow it.
type SpendingError struct {
	Permission string // by which the connection may spend
}

// Error implements error.
func (e *SpendingError) Error() string {
	return "the connection may spend from your wallet (" + e.Permission + "): make one in your wallet that may only receive"
}

// ExamineTimeout bounds the examination of a connection.
const ExamineTimeout = 15 * time.Second

// AddConnection examines a connection and makes it the merchant's live connection. The connection that it replaces is
// kept, since its payment requests may still be paid. The errors are those of the examination, *SpendingError,
// ErrExists if it is the active connection, and ErrStale if the ID of the active connection is not a.Replaces.
func (s *Wallets) AddConnection(ctx context.Context, merchantID string, a ConnectionAddition) (WalletChange, error) {
	examining, cancel := context.WithTimeout(ctx, ExamineTimeout)
	defer cancel()
	examined, err := s.examine(examining, a.Text)
	if err != nil {
		return WalletChange{}, err
	}
	if examined.Spending != "" && !a.AllowSpending {
		return WalletChange{}, &SpendingError{examined.Spending}
	}
	w := newConnection(merchantID, Live, examined.Name, s.now(), s.token)
	w.Secret = examined.Text
	c, err := s.storage.ChangeWallet(ctx, merchantID, Live, w.Asset, func(active Wallet) (WalletChange, error) {
		switch {
		case active.ID != "" && active.Secret == w.Secret:
			return WalletChange{}, ErrExists
		case active.ID != a.Replaces:
			return WalletChange{}, ErrStale
		}
		return s.addition(w, active, 0), nil
	})
	if err != nil {
		return WalletChange{}, fmt.Errorf("add connection: %w", err)
	}
	c.Spending = examined.Spending
	return c, nil
}

// addition returns the change that adds a wallet, or replaces the active one by it, with its event. start is the
// lowest index of new addresses.
func (s *Wallets) addition(w, active Wallet, start uint32) WalletChange {
	c := WalletChange{Change: WalletAdded, Wallet: w, Former: active, Start: start, At: w.CreatedAt}
	if active.ID != "" {
		c.Change = WalletReplaced
	}
	return s.event(c)
}

// HasAddresses reports whether a key has the addresses of the wallet, even if it is written differently.
func (w Wallet) HasAddresses(key keys.Key) (bool, error) {
	if w.Key == "" {
		return false, nil
	}
	stored, err := keys.Load(w.Derivation())
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
		Key: key.String(), Counter: key.Fingerprint(), Secret: key.ViewKey(), CreatedAt: at,
	}
}

// newConnection returns a connection with a random ID and the name of its provider.
func newConnection(merchantID string, mode Mode, name string, at time.Time, token func(int) string) Wallet {
	id := "wlt_" + token(16)
	return Wallet{ID: id, MerchantID: merchantID, Mode: mode, Asset: chain.CodeLightning, Key: name, Counter: id, CreatedAt: at}
}

// event returns a change with its event.
func (s *Wallets) event(c WalletChange) WalletChange {
	c.EventID = "evt_" + s.token(32)
	c.Body = s.encode(c)
	return c
}

// testKinds are the kinds of wallets for test invoices.
var testKinds = []keys.Kind{keys.BTC, keys.LTC, keys.ETH, keys.XMR, chain.CodeLightning}

// testProvider is the name of the provider of the connections for test invoices: the built-in test network.
const testProvider = "simnet"

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
// that are sent to a test address by mistake are not lost. A connection has no key and no secret.
func newTestWallet(merchantID string, kind keys.Kind, at time.Time, token func(int) string) (Wallet, error) {
	if kind == chain.CodeLightning {
		return newConnection(merchantID, Test, testProvider, at, token), nil
	}
	secret, key, err := keys.NewTestKey(rand.Reader, kind)
	if err != nil {
		return Wallet{}, fmt.Errorf("test wallet: %w", err)
	}
	w := newWallet(merchantID, Test, key, at, token)
	if w.Secret != "" { // the view key
		secret += ":" + w.Secret
	}
	w.Secret = secret
	return w, nil
}
