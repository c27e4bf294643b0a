package sell

import (
	"errors"
	"net/http"
	"slices"

	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/views"
	"chequer/views/desk"
)

// products lists the products of the shop.
func (v *page) products() error {
	mode := v.mode()
	all, err := v.Products.Products(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p merchant.Product) bool { return p.Mode != mode })
	f, err := v.listFrame(v.Text("desk.products"), productsPath, mode)
	if err != nil {
		return err
	}
	list := desk.SellList{
		Frame: f, Tabs: v.tabs(productsPath, mode), Add: views.Link{Text: v.Text("desk.product.add"), URL: v.BelowIn(productsPath+"/new", mode == merchant.Test)},
		Caption: v.Text("desk.products"), Shown: v.Words.Count("desk.products.shown", len(all)),
		Columns: desk.SellColumns{Name: v.Text("desk.product"), Detail: v.Text("desk.description"), State: v.Text("desk.state"), Sold: v.soldHeading(), Revenue: v.Text("desk.sell.revenue"), Amount: v.Text("desk.amounts.price")},
	}
	list.Shop = views.Link{Text: v.Text("desk.storefront.open"), URL: v.storefrontAddress("/shop")}
	if len(all) == 0 {
		list.Empty = v.Text("desk.products.none")
	}
	sold, err := v.soldBy(report.ByProduct, mode)
	if err != nil {
		return err
	}
	for _, p := range all {
		list.Rows = append(list.Rows, desk.SellRow{
			Name: p.Name, URL: v.Below(productsPath + "/" + p.Slug + "/edit"), Detail: p.Description, State: v.productState(p), Sold: sold[p.Slug].number(), Revenue: sold[p.Slug].revenue(), Amount: v.Fiat(p.Price),
		})
	}
	return v.Show(http.StatusOK, desk.SellListPage(list))
}

// productState returns the state of a product: hidden, not sold or shown.
func (v *page) productState(p merchant.Product) desk.State {
	switch {
	case !p.Active:
		return desk.State{Text: v.Text("desk.product.hidden"), Shape: "off"}
	case !v.Products.Sells(p):
		return desk.State{Text: v.Text("desk.product.unsold"), Shape: "warn"}
	}
	return desk.State{Text: v.Text("desk.product.shown"), Shape: "ok"}
}

// ownProduct returns the shop's product in the path.
func (v *page) ownProduct() (merchant.Product, error) {
	return v.Products.Product(v.Request().Context(), v.Shop.ID, v.Param("product"))
}

// showProduct shows the product in the path in the shop.
func (v *page) showProduct() error { return v.setActive(true, "product-shown") }

// hideProduct hides the product in the path.
func (v *page) hideProduct() error { return v.setActive(false, "product-hidden") }

func (v *page) setActive(active bool, result string) error {
	p, err := v.ownProduct()
	if err != nil {
		return err
	}
	_, err = v.Products.ChangeSeen(v.Request().Context(), v.Shop.ID, p.Mode, p.Slug, v.FormValue("version"), func(p *merchant.Product) error {
		p.Active = active
		return nil
	})
	if errors.Is(err, merchant.ErrStale) {
		return v.editProduct(http.StatusConflict, nil, err)
	}
	if err != nil {
		return err
	}
	return v.Done(v.Below(productsPath+"/"+p.Slug+"/edit"), result)
}

// askToRemoveProduct shows the consequences before a product is removed.
func (v *page) askToRemoveProduct() error {
	p, err := v.ownProduct()
	if err != nil {
		return err
	}
	return v.showRemoval(http.StatusOK, p, "")
}

func (v *page) showRemoval(status int, p merchant.Product, problem string) error {
	heading := v.Text("desk.product.remove.heading", "Name", p.Name, "Price", v.Fiat(p.Price))
	f, err := v.objectFrame(heading, p.Mode)
	if err != nil {
		return err
	}
	address := v.Below(productsPath + "/" + p.Slug)
	results := []desk.Result{{Shape: "warn", Text: v.Text("desk.product.remove.page")}, {Shape: "ok", Text: v.Text("desk.sell.invoices")}, {Shape: "ok", Text: v.Text("desk.sell.slug", "Slug", p.Slug)}}
	if p.Active {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.product.remove.hide")})
	}
	results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.cancel.final")})
	return v.Show(status, desk.DecisionPage(desk.Decision{
		Frame: f, Back: views.Link{Text: p.Name, URL: address + "/edit"}, Heading: heading, Problem: problem,
		Results: results, Action: address + "/remove", Hidden: []desk.Hidden{{Name: "version", Value: p.Revision()}}, Button: v.Text("desk.product.remove"),
	}))
}

// removeProduct removes the revision of a product whose consequences the account has seen.
func (v *page) removeProduct() error {
	p, err := v.ownProduct()
	if err != nil {
		return err
	}
	err = v.Products.RemoveSeen(v.Request().Context(), v.Shop.ID, p.Mode, p.Slug, v.FormValue("version"))
	if errors.Is(err, merchant.ErrStale) {
		if p, err = v.ownProduct(); err != nil {
			return err
		}
		return v.showRemoval(http.StatusConflict, p, v.Text("desk.problem.kept"))
	}
	if err != nil {
		return err
	}
	return v.redirectToList(productsPath, p.Mode, "product-removed")
}
