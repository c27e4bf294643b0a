package present

import (
	"fmt"
	"strconv"
	"strings"

	"chequer/internal/api"
	"chequer/views"
)

// Keys of the field labels, for optional and for required fields.
var (
	orderLabels = map[string]string{api.AskOptional: "product.reference.optional", api.AskRequired: "product.reference"}
	noteLabels  = map[string]string{api.AskOptional: "product.note.optional", api.AskRequired: "product.note"}
)

// shopPage returns the page of products without its content.
func (f Frame) shopPage(merchant string) views.Page {
	page := f.Page("", merchant, "shop.css")
	f.addLanguageLink(&page)
	page.Home = f.WithLanguage(f.ShopPath("/shop"))
	return page
}

// Shop returns the list of products.
func (f Frame) Shop(offers api.ProductOffers) views.Shop {
	page := views.Shop{Page: f.shopPage(offers.MerchantName)}
	page.Title = f.Text("product.list.title", "Shop", page.Shop)
	if f.Demo {
		page.TestNotice = f.Text("product.demo")
	}
	for _, p := range offers.Products {
		page.Items = append(page.Items, views.Item{
			Name: printable(p.Name), Description: printable(p.Description), Price: f.Fiat(p.Price, p.FiatCurrency),
			URL: f.WithLanguage(f.ShopPath("/shop/" + p.Slug)),
		})
	}
	if f.Storefront {
		page.Other = views.Link{Text: f.Text("product.other"), URL: f.WithLanguage(f.ShopPath(""))}
	}
	return page
}

// Product returns the page of a product with the typed values, and with the total of n items.
func (f Frame) Product(o Order, n int) views.Product {
	p, total := o.Product, o.Total(n)
	page := views.Product{
		Page: f.shopPage(o.Merchant), Name: printable(p.Name), Description: printable(p.Description),
		Action: f.WithLanguage(f.Path("/order" + f.Root + "/shop/" + p.Slug)), Token: o.Token,
		Back:      views.Link{Text: f.Text("product.all"), URL: f.WithLanguage(f.ShopPath("/shop"))},
		Total:     f.Fiat(total, p.FiatCurrency),
		UnitPrice: p.Price, Amount: total, Currency: p.FiatCurrency,
	}
	page.LineTotal = page.Total
	page.Line = fmt.Sprintf("%d × %s", n, page.Name)
	page.Title = fmt.Sprintf("%s – %s", page.Name, page.Shop)
	page.Button = f.Text("product.button", "Amount", page.Total)
	switch {
	case f.Demo:
		page.TestNotice = f.Text("product.demo")
	case p.Mode == "test": // a test product is not in the list of the live shop
		page.TestNotice, page.Back, page.Home = f.Text("product.test"), views.Link{}, ""
	}
	f.addOrderFields(&page, o)
	return page
}

// addOrderFields adds the fields that the shopper fills in.
func (f Frame) addOrderFields(page *views.Product, o Order) {
	p := o.Product
	if p.MaxQuantity > 1 {
		page.Each = f.Text("product.each", "Amount", f.Fiat(p.Price, p.FiatCurrency))
		page.Quantity = views.TextField{
			Name: "quantity", Label: f.Text("product.quantity"), Hint: f.Text("product.most", "Number", strconv.Itoa(p.MaxQuantity)), Value: o.Quantity, Count: true,
		}
	}
	if p.AskOrderID != api.AskNo {
		page.Asked = append(page.Asked, views.TextField{
			Name: "order_id", Label: f.Text(orderLabels[p.AskOrderID]), Value: o.OrderID, Hint: f.Text("product.reference.hint"),
		})
	}
	if p.AskNote != api.AskNo {
		page.Asked = append(page.Asked, views.TextField{
			Name: "note", Label: f.Text(noteLabels[p.AskNote]), Value: o.Note, Lines: true, Hint: f.Text("product.note.hint"),
		})
	}
}

// CheckedProduct returns the page of a product with the problems of the typed values. problem is that of the quantity,
// or "" if it is valid.
func (f Frame) CheckedProduct(o Order, n int, problem string) views.Product {
	page := f.Product(o, n)
	page.Quantity.Error = problem
	for i := range page.Asked {
		page.Asked[i].Error = o.problem(f.Reader, page.Asked[i].Name)
	}
	page.Title = f.Text("error.title", "Title", page.Title)
	return page
}

// NewTotal returns the page of a product with a notice of its total, which the previous page did not show, so that
// the shopper can agree to it.
func (f Frame) NewTotal(o Order, n int) views.Product {
	page := f.Product(o, n)
	page.Notice = views.Notice{
		Heading: f.Text("product.new"), Text: f.Text("product.new.text", "Line", page.Line, "Amount", page.Total),
	}
	if o.Currency != page.Currency || o.UnitPrice != o.Product.Price {
		page.Notice = views.Notice{
			Heading: f.Text("product.price"),
			Text:    f.Text("product.price.text", "Product", page.Name, "Price", f.Fiat(o.Product.Price, page.Currency), "Amount", page.Total),
		}
	}
	page.Title = fmt.Sprintf("%s: %s", page.Notice.Heading, page.Title)
	return page
}

// RefusedProduct returns the page of a product with the reason why no invoice was created.
func (f Frame) RefusedProduct(o Order, n int, problem *Problem) views.Product {
	page := f.Product(o, n)
	page.Fault = problem.Text
	if problem.Status == 0 { // the service refused the total
		page.Fault = f.Text("amount.unpayable", "Detail", strings.TrimSuffix(problem.Text, "."))
	}
	page.Title = f.Text("error.title", "Title", page.Title)
	return page
}
