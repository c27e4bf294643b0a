package merchant

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/money"
)

// Asking is whether a shopper is asked for something.
type Asking string

const (
	// AskNo does not ask.
	AskNo Asking = "no"
	// AskOptional takes an answer, and none.
	AskOptional Asking = "optional"
	// AskRequired takes no order without an answer.
	AskRequired Asking = "required"
)

// Askings are all there are.
var Askings = []Asking{AskNo, AskOptional, AskRequired}

// Product is something that a merchant sells at /shop.
type Product struct {
	Slug        string // its address ends in this
	MerchantID  string
	Mode        Mode
	Name        string
	Description string
	Price       money.Amount // of one
	MaxQuantity int          // of one order; 0 as many as the server takes
	AskOrderID  Asking       // a reference of the shopper's own
	AskNote     Asking
	Methods     Methods
	Active      bool // whether it is shown and sold
	CreatedAt   time.Time
}

// ProductStorage keeps products. It is safe for concurrent use.
type ProductStorage interface {
	// CreateProduct writes a product; ErrExists when the merchant has one of its slug.
	CreateProduct(ctx context.Context, p Product) error
	// Product finds a merchant's product by its slug; ErrNotFound.
	Product(ctx context.Context, merchantID, slug string) (Product, error)
	// Products lists a merchant's products, oldest first.
	Products(ctx context.Context, merchantID string) ([]Product, error)
	// UpdateProduct changes a merchant's product of a mode; ErrNotFound. Nothing is
	// changed when change returns an error, which may be called more than once.
	UpdateProduct(ctx context.Context, merchantID string, mode Mode, slug string, change func(*Product) error) (Product, error)
	// RemoveProduct ends a merchant's product of a mode; ErrNotFound. Its slug is free
	// then.
	RemoveProduct(ctx context.Context, merchantID string, mode Mode, slug string) error
}

// MaxProducts is how many a merchant may have: all stand on one page.
const MaxProducts = 200

// ProductsConfig is what Products are made of.
type ProductsConfig struct {
	Storage ProductStorage
	// Check is an error for a product that cannot be sold.
	Check func(Product) error
	// Price reads a price, in plain digits and a currency's code.
	Price func(digits, code string) (money.Amount, error)
	Now   func() time.Time
}

// Products makes, changes and ends products. It is safe for concurrent use.
type Products struct {
	ProductStorage
	check func(Product) error
	price func(digits, code string) (money.Amount, error)
	now   func() time.Time
}

// NewProducts makes Products.
func NewProducts(c ProductsConfig) *Products {
	return &Products{ProductStorage: c.Storage, check: c.Check, price: c.Price, now: c.Now}
}

// Price reads a price, in plain digits and a currency's code.
func (s *Products) Price(digits, code string) (money.Amount, error) { return s.price(digits, code) }

// Create makes a product; ErrExists, or ErrTooMany when the merchant has as many as
// may be.
func (s *Products) Create(ctx context.Context, p Product) (Product, error) {
	p.CreatedAt = s.now()
	if err := s.check(p); err != nil {
		return Product{}, err
	}
	have, err := s.Products(ctx, p.MerchantID)
	if err != nil {
		return Product{}, err
	}
	if len(have) >= MaxProducts {
		return Product{}, fmt.Errorf("create product %s: %w", p.Slug, ErrTooMany)
	}
	if err := s.CreateProduct(ctx, p); err != nil {
		return Product{}, fmt.Errorf("create product %s: %w", p.Slug, err)
	}
	return p, nil
}

// Change changes a merchant's product of a mode; ErrNotFound. Invoices that were made
// of it stay as they are.
func (s *Products) Change(ctx context.Context, merchantID string, mode Mode, slug string, change func(*Product) error) (Product, error) {
	return s.UpdateProduct(ctx, merchantID, mode, slug, func(p *Product) error {
		if err := change(p); err != nil {
			return err
		}
		return s.check(*p)
	})
}
