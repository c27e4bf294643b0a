package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/wire"
)

var (
	errNoProduct       = &problem{status: http.StatusNotFound, code: api.CodeProductNotFound, message: "There is no such product"}
	errProductTaken    = &problem{status: http.StatusConflict, code: "product_slug_taken", message: "There is a product with this slug already"}
	errTooManyProducts = &problem{status: http.StatusConflict, code: "too_many_products", message: "There are as many products as may be: remove one first"}
)

// Bounds of the texts of a product, in characters.
const (
	maxProductName        = 120
	maxProductDescription = 1000
)

// ProductPrice returns a function that parses the price of a product. Its currency must be euro,
// dollar or one of fiats, and its amount at most maximum.
func ProductPrice(fiats []money.Currency, maximum string) func(digits, code string) (money.Amount, error) {
	return func(digits, code string) (money.Amount, error) {
		var plain string
		err := amount(&plain)(digits)
		if err != nil {
			return money.Amount{}, invalid("price", err.Error())
		}
		a, err := requestedPrice{plain, code}.price(priceCurrencies(fiats), maximum)
		if p, ok := errors.AsType[*problem](err); ok && strings.HasPrefix(p.message, "amount ") {
			return a, invalid("price", strings.TrimPrefix(p.message, "amount "))
		}
		return a, err
	}
}

// CheckProduct reports what is wrong with a merchant's product. It does not check the price, which
// ProductPrice parses.
func CheckProduct(p merchant.Product) error {
	var ignored string
	for _, f := range []struct {
		name, value string
		set         func(any) error
	}{
		{"slug", p.Slug, shaped(slugPattern, "must be letters a to z, digits and hyphens, 64 at most")},
		{"name", p.Name, line(&ignored, maxProductName)},
		{"description", p.Description, line(&ignored, maxProductDescription)},
	} {
		if err := f.set(f.value); err != nil {
			return invalid(f.name, err.Error())
		}
	}
	switch {
	case strings.TrimSpace(p.Name) == "":
		return invalid("name", "must not be empty")
	case p.MaxQuantity < 0 || p.MaxQuantity > api.MaxQuantity:
		return invalid("max_quantity", wholeFault(0, api.MaxQuantity))
	case !slices.Contains(merchant.Requirements, p.AskOrderID):
		return invalid("ask_order_id", askingFault)
	case !slices.Contains(merchant.Requirements, p.AskNote):
		return invalid("ask_note", askingFault)
	}
	return nil
}

const askingFault = "must be no, optional or required"

// asking parses whether the shopper is asked for a value.
func asking(into *merchant.Requirement) func(any) error {
	return func(value any) error {
		t, _ := value.(string)
		if !slices.Contains(merchant.Requirements, merchant.Requirement(t)) {
			return errors.New(askingFault)
		}
		*into = merchant.Requirement(t)
		return nil
	}
}

// between parses a whole number within bounds.
func between(into *int, least, most int) func(any) error {
	return func(value any) error {
		number, _ := value.(json.Number)
		n, err := strconv.Atoi(number.String())
		if err != nil || n < least || n > most {
			return errors.New(wholeFault(least, most))
		}
		*into = n
		return nil
	}
}

func wholeFault(least, most int) string {
	return fmt.Sprintf("must be a whole number from %d to %d", least, most)
}

// line parses a text of one line that other people see. It refuses invisible characters: control
// characters, and characters that reverse the direction of the text after them. See Unicode
// Standard Annex #9, "Directional Formatting Characters".
func line(into *string, most int) func(any) error { return visible(into, most, "") }

// paragraph is line for a text that may have several lines.
func paragraph(into *string, most int) func(any) error { return visible(into, most, "\n") }

func visible(into *string, most int, allowed string) func(any) error {
	return func(value any) error {
		if err := text(into, most)(value); err != nil {
			return err
		}
		if !utf8.ValidString(*into) {
			return errors.New("must be valid UTF-8")
		}
		for _, r := range *into {
			turns := r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u2028' || r == '\u2029'
			if turns || unicode.IsControl(r) && !strings.ContainsRune(allowed, r) {
				return fmt.Errorf("must not hold the invisible character %U", r)
			}
		}
		return nil
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
		"name":            {set: line(&d.Name, maxProductName)},
		"description":     {set: line(&d.Description, maxProductDescription)},
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

// most returns the largest quantity of a product in one order: at most the merchant's maximum, and
// at most what the largest invoice can pay for.
func (s *server) most(p merchant.Product) int {
	most := api.MaxQuantity
	if p.MaxQuantity > 0 {
		most = p.MaxQuantity
	}
	largest := money.MustParse(s.maximum, p.Price.Currency()).Minor()
	if affordable := largest.Div(largest, p.Price.Minor()); affordable.Cmp(big.NewInt(int64(most))) < 0 {
		most = int(affordable.Int64())
	}
	return most
}
