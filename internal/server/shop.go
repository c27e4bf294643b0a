package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

// errPriceChanged refuses an order whose shown total differs from the current total, so that the
// shopper is not charged an amount that was not shown.
var errPriceChanged = &problem{status: http.StatusConflict, code: api.CodePriceChanged, message: "The total has changed"}

// readProducts handles POST products/read: the content of a shop page of the key's merchant. A single
// product is found in either mode, as a link is; the list has only products of the key's mode.
func (s *server) readProducts(c echo.Context, k call) error {
	r, err := request[api.ProductsRequest](c, k)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	m, err := s.Merchants.Merchant(ctx, k.key.MerchantID)
	if err != nil {
		return err
	}
	answer := api.ProductOffers{MerchantName: m.Name, Products: []api.ProductOffer{}}
	if r.Slug != "" {
		p, err := s.productForSale(ctx, k.key.MerchantID, r.Slug)
		if err != nil {
			return err
		}
		answer.Products = append(answer.Products, wire.ProductOffer(p, s.Products.MaxQuantity(p)))
		return writeJSON(c, http.StatusOK, answer)
	}
	products, err := s.Products.Products(ctx, k.key.MerchantID)
	if err != nil {
		return err
	}
	for _, p := range products {
		if p.Mode == k.key.Mode && s.Products.Sells(p) {
			answer.Products = append(answer.Products, wire.ProductOffer(p, s.Products.MaxQuantity(p)))
		}
	}
	return writeJSON(c, http.StatusOK, answer)
}

// productForSale finds a product that can be ordered.
func (s *server) productForSale(ctx context.Context, merchantID, slug string) (merchant.Product, error) {
	p, err := s.Products.ForSale(ctx, merchantID, slug)
	if errors.Is(err, merchant.ErrNotFound) {
		return p, errNoProduct
	}
	return p, err
}

// orderProduct handles POST products/order: an invoice for a product, one per idempotency key. The price
// is the product's; the total that the shopper was shown is only compared with it.
func (s *server) orderProduct(c echo.Context, k call) error {
	o, err := request[api.ProductOrder](c, k)
	if err != nil {
		return err
	}
	token, err := idempotencyKey(c.Request())
	if err != nil {
		return err
	}
	if token == "" {
		return badRequest("invalid_idempotency_key", "Idempotency-Key is required for an order of a product")
	}
	ctx := c.Request().Context()
	r := invoice.CreateRequest{
		MerchantID: k.key.MerchantID, Key: namespaced(productKeys, "", strings.ToLower(o.Slug)+":"+token),
	}
	r.UnpaidLimits = s.unpaidLimits(ctx, published, k)
	inv, err := s.createOnce(ctx, k, r, func(r *invoice.CreateRequest) error { return s.applyOrder(ctx, o, r) })
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.CheckoutInvoice{ForeignID: inv.ID})
}

// applyOrder sets the terms of an order in the request for its invoice.
func (s *server) applyOrder(ctx context.Context, o api.ProductOrder, r *invoice.CreateRequest) error {
	p, err := s.productForSale(ctx, r.MerchantID, o.Slug)
	if err != nil {
		return err
	}
	if err := s.Products.CheckOrder(p, o.Quantity, o.OrderID, o.Note); err != nil {
		return err
	}
	total := p.Price.Times(o.Quantity)
	shown, err := s.Prices.Parse(o.Amount, o.FiatCurrency)
	if err != nil || !shown.Equal(total) {
		return errPriceChanged
	}
	r.Mode, r.DefaultMethods, r.Origin = invoice.Mode(p.Mode), p.Methods.Codes(), invoice.Origin{Kind: invoice.FromProduct, ID: p.Slug}
	r.Terms.VAT = p.VAT
	r.Terms.Description, r.Terms.OrderID = fmt.Sprintf("%d × %s", o.Quantity, p.Name), o.OrderID
	r.Terms.Metadata = shopperMetadata(o.OrderID, o.Note, map[string]string{
		api.MetadataProduct: p.Slug, api.MetadataQuantity: strconv.Itoa(o.Quantity), api.MetadataUnitPrice: p.Price.String(),
	})
	return s.setPrice(requestedPrice{total.String(), total.Currency().Code}, &r.Terms)
}

// shopperMetadata adds the shopper's texts to an invoice's metadata. An order number of the shopper is
// marked as such, because it is not verified.
func shopperMetadata(orderID, note string, metadata map[string]string) map[string]string {
	if note != "" {
		metadata[api.MetadataNote] = note
	}
	if orderID != "" {
		metadata[api.MetadataOrderIDFrom] = api.OrderIDFromShopper
	}
	return metadata
}
