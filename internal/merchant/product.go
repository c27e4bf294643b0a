package merchant

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/money"
)

// Requirement says whether the shopper is asked for a value.
type Requirement string

const (
	// AskNo means that the shopper is not asked.
	AskNo Requirement = "no"
	// AskOptional means that the shopper may leave the answer empty.
	AskOptional Requirement = "optional"
	// AskRequired means that an order needs an answer.
	AskRequired Requirement = "required"
)

// Requirements lists all values of Asking.
var Requirements = []Requirement{AskNo, AskOptional, AskRequired}

// Product is a product that a merchant sells at /shop.
type Product struct {
	Slug        string // last part of its URL
	MerchantID  string
	Mode        Mode
	Name        string
	Description string
	Price       money.Amount // of one item
	MaxQuantity int          // per order; 0 = the server's limit
	AskOrderID  Requirement  // the shopper's own reference
	AskNote     Requirement
	Methods     Methods
	Active      bool // true if it is shown and sold
	CreatedAt   time.Time
}

// ProductStorage stores products. It is safe for concurrent use.
type ProductStorage interface {
	// CreateProduct writes a product; ErrExists if the merchant has one with the same slug.
	CreateProduct(ctx context.Context, p Product) error
	// Product returns a merchant's product by its slug; ErrNotFound.
	Product(ctx context.Context, merchantID, slug string) (Product, error)
	// Products lists a merchant's products, oldest first.
	Products(ctx context.Context, merchantID string) ([]Product, error)
	// UpdateProduct changes a merchant's product of a mode; ErrNotFound. The product stays
	// unchanged if change returns an error; change may be called more than once.
	UpdateProduct(ctx context.Context, merchantID string, mode Mode, slug string, change func(*Product) error) (Product, error)
	// RemoveProduct deletes a merchant's product of a mode; ErrNotFound. Its slug can be used again.
	RemoveProduct(ctx context.Context, merchantID string, mode Mode, slug string) error
}

// MaxProducts is the largest number of a merchant's products, which are all shown on one page.
const MaxProducts = 200

// ProductsConfig configures Products.
type ProductsConfig struct {
	Storage ProductStorage
	// Check returns an error for a product that cannot be sold.
	Check func(Product) error
	// Price parses a price in plain digits, with the code of its currency.
	Price func(digits, code string) (money.Amount, error)
	Now   func() time.Time
}

// Products manages products. It is safe for concurrent use.
type Products struct {
	ProductStorage
	check func(Product) error
	price func(digits, code string) (money.Amount, error)
	now   func() time.Time
}

// NewProducts returns a new Products.
func NewProducts(c ProductsConfig) *Products {
	return &Products{ProductStorage: c.Storage, check: c.Check, price: c.Price, now: c.Now}
}

// Price parses a price in plain digits, with the code of its currency.
func (s *Products) Price(digits, code string) (money.Amount, error) { return s.price(digits, code) }

// Create makes a product; ErrExists, or ErrTooMany if the merchant has MaxProducts products.
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

// Change changes a merchant's product of a mode; ErrNotFound. Existing invoices for the product
// stay unchanged.
func (s *Products) Change(ctx context.Context, merchantID string, mode Mode, slug string, change func(*Product) error) (Product, error) {
	return s.UpdateProduct(ctx, merchantID, mode, slug, func(p *Product) error {
		if err := change(p); err != nil {
			return err
		}
		return s.check(*p)
	})
}
