package desk_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// addProduct adds a product to the shop.
func (f *fixture) addProduct(slug, name, price string) merchant.Product {
	f.t.Helper()
	p, err := f.products.Create(f.t.Context(), merchant.Product{
		Slug: slug, MerchantID: shop, Mode: merchant.Live, Name: name, Price: money.MustParse(price, money.EUR),
		AskOrderID: merchant.AskNo, AskNote: merchant.AskNo, Active: true,
	})
	f.must(err)
	return p
}

// fields returns the fields of the form with an id, as a browser sends them.
func (p page) fields(id string) []string {
	p.t.Helper()
	var pairs []string
	p.find("#" + id + " input, #" + id + " select, #" + id + " textarea").Each(func(_ int, s *selection) {
		value := s.AttrOr("value", "")
		switch s.Nodes[0].Data {
		case "select":
			value = s.Find("option[selected]").AttrOr("value", "")
		case "textarea":
			value = s.Text()
		}
		pairs = append(pairs, s.AttrOr("name", ""), value)
	})
	return pairs
}

// with returns fields with other values.
func with(fields []string, pairs ...string) []string {
	fields = slices.Clone(fields)
	for i := 0; i < len(pairs); i += 2 {
		for j := 0; j < len(fields); j += 2 {
			if fields[j] == pairs[i] {
				fields[j+1] = pairs[i+1]
			}
		}
	}
	return fields
}

// withoutToken returns fields without the value of the form token, which is different in every page.
func withoutToken(fields []string) []string { return with(fields, "form", "") }

// fault returns the error at a field.
func (p page) fault(field string) string {
	p.t.Helper()
	return textOf(p.find("#" + field + "-error"))
}

func vatRate(t *testing.T, text string) money.VATRate {
	t.Helper()
	v, err := money.ParseVATRate(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A manager adds a product with all its values, changes it, hides it, shows it and removes it. The audit log
// names the manager.
func TestProducts_are_added_changed_hidden_and_removed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b := f.as("Tove", account.Manager)
	before := len(f.actions())
	b.get("/desk/shop/products").want(http.StatusOK, "No products.")
	form := b.get("/desk/shop/products/new").want(http.StatusOK, "Add product")
	b.post("/desk/shop/products/new", with(form.fields("edit"),
		"name", "Fjord II, A3", "description", "Giclée print", "price", "64", "fiat_currency", "USD", "vat_rate", "7,70", "max_quantity", "5",
		"ask_order_id", "required", "ask_note", "optional", "method-LTC", "1", "method-BTC", "2")...).wantRedirect("/desk/shop/products/fjord-ii-a3/edit?done=product-added")
	want := merchant.Product{
		Slug: "fjord-ii-a3", MerchantID: shop, Mode: merchant.Live, Name: "Fjord II, A3", Description: "Giclée print", Price: money.MustParse("64.00", money.USD), VAT: vatRate(t, "7.7"), MaxQuantity: 5,
		AskOrderID: merchant.AskRequired, AskNote: merchant.AskOptional, Methods: "LTC BTC", Active: true, CreatedAt: f.clock.Now(),
	}
	f.checkProduct(want)
	at := "/desk/shop/products/fjord-ii-a3"
	if got := b.get(at+"/edit").find("#vat_rate").AttrOr("value", ""); got != "7.7" {
		t.Errorf("the field of the VAT rate has %q, want 7.7", got)
	}
	edit := b.get(at+"/edit?done=product-added").want(http.StatusOK, "The product was added.").want(http.StatusOK, "https://shop.example/shop/fjord-ii-a3")
	if n := edit.find(".qr path").Length(); n != 1 {
		t.Errorf("the page has %d codes, want 1", n)
	}
	b.post(at+"/edit", with(edit.fields("edit"), "name", "Fjord II", "price", "70,5", "vat_rate", "", "max_quantity", "", "method-LTC", "", "ask_note", "no")...).wantRedirect(at + "/edit?done=product-changed")
	want.VAT = money.VATRate{}
	want.Name, want.Price, want.MaxQuantity, want.Methods, want.AskNote = "Fjord II", money.MustParse("70.50", money.USD), 0, "BTC", merchant.AskNo
	f.checkProduct(want)

	b.send(at+"/hide", "version", want.Revision()).wantRedirect(at + "/edit?done=product-hidden")
	want.Active = false
	f.checkProduct(want)
	list := b.get("/desk/shop/products").want(http.StatusOK, "Fjord II Giclée print Hidden – – $70.50")
	if n := list.find(`.rows a[href="` + at + `/edit"]`).Length(); n != 1 {
		t.Errorf("the list has %d links to the product, want 1", n)
	}
	b.send(at+"/show", "version", want.Revision()).wantRedirect(at + "/edit?done=product-shown")
	want.Active = true
	f.checkProduct(want)

	ask := b.get(at+"/remove").want(http.StatusOK, "Remove Fjord II, $70.50?").want(http.StatusOK, "Its invoices and payments stay.")
	b.post(at+"/remove", ask.fields("decide")...).wantRedirect("/desk/shop/products?done=product-removed")
	b.get(at+"/edit").want(http.StatusNotFound, "Not found")
	got := f.actions()[before:]
	if want := []string{"Tove: product.created", "Tove: product.changed", "Tove: product.changed", "Tove: product.changed", "Tove: product.removed"}; !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
}

func (f *fixture) checkProduct(want merchant.Product) {
	f.t.Helper()
	got, err := f.products.Product(f.t.Context(), want.MerchantID, want.Slug)
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		f.t.Errorf("product, error %v (-got +want):\n%s", err, diff)
	}
}

// A refused form keeps its values and names the field.
func TestProducts_refuses_invalid_forms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	coffee := f.addProduct("coffee", "Filter coffee", "3.50")
	valid := with(b.get("/desk/shop/products/new").fields("edit"), "name", "Tea", "slug", "tea", "price", "2.50", "description", "Green", "max_quantity", "7")
	edit := b.get("/desk/shop/products/coffee/edit").fields("edit")
	for name, tt := range map[string]struct{ field, value, want string }{
		"no name":            {"name", " ", "Error: Name must not be empty."},
		"no price":           {"price", "", "Error: Price of one piece must be a number, digits with at most one dot, such as 12.50."},
		"price with comma":   {"price", "2,500", "Error: Price of one piece must be a number, digits with at most one dot, such as 12.50."},
		"price of nothing":   {"price", "0", "Error: Price of one piece must be more than 0."},
		"too many":           {"max_quantity", "10000", "Error: Maximum quantity per order must be a whole number from 0 to 9999."},
		"no number":          {"max_quantity", "many", "Error: Maximum quantity per order must be a whole number from 0 to 9999."},
		"VAT above 50":       {"vat_rate", "50.01", "Error: VAT rate in percent must be at most 50 percent."},
		"VAT in thousandths": {"vat_rate", "7.705", "Error: VAT rate in percent must have at most 2 decimals."},
		"VAT with a sign":    {"vat_rate", "19 %", "Error: VAT rate in percent must be a percentage from 0 to 50, digits with at most one dot, such as 19 or 7.7."},
		"negative VAT":       {"vat_rate", "-1", "Error: VAT rate in percent must be a percentage from 0 to 50, digits with at most one dot, such as 19 or 7.7."},
		"unknown currency":   {"fiat_currency", "XXX", "Currency must be EUR or USD."},
		"unknown question":   {"ask_note", "perhaps", "Ask for a note must be no, optional or required."},
		"slug in use":        {"slug", "coffee", "Error: Slug is in use already."},
		"slug with capital":  {"slug", "Tea", "Error: Slug must have 1 to 64 letters a to z, digits and hyphens."},
		"control character":  {"description", "a\x01b", "Error: Description must not contain the invisible character U+0001."},
	} {
		answer := b.post("/desk/shop/products/new", with(valid, tt.field, tt.value)...).want(http.StatusUnprocessableEntity, "Nothing was saved.")
		if got := answer.fault(tt.field); got != tt.want {
			t.Errorf("%s, new: %q, want %q", name, got, tt.want)
		}
		if got, sent := answer.fields("edit"), with(valid, tt.field, strings.TrimSpace(tt.value)); tt.field != "ask_note" && !slices.Equal(withoutToken(got), withoutToken(sent)) {
			t.Errorf("%s: the form has the values %q, want %q", name, got, sent)
		}
		if tt.field == "slug" {
			continue
		}
		if got := b.post("/desk/shop/products/coffee/edit", with(edit, tt.field, tt.value)...).want(http.StatusUnprocessableEntity, "Nothing was saved.").fault(tt.field); got != tt.want {
			t.Errorf("%s, change: %q, want %q", name, got, tt.want)
		}
	}
	b.post("/desk/shop/products/new", with(valid, "name", "茶", "slug", "")...).want(http.StatusUnprocessableEntity, "Slug must have 1 to 64 letters")
	b.post("/desk/shop/products/new", with(valid, "method-BTC", "first")...).want(http.StatusUnprocessableEntity, "Payment methods must have positions of the list.")
	f.checkProduct(coffee)
	if all, err := f.products.Products(t.Context(), shop); err != nil || len(all) != 1 {
		t.Errorf("%d products, error %v, want 1", len(all), err)
	}
	for i := range merchant.MaxProducts - 1 {
		f.addProduct("more-"+strings.Repeat("x", i%50)+string(rune('a'+i%26))+string(rune('a'+i/26)), "More", "1.00")
	}
	b.post("/desk/shop/products/new", valid...).want(http.StatusUnprocessableEntity, "The shop has 200 products, which is the maximum.")
}

// A change, a removal and a hiding of a product that another account has changed meanwhile are answered with
// the new facts, and change nothing. The typed values stay in the form.
func TestProducts_refuse_changes_of_an_old_version(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b, tove := f.owner(), f.as("Tove", account.Manager)
	p := f.addProduct("coffee", "Filter coffee", "3.50")
	at := "/desk/shop/products/coffee"
	edit, ask := b.get(at+"/edit"), b.get(at+"/remove")
	tove.post(at+"/edit", with(tove.get(at+"/edit").fields("edit"), "price", "4", "description", "From Kenya")...).wantRedirect(at + "/edit?done=product-changed")
	p.Price, p.Description = money.MustParse("4.00", money.EUR), "From Kenya"
	f.checkProduct(p)
	before := len(f.actions())
	mine := with(edit.fields("edit"), "name", "Coffee")
	refused := b.post(at+"/edit", with(mine, "max_quantity", "many")...).want(http.StatusUnprocessableEntity, "Nothing was saved.")
	for _, sent := range [][]string{mine, with(mine, "version", ""), with(refused.fields("edit"), "max_quantity", "")} {
		stale := b.post(at+"/edit", sent...).want(http.StatusConflict, "It was changed after you opened the page. Nothing was saved.")
		for field, want := range map[string]string{"name": "Error: Stored meanwhile: Filter coffee", "price": "Error: Stored meanwhile: 4.00", "description": "Error: Stored meanwhile: From Kenya", "max_quantity": ""} {
			if got := stale.fault(field); got != want {
				t.Errorf("%s: %q, want %q", field, got, want)
			}
		}
		if got := stale.find("#name").AttrOr("value", ""); got != "Coffee" {
			t.Errorf("the form has the name %q, want the typed one", got)
		}
	}
	b.post(at+"/remove", ask.fields("decide")...).want(http.StatusConflict, "Remove Filter coffee, €4.00?").want(http.StatusConflict, "Nothing was removed.")
	b.send(at+"/hide", "version", edit.find("#edit input[name=version]").AttrOr("value", "")).want(http.StatusConflict, "Filter coffee On sale")
	f.checkProduct(p)
	if got := f.actions(); len(got) != before {
		t.Errorf("the audit log has %q after refused changes", got[before:])
	}
	again := b.post(at+"/edit", mine...).want(http.StatusConflict, "Nothing was saved.")
	b.post(at+"/edit", with(again.fields("edit"), "price", "4", "description", "From Kenya")...).wantRedirect(at + "/edit?done=product-changed")
	p.Name = "Coffee"
	f.checkProduct(p)
	tove.post(at+"/remove", tove.get(at+"/remove").fields("decide")...).wantRedirect("/desk/shop/products?done=product-removed")
	b.post(at+"/edit", mine...).want(http.StatusNotFound, "Not found")
}

// Test products are listed apart from live products, and products of another shop are not found.
func TestProducts_of_other_modes_and_shops(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.addProduct("coffee", "Filter coffee", "3.50")
	form := b.get("/desk/shop/products/new?mode=test").want(http.StatusOK, "Test payments. No real money moves.")
	b.post("/desk/shop/products/new?mode=test", with(form.fields("edit"), "name", "Tea", "price", "1", "active", "")...).wantRedirect("/desk/shop/products/tea/edit?done=product-added")
	f.checkProduct(merchant.Product{
		Slug: "tea", MerchantID: shop, Mode: merchant.Test, Name: "Tea", Price: money.MustParse("1.00", money.EUR), AskOrderID: merchant.AskNo, AskNote: merchant.AskNo, CreatedAt: f.clock.Now(),
	})
	if text := b.get("/desk/shop/products").text(); strings.Contains(text, "Tea") || !strings.Contains(text, "1 product,") {
		t.Errorf("the list of live products does not have exactly the live one: %q", text)
	}
	if text := b.get("/desk/shop/products?mode=test").want(http.StatusOK, "Tea Hidden – – €1.00").text(); strings.Contains(text, "Filter coffee") {
		t.Errorf("the list of test products has a live one: %q", text)
	}
	b.get("/desk/shop/products/tea/edit").want(http.StatusOK, "Test payments. No real money moves.")
	b.post("/desk/shop/products/tea/remove", b.get("/desk/shop/products/tea/remove").fields("decide")...).wantRedirect("/desk/shop/products?mode=test&done=product-removed")

	team, err := f.accounts.Team(t.Context())
	f.must(err)
	f.must(f.accounts.ChangeRoles(t.Context(), team[0].ID, func(r map[string]account.Role) error { r["other"] = account.Owner; return nil }))
	if n := b.get("/desk/other/products").find(`a[href$="/s/other/shop"]`).Length(); n != 1 {
		t.Errorf("%d links to the storefront of the other shop, want 1", n)
	}
	b.get("/desk/other/products/coffee/edit").want(http.StatusNotFound, "Not found")
	if text := b.get("/desk/other/products/new").text(); strings.Contains(text, "coffee") {
		t.Errorf("the page of another shop has the product: %q", text)
	}
}
