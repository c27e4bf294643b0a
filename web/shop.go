package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/money"
	"chequer/static"
	"chequer/views"
)

// quantityForm matches a quantity: ASCII digits, at most four.
var quantityForm = regexp.MustCompile(`^[0-9]{1,4}$`)

var (
	nothingSold = &linkRefusal{status: http.StatusNotFound, words: fault{"sale.nothing", "sale.nothing.text"}}
	notSold     = &linkRefusal{status: http.StatusNotFound, words: fault{"sale.unsold", "sale.unsold.text"}}
)

// Keys of the field labels, by whether the product makes the field optional or required.
var (
	orderLabels = map[string]string{api.AskOptional: "sale.reference.optional", api.AskRequired: "sale.reference"}
	noteLabels  = map[string]string{api.AskOptional: "sale.note.optional", api.AskRequired: "sale.note"}
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
	r := h.reader(c, "")
	page := views.Shop{Page: h.shopPage(c, r, offers.MerchantName)}
	page.Title = r.Text("sale.products.title", "Shop", page.Shop)
	if h.config.Demo {
		page.Trial = r.Text("sale.demo")
	}
	for _, p := range offers.Products {
		page.Items = append(page.Items, views.Item{
			Name: undirected(p.Name), Description: undirected(p.Description), Price: r.Fiat(p.Price, p.FiatCurrency),
			URL: r.keep(h.path("/shop/" + p.Slug)),
		})
	}
	if h.config.Storefront {
		page.Other = views.Link{Text: r.Text("sale.other"), URL: r.keep(h.path("/"))}
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return render(c, http.StatusOK, views.ShopPage(page))
}

// sells reports whether the shop has products for sale.
func (h *Handler) sells(ctx context.Context) bool {
	offers, err := h.config.Client.ReadProducts(ctx, api.ProductsRequest{})
	return err == nil && len(offers.Products) > 0
}

// products returns the products that the merchant sells, or the one with the given slug.
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

// shopPage returns the frame of the pages that show products.
func (h *Handler) shopPage(c echo.Context, r reader, merchant string) views.Page {
	page := h.page(r, "")
	h.choice(&page, c.QueryString())
	page.Shop, page.Style, page.Home = h.shopName(r, undirected(merchant)), h.path(static.Path("shop.css")), r.keep(h.path("/shop"))
	h.applyOwnTheme(c.Request().Context(), r, &page, "shop.css")
	return page
}

// sale is a request for a product: the product as it is now, and the typed values.
type sale struct {
	reader   reader
	product  api.ProductOffer
	merchant string
	token    string
	quantity string
	orderID  string
	note     string
	// What the page that contained the form showed.
	price, amount, currency string
}

// product shows one product and creates nothing. The address may fill in the form. The browser may
// cache the page privately, as it may cache the storefront.
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
	return render(c, http.StatusOK, views.ProductPage(h.productPage(c, s, n)))
}

// backToProduct redirects a GET of the address that a product's form posts to, to the product.
func (h *Handler) backToProduct(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, h.reader(c, "").keep(h.path("/shop/"+url.PathEscape(slugOf(c)))))
}

// sale reads the typed values, and the product as it is now.
func (h *Handler) sale(c echo.Context) (sale, error) {
	slug := slugOf(c)
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
		reader: h.reader(c, ""), product: p, merchant: offers.MerchantName, token: c.FormValue("token"), quantity: strings.TrimSpace(c.FormValue("quantity")),
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

// tidy removes the invisible characters from a text: control characters, and those that change the
// direction of the text after them. Line feeds are kept only if lines is true.
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

// count returns the typed quantity, or the problem with it.
func (s *sale) count() (n int, problem string) {
	most := s.product.MaxQuantity
	switch {
	case s.quantity == "":
		return 1, s.reader.Text("sale.count.none", "Number", "2")
	case !quantityForm.MatchString(s.quantity) && strings.Trim(s.quantity, "0123456789") == "":
		return 1, s.reader.Text("sale.count.most", "Number", strconv.Itoa(most))
	case !quantityForm.MatchString(s.quantity):
		return 1, s.reader.Text("sale.count.figures", "Number", "2")
	}
	n, _ = strconv.Atoi(s.quantity)
	switch {
	case n < 1:
		return 1, s.reader.Text("sale.count.least", "Number", "1")
	case n > most:
		return 1, s.reader.Text("sale.count.most", "Number", strconv.Itoa(most))
	}
	return n, ""
}

// total returns the price of n products as a decimal number.
func (s *sale) total(n int) string {
	fiat, _ := money.Fiat(s.product.FiatCurrency) // sale checked the currency
	each, err := money.Parse(s.product.Price, fiat)
	if err != nil {
		return ""
	}
	return each.Times(n).String()
}

// orderProduct creates an invoice for a product and redirects to its page. The invoice never charges
// a total that the previous page did not show.
func (h *Handler) orderProduct(c echo.Context) error {
	s, err := h.sale(c)
	if err != nil {
		return err
	}
	if !tokenForm.MatchString(s.token) {
		s.token = rand.Text()
	}
	n, problem := s.count()
	page := h.productPage(c, s, n)
	page.Quantity.Error = problem
	if page.Quantity.Name == "" && problem != "" {
		return notSold // the page has no field for the quantity
	}
	for i := range page.Asked {
		page.Asked[i].Error = s.wrong(page.Asked[i].Name)
	}
	update := c.FormValue("update") != ""
	switch {
	case problem != "" || !update && len(page.Faults()) > 0:
		page.Title = s.reader.Text("error.title", "Title", page.Title)
		return render(c, http.StatusUnprocessableEntity, views.ProductPage(page))
	case update:
		return c.Redirect(http.StatusSeeOther, s.reader.keep(h.path("/shop/"+s.product.Slug+"?"+s.query())))
	case s.amount != page.Amount || s.currency != page.Currency:
		return h.showTotal(c, s, page)
	}
	ctx := c.Request().Context()
	id, err := unlessRunning(ctx, func() (string, error) { return h.orderOnce(ctx, s, n) })
	if _, changed := errors.AsType[*priceChanged](err); changed {
		if s, err = h.sale(c); err != nil {
			return err
		}
		return h.showTotal(c, s, h.productPage(c, s, n))
	}
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code != api.CodeProductNotFound {
		status, problem := h.refused(s.reader, refused)
		return h.refuseProduct(c, s.reader, page, status, problem)
	} else if ok {
		return notSold
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, s.reader.keep(h.path("/invoice/"+id)))
}

// priceChanged is the error for a price that changed before the order. Unlike other conflicts it is
// not tried again: the shopper has to see the new price.
type priceChanged struct{ error }

// orderOnce asks for the invoice. The idempotency key contains every choice of the shopper: going
// back and changing one creates another invoice, sending the form twice does not.
func (h *Handler) orderOnce(ctx context.Context, s sale, n int) (string, error) {
	order := api.ProductOrder{
		Slug: s.product.Slug, Quantity: n, Amount: s.amount, FiatCurrency: s.currency, OrderID: s.orderID, Note: s.note,
	}
	key := s.token + "-" + fingerprint("%d\n%s\n%s\n%q\n%q", n, s.amount, s.currency, s.orderID, s.note)
	id, err := h.config.Client.OrderProduct(ctx, order, key)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == api.CodePriceChanged {
		return "", &priceChanged{err}
	}
	return id, err
}

// wrong returns the problem with the value of a field.
func (s *sale) wrong(name string) string {
	switch {
	case name == "order_id" && s.product.AskOrderID == api.AskRequired && s.orderID == "":
		return s.reader.Text("sale.reference.none")
	case name == "order_id":
		return s.reader.tooLong(s.orderID, "sale.reference.long", api.MaxShopperOrderID)
	case name == "note" && s.product.AskNote == api.AskRequired && s.note == "":
		return s.reader.Text("sale.note.none")
	}
	return s.reader.tooLong(s.note, "sale.note.long", api.MaxShopperNote)
}

// query returns the query of an address that fills in the form with the typed values.
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

// showTotal shows a total that the previous page did not show, for the shopper to agree to.
func (h *Handler) showTotal(c echo.Context, s sale, page views.Product) error {
	page.Notice = views.Notice{
		Heading: s.reader.Text("sale.new"), Text: s.reader.Text("sale.new.text", "Line", page.Line, "Amount", page.Total),
	}
	if s.currency == page.Currency && s.price != s.product.Price || s.currency != page.Currency {
		page.Notice = views.Notice{
			Heading: s.reader.Text("sale.price"),
			Text:    s.reader.Text("sale.price.text", "Product", page.Name, "Price", s.reader.Fiat(s.product.Price, page.Currency), "Amount", page.Total),
		}
	}
	page.Title = fmt.Sprintf("%s: %s", page.Notice.Heading, page.Title)
	return render(c, http.StatusUnprocessableEntity, views.ProductPage(page))
}

// refuseProduct renders the page of a product again with the reason why no invoice was created.
func (h *Handler) refuseProduct(c echo.Context, reader reader, page views.Product, status int, problem string) error {
	var form views.Form
	h.blame(c, &form, status, problem)
	page.Fault = form.Fault
	if form.Error != "" {
		page.Fault = reader.Text("amount.unpayable", "Detail", strings.TrimSuffix(form.Error, "."))
	}
	page.Title = reader.Text("error.title", "Title", page.Title)
	return render(c, status, views.ProductPage(page))
}

// productPage returns the page for n of a product, with the typed values.
func (h *Handler) productPage(c echo.Context, s sale, n int) views.Product {
	r, p, total := s.reader, s.product, s.total(n)
	name, price := undirected(p.Name), r.Fiat(p.Price, p.FiatCurrency)
	page := views.Product{
		Page: h.shopPage(c, r, s.merchant),
		Name: name, Description: undirected(p.Description), Action: r.keep(h.path("/order/shop/" + p.Slug)), Token: s.token,
		Back: views.Link{Text: r.Text("sale.all"), URL: r.keep(h.path("/shop"))},
		Line: fmt.Sprintf("%d × %s", n, name), LineTotal: r.Fiat(total, p.FiatCurrency), Total: r.Fiat(total, p.FiatCurrency),
		UnitPrice: p.Price, Amount: total, Currency: p.FiatCurrency,
	}
	page.Title = fmt.Sprintf("%s – %s", name, page.Shop)
	page.Button = r.Text("sale.button", "Amount", page.Total)
	switch {
	case h.config.Demo:
		page.Trial = r.Text("sale.demo")
	case p.Mode == "test": // a test product is not in the list of the live shop
		page.Trial, page.Back, page.Home = r.Text("sale.test"), views.Link{}, ""
	}
	if p.MaxQuantity > 1 {
		page.Each = r.Text("sale.each", "Amount", price)
		page.Quantity = views.TextField{
			Name: "quantity", Label: r.Text("sale.quantity"), Hint: r.Text("sale.most", "Number", strconv.Itoa(p.MaxQuantity)), Value: s.quantity, Count: true,
		}
	}
	if p.AskOrderID != api.AskNo {
		page.Asked = append(page.Asked, views.TextField{
			Name: "order_id", Label: r.Text(orderLabels[p.AskOrderID]), Value: s.orderID, Hint: r.Text("sale.reference.hint"),
		})
	}
	if p.AskNote != api.AskNo {
		page.Asked = append(page.Asked, views.TextField{
			Name: "note", Label: r.Text(noteLabels[p.AskNote]), Value: s.note, Lines: true, Hint: r.Text("sale.note.hint"),
		})
	}
	return page
}
