package merchant

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"chequer/internal/money"
)

// SettingsStorage stores the payment settings of merchants. It is safe for concurrent use.
type SettingsStorage interface {
	// Merchant returns a merchant, or ErrNotFound.
	Merchant(ctx context.Context, id string) (Merchant, error)
	// ChangeChoices locks a merchant, calls change with its choices, and writes the result. It writes nothing if the
	// result is the same. The errors are ErrNotFound and those of change.
	ChangeChoices(ctx context.Context, merchantID string, change func(Choices) (Choices, error)) (Choices, error)
}

// SettingsConfig configures Settings.
type SettingsConfig struct {
	Storage SettingsStorage
	// Merchants caches merchants. Change removes the changed merchant from its cache.
	Merchants *Service
	Overrides Overrides
	// CheckLanguages refuses a list of languages that the pages cannot offer.
	CheckLanguages func(codes []string) error
	// Prices are the prices that the server accepts. Merchants can choose any of their currencies.
	Prices Prices
	// Networks are the IDs of the networks that can have an explorer.
	Networks []string
}

// Settings manages the payment settings of merchants. It is safe for concurrent use.
type Settings struct {
	SettingsConfig
}

// NewSettings returns new Settings.
func NewSettings(c SettingsConfig) *Settings { return &Settings{c} }

// Effective returns the settings that are in force for a merchant. They are cached for cacheTTL. The currency is euro, which
// every server accepts, if the server does not accept the chosen one any more.
func (s *Settings) Effective(ctx context.Context, merchantID string) (PaymentSettings, error) {
	m, err := s.Merchants.Merchant(ctx, merchantID)
	if err != nil {
		return PaymentSettings{}, err
	}
	return s.effective(m.ID, m.Choices)
}

// Chosen returns the choices of a merchant without the cache.
func (s *Settings) Chosen(ctx context.Context, merchantID string) (Choices, error) {
	m, err := s.Storage.Merchant(ctx, merchantID)
	return m.Choices, err
}

// Check returns a *FieldError if changes of a merchant's choices break a rule.
func (s *Settings) Check(chosen, changes Choices) error {
	_, err := s.apply(chosen, changes)
	return err
}

// Relaxes reports whether changes would relax the payment settings of a merchant, see PaymentSettings.Relaxes. The
// error is a *FieldError if a change is invalid.
func (s *Settings) Relaxes(merchantID string, chosen, changes Choices) (bool, error) {
	next, err := s.apply(chosen, changes)
	if err != nil {
		return false, err
	}
	before, err := s.effective(merchantID, chosen)
	if err != nil {
		return false, err
	}
	after, err := s.effective(merchantID, next)
	return after.Relaxes(before), err
}

// Change changes payment settings of a merchant, and returns the new choices. An empty value restores the default of
// the setting. If seen is not "" and the stored choices have another revision, the error is ErrStale. If a change is
// invalid, it is a *FieldError.
func (s *Settings) Change(ctx context.Context, merchantID, seen string, changes Choices) (Choices, error) {
	next, err := s.Storage.ChangeChoices(ctx, merchantID, func(chosen Choices) (Choices, error) {
		if seen != "" && chosen.Revision() != seen {
			return nil, ErrStale
		}
		return s.apply(chosen, changes)
	})
	if err != nil {
		return nil, fmt.Errorf("change payment settings: %w", err)
	}
	s.Merchants.merchant.remove(merchantID)
	return next, nil
}

// CheckMethods returns a *FieldError if the merchant has live wallets but no wallet for any of the methods, because
// no invoice could be created. walletOf returns the asset of the wallet that a method needs, or "" if this server
// does not know the method.
func (s *Settings) CheckMethods(ctx context.Context, merchantID string, codes []string, walletOf func(code string) string) error {
	wallets, err := s.Merchants.Wallets(ctx, merchantID, Live)
	if err != nil || len(wallets) == 0 || len(codes) == 0 {
		return err
	}
	for _, code := range codes {
		asset := walletOf(code)
		if asset != "" && slices.ContainsFunc(wallets, func(w Wallet) bool { return w.Asset == asset }) {
			return nil
		}
	}
	return &FieldError{Field: string(SettingMethods), Fault: "must contain a method for which the shop has a wallet"}
}

// apply returns the choices after changes.
func (s *Settings) apply(chosen, changes Choices) (Choices, error) {
	next, err := chosen.With(changes)
	if err != nil {
		return nil, err
	}
	for name := range changes {
		if over, fixed := s.Overrides[name]; fixed {
			return nil, &FieldError{Field: string(name), Fault: "is set by " + over.By}
		}
	}
	if codes := words(next[SettingLanguages]); len(codes) > 0 && next[SettingLanguages] != chosen[SettingLanguages] {
		if err := s.CheckLanguages(codes); err != nil {
			return nil, &FieldError{Field: string(SettingLanguages), Fault: err.Error()}
		}
	}
	if err := s.checkCurrency(next, chosen); err != nil {
		return nil, err
	}
	return next, s.checkNetworks(next, chosen)
}

// checkCurrency refuses a changed currency in which the server accepts no prices.
func (s *Settings) checkCurrency(next, chosen Choices) error {
	code := next[SettingCurrency]
	if code == "" || code == chosen[SettingCurrency] || slices.Contains(s.Prices.Codes(), code) {
		return nil
	}
	return &FieldError{Field: string(SettingCurrency), Fault: "must be " + listed(s.Prices.Codes()) + howToAdd(code)}
}

// checkNetworks returns a *FieldError if the explorers change and name a network that is not in Networks.
func (s *Settings) checkNetworks(next, chosen Choices) error {
	if next[SettingExplorers] == chosen[SettingExplorers] {
		return nil
	}
	for _, entry := range strings.Fields(next[SettingExplorers]) {
		if network, _, _ := strings.Cut(entry, "="); !slices.Contains(s.Networks, network) {
			return &FieldError{Field: string(SettingExplorers), Fault: "must not contain " + network + "; the networks are " + strings.Join(s.Networks, ", ")}
		}
	}
	return nil
}

func (s *Settings) effective(merchantID string, chosen Choices) (PaymentSettings, error) {
	p, err := s.Overrides.Effective(chosen)
	if err != nil {
		return PaymentSettings{}, fmt.Errorf("payment settings of merchant %s: %w", merchantID, err)
	}
	if !slices.Contains(s.Prices.Codes(), p.Currency) {
		p.Currency = money.EUR.Code
	}
	return p, nil
}
