package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/money"
	"chequer/static"
	"chequer/views"
)

// quantityForm is what a quantity looks like: digits of ASCII, and no more than any
// order has.
var quantityForm = regexp.MustCompile(`^[0-9]{1,4}$`)

var (
	nothingSold = &linkRefusal{http.StatusNotFound, fault{"There is nothing for sale here", "The shop has no products on this page at the moment. If you came to pay, follow the link that you got from the shop."}}
	notSold     = &linkRefusal{http.StatusNotFound, fault{"This is not for sale", "Nothing was ordered. The shop may have taken it off the list, or the address is not whole."}}
)

// Labels of what a shopper is asked, by whether they may leave it empty.
var (
	orderLabels = map[string]string{api.AskOptional: "Order reference (optional)", api.AskRequired: "Order reference"}
	noteLabels  = map[string]string{api.AskOptional: "Note for the shop (optional)", api.AskRequired: "Note for the shop"}
)

// shop lists what the merchant sells.
func (h *Handler) shop(c echo.Context) error {
	offers, err := h.products(c.Request().Context(), "")
	if err != nil {
		return err
	}
	if len(offers.Products) == 0 {
		return nothingSold
	}
	page := views.Shop{Page: h.shopPage(fmt.Sprintf("Products – %s", h.shopName(offers.MerchantName)), offers.MerchantName)}
	if h.config.Demo {
		page.Trial = "Demo shop. The rates are made up and no real money moves."
	}
	for _, p := range offers.Products {
		page.Items = append(page.Items, views.Item{
			Name: undirected(p.Name), Description: undirected(p.Description), Price: views.Fiat(p.Price, p.FiatCurrency),
			URL: h.path("/shop/" + p.Slug),
		})
	}
	if h.config.Storefront {
		page.Other = views.Link{Text: "Pay another amount", URL: h.path("/")}
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return render(c, http.StatusOK, views.ShopPage(page))
}

// sells tells whether the shop has a list of products.
func (h *Handler) sells(ctx context.Context) bool {
	offers, err := h.config.Client.ReadProducts(ctx, api.ProductsRequest{})
	return err == nil && len(offers.Products) > 0
}

// products is what the merchant sells, or one product of it.
func (h *Handler) products(ctx context.Context, slug string) (api.ProductOffers, error) {
	offers, err := h.config.Client.ReadProducts(ctx, api.ProductsRequest{Slug: slug})
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == api.CodeProductNotFound {
		return offers, notSold
	}
	if errors.Is(err, client.ErrUnsupported) {
		return offers, nothingSold
	}
	return offers, err
}

// shopPage is the frame of the pages of products.
func (h *Handler) shopPage(title, merchant string) views.Page {
	page := h.page(title)
	page.Shop, page.Style, page.Home = h.shopName(undirected(merchant)), h.path(static.Path("shop.css")), h.path("/shop")
	return page
}

// sale is an order on its way through the page: the product as it is now, and what
// was typed.
type sale struct {
	product  api.ProductOffer
	merchant string
	token    string
	quantity string
	orderID  string
	note     string
	// What the page that the form comes from showed.
	price, amount, currency string
}

// product shows one product. Looking at it makes nothing. The address may fill the
// form in. The browser may keep it, as it may the storefront.
func (h *Handler) product(c echo.Context) error {
	s, err := h.sale(c)
	if err != nil {
		return err
	}
	s.token = rand.Text()
	n, problem := s.count()
	if problem != "" {
		s.quantity, n = "1", 1
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return render(c, http.StatusOK, views.ProductPage(h.productPage(s, n)))
}

// backToProduct is for who looks at the address that a product's form is sent to.
func (h *Handler) backToProduct(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, h.path("/shop/"+url.PathEscape(c.Param("slug"))))
}

// sale reads what was typed, and the product as it is now.
func (h *Handler) sale(c echo.Context) (sale, error) {
	slug := c.Param("slug")
	if !idForm.MatchString(slug) {
		return sale{}, notSold
	}
	offers, err := h.products(c.Request().Context(), slug)
	if err != nil {
		return sale{}, err
	}
	if len(offers.Products) != 1 {
		return sale{}, notSold
	}
	p := offers.Products[0]
	if _, known := money.Fiat(p.FiatCurrency); !known {
		return sale{}, fmt.Errorf("product %s in %q: %w", p.Slug, p.FiatCurrency, client.ErrNonsense)
	}
	s := sale{
		product: p, merchant: offers.MerchantName, token: c.FormValue("token"), quantity: strings.TrimSpace(c.FormValue("quantity")),
		price: c.FormValue("price"), amount: c.FormValue("amount"), currency: c.FormValue("currency"),
	}
	if p.MaxQuantity == 1 && s.quantity == "" {
		s.quantity = "1"
	}
	if p.AskOrderID != api.AskNo {
		s.orderID = tidy(c.FormValue("order_id"), false)
	}
	if p.AskNote != api.AskNo {
		s.note = tidy(c.FormValue("note"), true)
	}
	return s, nil
}

// tidy is a text without what nobody sees in it: control characters, and those that
// turn the text after them around. Only a text of several lines keeps their ends.
func tidy(text string, lines bool) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && lines:
			return r
		case r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, undirected(text))
	return strings.TrimSpace(text)
}

// count is how many were typed, or what is wrong with that.
func (s *sale) count() (n int, problem string) {
	most := s.product.MaxQuantity
	switch {
	case s.quantity == "":
		return 1, "Enter how many you want, like 2"
	case !quantityForm.MatchString(s.quantity) && strings.Trim(s.quantity, "0123456789") == "":
		return 1, fmt.Sprintf("Enter at most %d: that is how many one order can have", most)
	case !quantityForm.MatchString(s.quantity):
		return 1, "Enter a whole number in figures, like 2"
	}
	n, _ = strconv.Atoi(s.quantity)
	switch {
	case n < 1:
		return 1, "Enter at least 1"
	case n > most:
		return 1, fmt.Sprintf("Enter at most %d: that is how many one order can have", most)
	}
	return n, ""
}

// total is what so many cost, in digits.
func (s *sale) total(n int) string {
	fiat, _ := money.Fiat(s.product.FiatCurrency) // looked at when it was read
	each, err := money.Parse(s.product.Price, fiat)
	if err != nil {
		return ""
	}
	return each.Times(n).String()
}

// orderProduct makes an invoice of a product and leads to its page. Nothing is charged
// that the page before did not show.
func (h *Handler) orderProduct(c echo.Context) error {
	s, err := h.sale(c)
	if err != nil {
		return err
	}
	if !tokenForm.MatchString(s.token) {
		s.token = rand.Text()
	}
	n, problem := s.count()
	page := h.productPage(s, n)
	page.Quantity.Error = problem
	if page.Quantity.Name == "" && problem != "" {
		return notSold // no page of ours has a form that says this
	}
	for i := range page.Asked {
		page.Asked[i].Error = s.wrong(page.Asked[i].Name)
	}
	update := c.FormValue("update") != ""
	switch {
	case problem != "" || !update && len(page.Faults()) > 0:
		page.Title = "Error: " + page.Title
		return render(c, http.StatusUnprocessableEntity, views.ProductPage(page))
	case update:
		return c.Redirect(http.StatusSeeOther, h.path("/shop/"+s.product.Slug+"?"+s.query()))
	case s.amount != page.Amount || s.currency != page.Currency:
		return h.showTotal(c, s, page)
	}
	ctx := c.Request().Context()
	id, err := unlessRunning(ctx, func() (string, error) { return h.orderOnce(ctx, s, n) })
	if _, changed := errors.AsType[*priceChanged](err); changed {
		if s, err = h.sale(c); err != nil {
			return err
		}
		return h.showTotal(c, s, h.productPage(s, n))
	}
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code != api.CodeProductNotFound {
		return h.refuseProduct(c, page, refusedStatus(refused.Status), refused.Message)
	} else if ok {
		return notSold
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, h.path("/invoice/"+id))
}

// priceChanged is no refusal to wait for: the shopper has to look.
type priceChanged struct{ error }

// orderOnce asks for the invoice. All that the shopper chose is part of the key: going
// back and changing it makes another invoice, sending it twice does not.
func (h *Handler) orderOnce(ctx context.Context, s sale, n int) (string, error) {
	order := api.ProductOrder{
		Slug: s.product.Slug, Quantity: n, Amount: s.amount, FiatCurrency: s.currency, OrderID: s.orderID, Note: s.note,
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s\n%q\n%q", n, s.amount, s.currency, s.orderID, s.note))
	id, err := h.config.Client.OrderProduct(ctx, order, s.token+"-"+hex.EncodeToString(sum[:16]))
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == api.CodePriceChanged {
		return "", &priceChanged{err}
	}
	return id, err
}

// wrong is what is wrong with an answer of the shopper's.
func (s *sale) wrong(name string) string {
	switch {
	case name == "order_id" && s.product.AskOrderID == api.AskRequired && s.orderID == "":
		return "Enter your order reference"
	case name == "order_id" && utf8.RuneCountInString(s.orderID) > api.MaxShopperOrderID:
		return fmt.Sprintf("Shorten your order reference to %d characters", api.MaxShopperOrderID)
	case name == "note" && s.product.AskNote == api.AskRequired && s.note == "":
		return "Enter a note for the shop"
	case name == "note" && utf8.RuneCountInString(s.note) > api.MaxShopperNote:
		return fmt.Sprintf("Shorten the note to %d characters", api.MaxShopperNote)
	}
	return ""
}

// query fills a form in with what was typed.
func (s *sale) query() string {
	values := url.Values{"quantity": {s.quantity}}
	if s.orderID != "" {
		values.Set("order_id", s.orderID)
	}
	if s.note != "" {
		values.Set("note", s.note)
	}
	return values.Encode()
}

// showTotal shows a total that the page before did not, for the shopper to agree to.
func (h *Handler) showTotal(c echo.Context, s sale, page views.Product) error {
	page.Notice = views.Notice{
		Heading: "Check the new total",
		Text:    fmt.Sprintf("For %s it is %s. Nothing was ordered yet: press the button again if you agree.", page.Line, page.Total),
	}
	if s.currency == page.Currency && s.price != s.product.Price || s.currency != page.Currency {
		page.Notice = views.Notice{
			Heading: "The price has changed",
			Text:    fmt.Sprintf("%s now costs %s, so the total is %s. Nothing was ordered yet: press the button again if you agree.", page.Name, views.Fiat(s.product.Price, page.Currency), page.Total),
		}
	}
	page.Title = fmt.Sprintf("%s: %s", page.Notice.Heading, page.Title)
	return render(c, http.StatusUnprocessableEntity, views.ProductPage(page))
}

// refuseProduct shows the page of a product again with why nothing was made.
func (h *Handler) refuseProduct(c echo.Context, page views.Product, status int, problem string) error {
	var form views.Form
	h.blame(c, &form, status, problem)
	page.Fault = form.Fault
	if form.Error != "" {
		page.Fault = fmt.Sprintf("The shop cannot be paid this amount: %s.", strings.TrimSuffix(form.Error, "."))
	}
	page.Title = "Error: " + page.Title
	return render(c, status, views.ProductPage(page))
}

// productPage is the page for so many of a product, with what was typed.
func (h *Handler) productPage(s sale, n int) views.Product {
	p, total := s.product, s.total(n)
	name, price := undirected(p.Name), views.Fiat(p.Price, p.FiatCurrency)
	page := views.Product{
		Page: h.shopPage(fmt.Sprintf("%s – %s", name, h.shopName(undirected(s.merchant))), s.merchant),
		Name: name, Description: undirected(p.Description), Action: h.path("/order/shop/" + p.Slug), Token: s.token,
		Back: views.Link{Text: "All products", URL: h.path("/shop")},
		Line: fmt.Sprintf("%d × %s", n, name), LineTotal: views.Fiat(total, p.FiatCurrency), Total: views.Fiat(total, p.FiatCurrency),
		UnitPrice: p.Price, Amount: total, Currency: p.FiatCurrency,
	}
	page.Button = fmt.Sprintf("Order and pay %s", page.Total)
	switch {
	case h.config.Demo:
		page.Trial = "Demo shop. The rates are made up and no real money moves."
	case p.Mode == "test": // which the list of a shop for real money has not
		page.Trial, page.Back, page.Home = "Test product. No real money moves.", views.Link{}, ""
	}
	if p.MaxQuantity > 1 {
		page.Each = fmt.Sprintf("%s each", price)
		page.Quantity = views.TextField{
			Name: "quantity", Label: "Quantity", Hint: fmt.Sprintf("At most %d", p.MaxQuantity), Value: s.quantity, Count: true,
		}
	}
	if p.AskOrderID != api.AskNo {
		page.Asked = append(page.Asked, views.TextField{
			Name: "order_id", Label: orderLabels[p.AskOrderID], Value: s.orderID, Hint: "Such as the number of an order or an invoice that you have",
		})
	}
	if p.AskNote != api.AskNo {
		page.Asked = append(page.Asked, views.TextField{
			Name: "note", Label: noteLabels[p.AskNote], Value: s.note, Lines: true, Hint: "Only the shop reads it",
		})
	}
	return page
}
