package sell

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/wire"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// productFields are the names of the fields of a product, without the payment methods. Only a new product has the first
// and the last.
var productFields = []string{"slug", "name", "description", "price", "fiat_currency", "vat_rate", "max_quantity", "ask_order_id", "ask_note", "active"}

// productValues returns the values of a product as its form shows them.
func productValues(p merchant.Product) map[string]string {
	values := map[string]string{
		"slug": p.Slug, "name": p.Name, "description": p.Description, "price": p.Price.Fixed(), "fiat_currency": p.Price.Currency().Code,
		"vat_rate": p.VAT.String(), "max_quantity": digitsText(p.MaxQuantity), "ask_order_id": string(p.AskOrderID), "ask_note": string(p.AskNote),
	}
	visit.SetPositions(values, p.Methods)
	return values
}

// productChange returns the change that the values of a form describe. The error is a *merchant.FieldError.
func productChange(values map[string]string, codes []string) (api.ProductChange, error) {
	most, err := readWhole("max_quantity", values["max_quantity"], merchant.MaxQuantity)
	if err != nil {
		return api.ProductChange{}, err
	}
	methods, err := visit.ChosenMethods(values, codes)
	value := func(name string) *string { text := values[name]; return &text }
	price, vat := visit.DecimalPoint(values["price"]), visit.DecimalPoint(values["vat_rate"])
	return api.ProductChange{
		Name: value("name"), Description: value("description"), Price: &price, FiatCurrency: value("fiat_currency"), VATRate: &vat,
		MaxQuantity: &most, AskOrderID: value("ask_order_id"), AskNote: value("ask_note"), PaymentMethods: &methods,
	}, err
}

// newProduct shows the form of a new product.
func (v *page) newProduct() error {
	return v.showNewProduct(http.StatusOK, map[string]string{
		"fiat_currency": v.shopCurrency(), "ask_order_id": api.AskNo, "ask_note": api.AskNo, "active": "yes",
	}, nil)
}

func (v *page) showNewProduct(status int, values map[string]string, problem error) error {
	mode := v.mode()
	frame, err := v.listFrame(v.Text("desk.product.add"), productsPath+"/new", mode)
	if err != nil {
		return err
	}
	f := &form{page: v, values: values, problem: problem}
	inputs := [][]desk.Input{{f.field("name", v.Text("desk.name"), "")}, {f.field("slug", v.Text("desk.slug"), v.Text("desk.product.slug.hint", "URL", v.BaseURL+"/shop/"))}}
	inputs = append(inputs, f.productInputs()...)
	inputs = append(inputs, []desk.Input{f.choice("active", v.Text("desk.state"), "yes", v.Text("desk.product.shown"), "", v.Text("desk.product.hidden"))})
	return v.Show(status, desk.SellFormPage(desk.SellForm{
		Frame: frame, Back: views.Link{Text: v.Text("desk.products"), URL: v.BelowIn(productsPath, mode == merchant.Test)}, Heading: v.Text("desk.product.add"), Problem: f.problemText(),
		Action: v.BelowIn(productsPath+"/new", mode == merchant.Test), Inputs: inputs, Methods: f.methodChoice(mode, v.MethodCodes(mode, "")), Button: v.Text("desk.product.add"),
	}))
}

// productInputs returns the fields that the forms of a new and of an existing product share, except the name.
func (f *form) productInputs() [][]desk.Input {
	asked := []string{api.AskNo, f.Text("desk.ask.no"), api.AskOptional, f.Text("desk.ask.optional"), api.AskRequired, f.Text("desk.ask.required")}
	return [][]desk.Input{
		{f.field("description", f.Text("desk.description"), f.Text("desk.product.description.hint"))},
		{f.money("price", f.Text("desk.product.price"), f.Text("desk.money.hint")), f.currency()},
		{f.money("vat_rate", f.Text("desk.product.vat"), f.Text("desk.product.vat.hint"))},
		{f.digits("max_quantity", f.Text("desk.product.quantity"), f.Text("desk.product.quantity.hint"))},
		{f.choice("ask_order_id", f.Text("desk.product.ask.order"), asked...), f.choice("ask_note", f.Text("desk.product.ask.note"), asked...)},
	}
}

// addProduct creates a product. Without a slug it gets one made from its name.
func (v *page) addProduct() error {
	mode := v.mode()
	codes := v.MethodCodes(mode, "")
	values := v.typed(append(visit.PositionNames(codes), productFields...))
	p := merchant.Product{MerchantID: v.Shop.ID, Mode: mode, Slug: values["slug"], Active: values["active"] != ""}
	if p.Slug == "" {
		p.Slug = slugFrom(values["name"])
	}
	c, err := productChange(values, codes)
	if err == nil {
		err = wire.ChangeProduct(&p, c, v.Products.Price)
	}
	if err == nil {
		p, err = v.Products.Create(v.Request().Context(), p)
	}
	if err = v.takenSlugError(err); isShownInForm(err) {
		return v.showNewProduct(http.StatusUnprocessableEntity, values, err)
	}
	if err != nil {
		return err
	}
	return v.Done(v.Below(productsPath+"/"+p.Slug+"/edit"), "product-added")
}

// product shows the form of the product in the path.
func (v *page) product() error { return v.editProduct(http.StatusOK, nil, nil) }

// editProduct shows the form of the product in the path with the values that the account typed, or with those
// of the product if typed is nil.
func (v *page) editProduct(status int, typed map[string]string, problem error) error {
	p, err := v.ownProduct()
	if err != nil {
		return err
	}
	f := &form{page: v, values: productValues(p), problem: problem}
	if typed != nil {
		if errors.Is(problem, merchant.ErrStale) {
			f.stored = maps.Clone(f.values)
		}
		if price, err := v.Products.Price(visit.DecimalPoint(typed["price"]), typed["fiat_currency"]); err == nil {
			typed["price"] = price.Fixed() // "3.5" does not differ from the stored "3.50"
		}
		if vat, err := merchant.ParseVATRate(visit.DecimalPoint(typed["vat_rate"])); err == nil {
			typed["vat_rate"] = vat.String()
		}
		maps.Copy(f.values, typed)
	}
	frame, err := v.objectFrame(p.Name, p.Mode)
	if err != nil {
		return err
	}
	address := v.Below(productsPath + "/" + p.Slug)
	view := desk.SellForm{
		Frame: frame, Back: views.Link{Text: v.Text("desk.products"), URL: v.BelowIn(productsPath, p.Mode == merchant.Test)}, Heading: p.Name, State: v.productState(p), Problem: f.problemText(),
		Action: address + "/edit", Version: v.seenRevision(p.Revision(), typed != nil && isShownInForm(problem)), Inputs: append([][]desk.Input{{f.field("name", v.Text("desk.name"), "")}}, f.productInputs()...),
		Methods: f.methodChoice(p.Mode, v.MethodCodes(p.Mode, p.Methods)), Button: v.Text("desk.save"),
		Sales: v.salesLink(invoice.FromProduct, p.Slug, p.Mode),
		Facts: []desk.Fact{{Name: v.Text("desk.fact.created"), Value: v.Clock(p.CreatedAt)}}, Remove: views.Link{Text: v.Text("desk.remove.ask"), URL: address + "/remove"},
		Toggle: desk.Button{Action: address + "/show", Text: v.Text("desk.product.show"), Hidden: []desk.Hidden{{Name: "version", Value: p.Revision()}}},
	}
	if p.Active {
		view.Toggle.Action, view.Toggle.Text = address+"/hide", v.Text("desk.product.hide")
	}
	page := v.storefrontAddress("/shop/" + p.Slug)
	if v.Products.Sells(p) {
		view.Build = v.builderLink(strings.TrimPrefix(page, v.BaseURL+"/"), p.Mode)
	}
	if view.Share, err = v.share(v.Text("desk.product.page"), page, v.Products.Sells(p)); err != nil {
		return err
	}
	return v.Show(status, desk.SellFormPage(view))
}

// changeProduct changes the product in the path.
func (v *page) changeProduct() error {
	p, err := v.ownProduct()
	if err != nil {
		return err
	}
	codes := v.MethodCodes(p.Mode, p.Methods)
	values := v.typed(append(visit.PositionNames(codes), productFields[1:len(productFields)-1]...))
	c, err := productChange(values, codes)
	if err == nil {
		p, err = v.Products.ChangeSeen(v.Request().Context(), v.Shop.ID, p.Mode, p.Slug, v.FormValue("version"), func(p *merchant.Product) error {
			return wire.ChangeProduct(p, c, v.Products.Price)
		})
	}
	switch {
	case errors.Is(err, merchant.ErrStale):
		return v.editProduct(http.StatusConflict, values, err)
	case isShownInForm(err):
		return v.editProduct(http.StatusUnprocessableEntity, values, err)
	case err != nil:
		return err
	}
	return v.Done(v.Below(productsPath+"/"+p.Slug+"/edit"), "product-changed")
}

// slugFrom returns a slug made from a name: "Fjord II, A3" becomes "fjord-ii-a3". It is empty if the name has
// no letter a to z and no digit.
func slugFrom(name string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(name)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r): // the accent of the letter before
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	slug := b.String()
	return strings.Trim(slug[:min(len(slug), 64)], "-")
}
