package merchant

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/keys"
)

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
		if err := s.storage.CreateWallet(ctx, w); err != nil && !errors.Is(err, ErrExists) {
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
