// Package invoicing creates invoices with the name, the payment settings, the wallets and the terms of sale of their
// merchant.
package invoicing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// timeout bounds the time that a creation waits for storage, which another program may keep
// locked. The invoice may be created nevertheless, so the caller must repeat the request with the
// same idempotency key.
const timeout = 5 * time.Second

// Merchants gives access to merchants and their wallets. It is safe for concurrent use.
type Merchants interface {
	// Merchant reads a merchant.
	Merchant(ctx context.Context, id string) (merchant.Merchant, error)
	// Wallets lists a merchant's current wallets of a mode.
	Wallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error)
	// Exchange reads a merchant's current exchange account, or returns merchant.ErrNotFound.
	Exchange(ctx context.Context, merchantID string) (merchant.ExchangeAccount, error)
}

// Config configures a Service.
type Config struct {
	Invoices  *invoice.Service
	Merchants Merchants
	// Overrides are the payment settings that merchants cannot change.
	Overrides merchant.Overrides
	// Worthless is true if live invoices are paid in coins of test networks, which are never sold.
	Worthless bool
	// Created receives the identifiers of new invoices as long as it has room; it may be nil.
	Created chan<- string
}

// Service creates invoices. It is safe for concurrent use.
type Service struct {
	Config
	running running
}

// New returns a new Service.
func New(c Config) *Service { return &Service{Config: c} }

// Create creates an invoice once per idempotency key. body is the JSON of the request. A repeated request gets the
// same invoice before any other check, because rates and settings may have changed since. Otherwise complete adds the
// terms that the request describes. The errors are those of complete, of invoice.Service.Create and of Replay,
// ErrRunning, and invoice.ErrUnavailable if storage does not answer in time.
func (s *Service) Create(ctx context.Context, r invoice.CreateRequest, body []byte, complete func(*invoice.CreateRequest) error) (*invoice.Invoice, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	inv, err := s.create(limited, r, body, complete)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: %w", invoice.ErrUnavailable, err)
	}
	return inv, err
}

// create is Create with the deadline of ctx.
func (s *Service) create(ctx context.Context, r invoice.CreateRequest, body []byte, complete func(*invoice.CreateRequest) error) (*invoice.Invoice, error) {
	var err error
	if r.BodyHash, err = bodyHash(body); err != nil {
		return nil, err
	}
	done, err := s.running.reserve(r.MerchantID, r.Key)
	if err != nil {
		return nil, err
	}
	defer done()
	if !r.Key.IsZero() {
		inv, err := s.Invoices.Replay(ctx, r.MerchantID, r.Key, r.BodyHash)
		if !errors.Is(err, invoice.ErrNotFound) {
			return inv, err
		}
	}
	if err := complete(&r); err != nil {
		return nil, err
	}
	if err := s.addMerchant(ctx, &r); err != nil {
		return nil, err
	}
	inv, err := s.Invoices.Create(ctx, r)
	if err != nil {
		return nil, err
	}
	select {
	case s.Created <- inv.ID:
	default:
	}
	return inv, nil
}

// addMerchant adds the merchant's data to the request: the name that the shopper sees, the terms of
// sale, the payment settings and the wallets.
func (s *Service) addMerchant(ctx context.Context, r *invoice.CreateRequest) error {
	m, err := s.Merchants.Merchant(ctx, r.MerchantID)
	if err != nil {
		return fmt.Errorf("merchant of invoice: %w", err)
	}
	wallets, err := s.Merchants.Wallets(ctx, r.MerchantID, merchant.Mode(r.Mode))
	if err != nil {
		return fmt.Errorf("wallets of invoice: %w", err)
	}
	if r.Terms.Sale, err = s.saleTerms(ctx, r.MerchantID, r.Mode); err != nil {
		return err
	}
	settings, err := s.Overrides.Effective(m.Choices)
	if err != nil {
		return fmt.Errorf("payment settings of merchant %s: %w", m.ID, err)
	}
	r.Terms.Merchant = m.Name
	r.Wallets = Wallets(wallets)
	applySettings(settings, r)
	return nil
}

// Wallets returns the wallets of a merchant as a new invoice takes them.
func Wallets(wallets []merchant.Wallet) (all []invoice.Wallet) {
	for _, w := range wallets {
		all = append(all, invoice.Wallet{Asset: w.Asset, Key: w.Derivation(), Counter: w.Counter})
	}
	return all
}

// applySettings adds the merchant's payment settings to the request, where it does not set other terms.
func applySettings(p merchant.PaymentSettings, r *invoice.CreateRequest) {
	if len(r.DefaultMethods) == 0 {
		r.DefaultMethods = p.Methods.Codes()
	}
	if r.ExpiresIn == 0 {
		r.ExpiresIn = p.QuoteTime
	}
	r.Tolerance, r.DepthSteps = invoice.Tolerance(p.Tolerance), p.Confirmations.Steps()
	for asset, limit := range p.ZeroConfirmation {
		if r.ZeroConfirmationCents == nil {
			r.ZeroConfirmationCents = map[string]int64{}
		}
		r.ZeroConfirmationCents[asset] = limit.Cents()
	}
	r.Terms.Lightning = invoice.LightningTerms(p.Lightning)
	r.Terms.AllowPaidExpired = p.LatePayments != merchant.LateDecide
	if r.AllowPaidExpired != nil {
		r.Terms.AllowPaidExpired = *r.AllowPaidExpired
	}
	if p.LatePayments == merchant.LateAccept {
		r.Terms.Rules.LatePercent = 0
	}
}

// saleTerms returns the terms of sale of a new invoice. No coins are sold for test money or test
// networks, or while the merchant has no active exchange account.
func (s *Service) saleTerms(ctx context.Context, merchantID string, mode invoice.Mode) (invoice.SaleTerms, error) {
	if mode != invoice.Live || s.Worthless {
		return invoice.SaleTerms{}, nil
	}
	a, err := s.Merchants.Exchange(ctx, merchantID)
	if errors.Is(err, merchant.ErrNotFound) || err == nil && !a.Active {
		return invoice.SaleTerms{}, nil
	}
	if err != nil {
		return invoice.SaleTerms{}, fmt.Errorf("exchange account of invoice: %w", err)
	}
	smallest, err := money.Parse(a.Smallest, invoice.SaleEuro)
	if err != nil {
		return invoice.SaleTerms{}, fmt.Errorf("smallest sale of invoice: %w", err)
	}
	return invoice.SaleTerms{Coins: slices.Clone(a.Coins), Smallest: smallest, Slippage: a.Slippage}, nil
}
