package server

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

var (
	errNoProduct       = &problem{status: http.StatusNotFound, code: api.CodeProductNotFound, message: "There is no such product"}
	errProductTaken    = &problem{status: http.StatusConflict, code: "product_slug_taken", message: "There is a product with this slug already"}
	errTooManyProducts = &problem{status: http.StatusConflict, code: "too_many_products", message: "There are as many products as may be: remove one first"}
)

// asking parses whether the shopper is asked for a value.
func asking(into *merchant.Requirement) func(any) error {
	return func(value any) error {
		t, _ := value.(string)
		*into = merchant.Requirement(t)
		return into.Check()
	}
}

// draft is a product as a request describes it.
type draft struct {
	merchant.Product
	price, code string
}

// productFields are the fields of a product that can be changed.
func (s *server) productFields(d *draft) map[string]field {
	return map[string]field{
		"name":            {set: line(&d.Name, 120)},
		"description":     {set: line(&d.Description, 1000)},
		"price":           {set: amount(&d.price)},
		"fiat_currency":   {set: text(&d.code, 8)},
		"max_quantity":    {set: between(&d.MaxQuantity, 0, api.MaxQuantity)},
		"ask_order_id":    {set: asking(&d.AskOrderID)},
		"ask_note":        {set: asking(&d.AskNote)},
		"payment_methods": {set: s.choice(d.Mode, &d.Methods)},
		"active":          {set: boolean(&d.Active)},
	}
}

// createProduct handles POST products.
func (s *server) createProduct(c echo.Context, k call) error {
	if err := requireJSON(c); err != nil {
		return err
	}
	d := draft{Product: merchant.Product{
		MerchantID: k.key.MerchantID, Mode: k.key.Mode, AskOrderID: merchant.AskNo, AskNote: merchant.AskNo, Active: true,
	}}
	fields := s.productFields(&d)
	fields["slug"] = field{set: text(&d.Slug, 64)}
	for _, name := range []string{"slug", "name", "price", "fiat_currency"} {
		fields[name] = field{required: true, set: fields[name].set}
	}
	err := decode(k.body, fields)
	if err != nil {
		return err
	}
	if d.Price, err = s.products.Price(d.price, d.code); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.useNonce(ctx, k); err != nil {
		return err
	}
	p, err := s.products.Create(ctx, d.Product)
	switch {
	case errors.Is(err, merchant.ErrExists):
		return errProductTaken
	case errors.Is(err, merchant.ErrTooMany):
		return errTooManyProducts
	case err != nil:
		return err
	}
	answer := wire.Product(s.baseURL, p)
	c.Response().Header().Set("Location", answer.URL)
	return writeJSON(c, http.StatusCreated, answer)
}

// changeProduct handles PATCH products/{slug}.
func (s *server) changeProduct(c echo.Context, k call) error {
	if err := requireJSON(c); err != nil {
		return err
	}
	if err := decode(k.body, s.productFields(&draft{Product: merchant.Product{Mode: k.key.Mode}})); err != nil { // check the body before the nonce is used up
		return err
	}
	ctx := c.Request().Context()
	if err := s.useNonce(ctx, k); err != nil {
		return err
	}
	p, err := s.products.Change(ctx, k.key.MerchantID, k.key.Mode, c.Param("slug"), func(p *merchant.Product) (err error) {
		d := draft{Product: *p, price: p.Price.String(), code: p.Price.Currency().Code}
		if err := decode(k.body, s.productFields(&d)); err != nil {
			return err
		}
		*p = d.Product
		p.Price, err = s.products.Price(d.price, d.code)
		return err
	})
	if errors.Is(err, merchant.ErrNotFound) {
		return errNoProduct
	}
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, wire.Product(s.baseURL, p))
}

// listProducts handles GET products.
func (s *server) listProducts(c echo.Context, k call) error {
	all, err := s.products.Products(c.Request().Context(), k.key.MerchantID)
	if err != nil {
		return err
	}
	answer := api.ProductList{Products: []api.Product{}}
	for _, p := range all {
		if p.Mode == k.key.Mode {
			answer.Products = append(answer.Products, wire.Product(s.baseURL, p))
		}
	}
	return writeJSON(c, http.StatusOK, answer)
}

// showProduct handles GET products/{slug}.
func (s *server) showProduct(c echo.Context, k call) error {
	p, err := s.products.Product(c.Request().Context(), k.key.MerchantID, c.Param("slug"))
	if errors.Is(err, merchant.ErrNotFound) || err == nil && p.Mode != k.key.Mode {
		return errNoProduct
	}
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, wire.Product(s.baseURL, p))
}

// removeProduct handles DELETE products/{slug}.
func (s *server) removeProduct(c echo.Context, k call) error {
	ctx := c.Request().Context()
	if err := s.useNonce(ctx, k); err != nil {
		return err
	}
	err := s.products.RemoveProduct(ctx, k.key.MerchantID, k.key.Mode, c.Param("slug"))
	if errors.Is(err, merchant.ErrNotFound) {
		return errNoProduct
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
