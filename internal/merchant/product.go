package merchant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"chequer/internal/money"
)

// Requirement states whether the shopper is asked for a value.
type Requirement string

const (
	// AskNo means that the shopper is not asked.
	AskNo Requirement = "no"
	// AskOptional means that the shopper may leave the answer empty.
	AskOptional Requirement = "optional"
	// AskRequired means that an order needs an answer.
	AskRequired Requirement = "required"
)

var requirements = []Requirement{AskNo, AskOptional, AskRequired}

// Check refuses a text that is not a Requirement.
func (r Requirement) Check() error {
	if !slices.Contains(requirements, r) {
		return errors.New("must be no, optional or required")
	}
	return nil
}

// checkAnswer returns an error for a shopper's answer that is required and missing, or not accepted.
func (r Requirement) checkAnswer(answer string) error {
	switch {
	case r == AskRequired && answer == "":
		return errors.New("is required")
	case r == AskNo && answer != "":
		return errors.New("is not accepted for this product")
	}
	return nil
}

// Product is a product that a merchant sells at /shop.
type Product struct {
	Slug        string // last part of its URL
	MerchantID  string
	Mode        Mode
	Name        string
	Description string
	Price       money.Amount  // of one item
	VAT         money.VATRate // included in the price
	MaxQuantity int           // per order; 0 = the server's limit
	AskOrderID  Requirement   // the shopper's own reference
	AskNote     Requirement
	Methods     Methods
	Active      bool // true if it is shown and sold
	CreatedAt   time.Time
}

// Bounds of a product.
const (
	maxProductName        = 120  // characters
	maxProductDescription = 1000 // characters
	// MaxQuantity bounds the quantity of any order.
	MaxQuantity = 9999
)

// validate returns a *FieldError for a product that cannot be sold. Products.Price checks the price.
func (p Product) validate() error {
	name := CheckLine(p.Name, maxProductName)
	if strings.TrimSpace(p.Name) == "" {
		name = cmp.Or(name, errors.New("must not be empty"))
	}
	return cmp.Or(
		invalid("slug", checkSlug(p.Slug)),
		invalid("name", name),
		invalid("description", CheckLine(p.Description, maxProductDescription)),
		invalid("max_quantity", CheckWhole(p.MaxQuantity, 0, MaxQuantity)),
		invalid("ask_order_id", p.AskOrderID.Check()),
		invalid("ask_note", p.AskNote.Check()),
	)
}

// ProductStorage stores products. It is safe for concurrent use.
type ProductStorage interface {
	// CreateProduct writes a product. It returns ErrExists if the merchant has a product with the same slug, and a *FieldError
	// if a removed one has invoices of the mode.
	CreateProduct(ctx context.Context, p Product) error
	// Product returns a merchant's product by its slug, or ErrNotFound.
	Product(ctx context.Context, merchantID, slug string) (Product, error)
	// Products lists a merchant's products, oldest first.
	Products(ctx context.Context, merchantID string) ([]Product, error)
	// UpdateProduct changes a merchant's product of a mode, or returns ErrNotFound. The product stays
	// unchanged if change returns an error; change may be called more than once.
	UpdateProduct(ctx context.Context, merchantID string, mode Mode, slug string, change func(*Product) error) (Product, error)
	// RemoveProduct deletes a merchant's product of a mode, or returns ErrNotFound. The product stays if check returns
	// an error; check may be called more than once. The slug can be used again if it has no invoices.
	RemoveProduct(ctx context.Context, merchantID string, mode Mode, slug string, check func(Product) error) error
}

// MaxProducts is the largest number of a merchant's products, which are all shown on one page.
const MaxProducts = 200

// ProductsConfig configures Products.
type ProductsConfig struct {
	Storage ProductStorage
	Prices  Prices
	Now     func() time.Time
}

// Products manages products. It is safe for concurrent use.
type Products struct {
	ProductStorage
	prices Prices
	now    func() time.Time
}

// NewProducts returns a new Products.
func NewProducts(c ProductsConfig) *Products {
	return &Products{ProductStorage: c.Storage, prices: c.Prices, now: c.Now}
}

// Price parses a price as text, with the code of its currency. The error is a *FieldError.
func (s *Products) Price(text, code string) (money.Amount, error) {
	return s.prices.parseText("price", text, code)
}

// Create makes a product. It returns ErrExists if the slug is in use, ErrTooMany if the merchant has
// MaxProducts products, or a *FieldError.
func (s *Products) Create(ctx context.Context, p Product) (Product, error) {
	p.CreatedAt = s.now()
	if err := p.validate(); err != nil {
		return Product{}, err
	}
	existing, err := s.Products(ctx, p.MerchantID)
	if err != nil {
		return Product{}, err
	}
	if len(existing) >= MaxProducts {
		return Product{}, fmt.Errorf("create product %s: %w", p.Slug, ErrTooMany)
	}
	if err := s.CreateProduct(ctx, p); err != nil {
		return Product{}, fmt.Errorf("create product %s: %w", p.Slug, err)
	}
	return p, nil
}

// Change changes a merchant's product of a mode, or returns ErrNotFound or a *FieldError. Existing invoices for
// the product stay unchanged.
func (s *Products) Change(ctx context.Context, merchantID string, mode Mode, slug string, change func(*Product) error) (Product, error) {
	return s.UpdateProduct(ctx, merchantID, mode, slug, func(p *Product) error {
		if err := change(p); err != nil {
			return err
		}
		return p.validate()
	})
}

// ChangeSeen is Change for a product whose revision the caller has seen. It returns ErrStale if the product has
// changed since.
func (s *Products) ChangeSeen(ctx context.Context, merchantID string, mode Mode, slug, revision string, change func(*Product) error) (Product, error) {
	unchanged := checkRevision[Product](revision)
	return s.Change(ctx, merchantID, mode, slug, func(stored *Product) error {
		if err := unchanged(*stored); err != nil {
			return err
		}
		return change(stored)
	})
}

// Remove deletes a merchant's product of a mode, or returns ErrNotFound. Its invoices stay.
func (s *Products) Remove(ctx context.Context, merchantID string, mode Mode, slug string) error {
	return s.RemoveProduct(ctx, merchantID, mode, slug, unchecked)
}

// RemoveSeen is Remove for a product whose revision the caller has seen. It returns ErrStale if the product has
// changed since.
func (s *Products) RemoveSeen(ctx context.Context, merchantID string, mode Mode, slug, revision string) error {
	return s.RemoveProduct(ctx, merchantID, mode, slug, checkRevision[Product](revision))
}

// ForSale returns the product of a slug as a shopper typed it, or ErrNotFound if it is not sold.
func (s *Products) ForSale(ctx context.Context, merchantID, text string) (Product, error) {
	slug, err := parseSlug(text)
	if err != nil {
		return Product{}, err
	}
	p, err := s.Product(ctx, merchantID, slug)
	if err == nil && !s.Sells(p) {
		return Product{}, ErrNotFound
	}
	return p, err
}

// Sells reports whether a product can be ordered. The settings may have changed since it was
// created.
func (s *Products) Sells(p Product) bool {
	_, err := s.prices.Parse(p.Price.String(), p.Price.Currency().Code)
	return p.Active && err == nil
}

// MaxQuantity returns the largest quantity of a product in one order: at most the merchant's
// maximum, and at most what the largest invoice can pay for.
func (s *Products) MaxQuantity(p Product) int {
	maximum := cmp.Or(p.MaxQuantity, MaxQuantity)
	largest := s.prices.Max(p.Price.Currency()).Minor()
	if affordable := largest.Div(largest, p.Price.Minor()); affordable.Cmp(big.NewInt(int64(maximum))) < 0 {
		maximum = int(affordable.Int64())
	}
	return maximum
}

// CheckOrder returns a *FieldError for an order with a wrong quantity, or with answers that the
// product does not allow.
func (s *Products) CheckOrder(p Product, quantity int, orderID, note string) error {
	return cmp.Or(
		invalid("quantity", CheckWhole(quantity, 1, s.MaxQuantity(p))),
		invalid("order_id", p.AskOrderID.checkAnswer(orderID)),
		invalid("note", p.AskNote.checkAnswer(note)),
	)
}
