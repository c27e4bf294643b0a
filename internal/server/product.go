package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

var errNoProduct = &problem{status: http.StatusNotFound, code: api.CodeProductNotFound, message: "There is no such product"}

// productProblems are the error answers of calls about products.
var productProblems = problems{
	merchant.ErrNotFound: errNoProduct,
	merchant.ErrExists:   &problem{status: http.StatusConflict, code: "product_slug_taken", message: "There is a product with this slug already"},
	merchant.ErrTooMany:  &problem{status: http.StatusConflict, code: "too_many_products", message: "The shop has reached its limit of products: remove one first"},
}

// product returns the API's view of a product.
func (s *server) product(p merchant.Product) api.Product { return wire.Product(s.BaseURL, p) }

// createProduct handles POST products.
func (s *server) createProduct(c echo.Context, k call) error {
	r, err := request[api.ProductRequest](c, k)
	if err != nil {
		return err
	}
	p := merchant.Product{
		MerchantID: k.key.MerchantID, Mode: k.key.Mode, Slug: r.Slug, AskOrderID: merchant.AskNo, AskNote: merchant.AskNo, Active: true,
	}
	if err := wire.ChangeProduct(&p, r.ProductChange, s.Products.Price); err != nil {
		return err
	}
	if err := s.admitChange(c, k, r.PaymentMethods); err != nil {
		return err
	}
	if p, err = s.Products.Create(c.Request().Context(), p); err != nil {
		return err
	}
	answer := s.product(p)
	c.Response().Header().Set("Location", answer.URL)
	return writeJSON(c, http.StatusCreated, answer)
}

// changeProduct handles PATCH products/{slug}.
func (s *server) changeProduct(c echo.Context, k call) error {
	r, err := request[api.ProductChange](c, k)
	if err != nil {
		return err
	}
	if err := s.admitChange(c, k, r.PaymentMethods); err != nil {
		return err
	}
	p, err := s.Products.Change(c.Request().Context(), k.key.MerchantID, k.key.Mode, c.Param("slug"), func(p *merchant.Product) error {
		return wire.ChangeProduct(p, r, s.Products.Price)
	})
	return reply(c, s.product, p, err)
}

// listProducts handles GET products.
func (s *server) listProducts(c echo.Context, k call) error {
	products, err := s.Products.Products(c.Request().Context(), k.key.MerchantID)
	if err != nil {
		return err
	}
	ofMode := func(p merchant.Product) bool { return p.Mode == k.key.Mode }
	return writeJSON(c, http.StatusOK, api.ProductList{Products: views(s.product, products, ofMode)})
}

// showProduct handles GET products/{slug}.
func (s *server) showProduct(c echo.Context, k call) error {
	p, err := s.Products.Product(c.Request().Context(), k.key.MerchantID, c.Param("slug"))
	if err == nil && p.Mode != k.key.Mode {
		return errNoProduct
	}
	return reply(c, s.product, p, err)
}

// removeProduct handles DELETE products/{slug}.
func (s *server) removeProduct(c echo.Context, k call) error {
	return s.remove(c, k, s.Products.Remove)
}
