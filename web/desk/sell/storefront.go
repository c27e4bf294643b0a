package sell

import (
	"net/http"
	"slices"
	"strings"

	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// maxItems is the largest number of checkout links in the list of the builder, which shows the newest first.
const maxItems = 200

// maxButton is the largest length of the text of a button, in characters.
const maxButton = 120

// item is a page that a merchant's own site can link to: the page of a checkout link or of a product.
type item struct {
	path   string // below the base URL: "pay/coffee"
	name   string
	button string // default text of the button
}

// opensInDialog reports whether the page of the item can be shown in a dialog over another site, as only payment pages
// can.
func (i item) opensInDialog() bool { return strings.HasPrefix(i.path, "pay/") }

// storefront shows the addresses of the storefront, and the code for the merchant's own site.
func (v *page) storefront() error {
	mode := v.mode()
	f, err := v.listFrame(v.Text("desk.storefront"), storefrontPath, mode)
	if err != nil {
		return err
	}
	items, err := v.items(mode)
	if err != nil {
		return err
	}
	view := desk.Storefront{Frame: f, Tabs: v.tabs(storefrontPath, mode), Pages: v.storefrontPages(), Action: v.Below(storefrontPath) + "#code"}
	if mode == merchant.Test {
		view.Kept = []desk.Hidden{{Name: "mode", Value: string(mode)}}
	}
	if len(items) == 0 {
		view.Empty = v.Text("desk.build.none")
		return v.Show(http.StatusOK, desk.StorefrontPage(view))
	}
	return v.Show(v.addSnippets(&view, items), desk.StorefrontPage(view))
}

// storefrontAddress returns the address of a page of the shop's storefront.
func (v *page) storefrontAddress(path string) string {
	return strings.TrimSuffix(v.Storefront(v.Shop), "/") + path
}

// storefrontPages returns the pages of the storefront.
func (v *page) storefrontPages() []desk.StorefrontLink {
	open, productsURL, firstPage := v.Text("desk.share.open"), v.storefrontAddress("/shop"), v.Storefront(v.Shop)
	products := desk.StorefrontLink{Name: v.Text("desk.products"), Text: productsURL, Open: views.Link{Text: open, URL: productsURL}}
	anyAmount := desk.StorefrontLink{Name: v.Text("desk.storefront.any"), Text: v.Text("desk.storefront.any.off")}
	if v.AnyAmount(v.Request().Context(), v.Shop.ID) {
		anyAmount.Text, anyAmount.Open = firstPage, views.Link{Text: open, URL: firstPage}
	}
	return []desk.StorefrontLink{products, anyAmount}
}

// items returns the pages of the shop in a mode that another site can link to: the links, newest first, and the
// products that are sold.
func (v *page) items(mode merchant.Mode) ([]item, error) {
	ctx := v.Request().Context()
	links, err := v.currentLinks(mode)
	if err != nil {
		return nil, err
	}
	var items []item
	for _, l := range links {
		items = append(items, v.linkItem(l))
	}
	products, err := v.Products.Products(ctx, v.Shop.ID)
	for _, p := range products {
		if p.Mode == mode && v.Products.Sells(p) {
			items = append(items, item{path: strings.TrimPrefix(v.storefrontAddress("/shop/"+p.Slug), v.BaseURL+"/"), name: p.Name, button: v.Text("desk.build.buy", "Name", p.Name, "Price", v.Fiat(p.Price))})
		}
	}
	return items, err
}

// currentLinks returns the newest maxItems links of a mode that have not ended, newest first. They contain the chosen link
// even if it is older.
func (v *page) currentLinks(mode merchant.Mode) ([]merchant.Link, error) {
	ctx, chosen := v.Request().Context(), strings.TrimPrefix(v.QueryParam("item"), "pay/")
	var newest []merchant.Link
	for l, err := range v.Links.All(ctx, v.Shop.ID, mode) {
		if err != nil {
			return nil, err
		}
		if !l.Ended(v.Now()) {
			newest = append(newest, l)
		}
		if len(newest) == maxItems {
			break
		}
	}
	if !visit.IsText(chosen) || slices.ContainsFunc(newest, func(l merchant.Link) bool { return l.Slug == chosen }) {
		return newest, nil
	}
	l, err := v.Links.Link(ctx, chosen)
	switch {
	case visit.IsNotFound(err) || err == nil && (l.MerchantID != v.Shop.ID || l.Mode != mode || l.Ended(v.Now())):
		return newest, nil
	case err != nil:
		return nil, err
	}
	return append(newest[:min(len(newest), maxItems-1)], l), nil
}

// linkItem returns the item of a link.
func (v *page) linkItem(l merchant.Link) item {
	i := item{path: "pay/" + l.Slug, name: "/pay/" + l.Slug + ", " + v.linkAmount(l), button: v.Text("desk.build.pay")}
	if l.Amount != "" {
		i.button = v.Text("desk.build.pay.amount", "Amount", v.linkAmount(l))
	}
	return i
}

// addSnippets adds the form and the code for the chosen item, and returns the status of the page.
func (v *page) addSnippets(view *desk.Storefront, items []item) int {
	values := map[string]string{"item": v.QueryParam("item"), "text": v.value("text")}
	if values["item"] == "" {
		values["item"] = items[0].path
	}
	f := &form{page: v, values: values}
	index := slices.IndexFunc(items, func(i item) bool { return i.path == values["item"] })
	chosen := items[max(index, 0)]
	if index < 0 {
		f.problem = &merchant.FieldError{Field: "item", Fault: v.Text("desk.build.gone")}
	} else if err := merchant.CheckLine(values["text"], maxButton); err != nil {
		f.problem = &merchant.FieldError{Field: "text", Fault: err.Error()}
	}
	var pairs []string
	for _, i := range items {
		pairs = append(pairs, i.path, i.name)
	}
	view.Item = f.choice("item", v.Text("desk.build.item"), pairs...).Choice
	view.Label = f.field("text", v.Text("desk.build.text"), v.Text("desk.build.text.hint", "Text", chosen.button)).Text
	if f.problem != nil {
		view.Problem = v.Text("desk.problem.build")
		return http.StatusUnprocessableEntity
	}
	text := chosen.button
	if values["text"] != "" {
		text = values["text"]
	}
	address := v.BaseURL + "/" + chosen.path
	view.Preview = views.Link{Text: text, URL: address}
	view.Snippets = []desk.Snippet{{Name: v.Text("desk.build.link"), Text: v.Text("desk.build.link.text"), Code: views.LinkSnippet(address, text), Copy: v.CopyButton("code-link")}}
	if !chosen.opensInDialog() {
		return http.StatusOK
	}
	view.Snippets = append(view.Snippets, desk.Snippet{
		Name: v.Text("desk.build.dialog"), Text: v.Text("desk.build.dialog.text"), Code: views.DialogSnippet(address, text, v.BaseURL), Copy: v.CopyButton("code-dialog"),
	})
	view.Note, view.Origins = v.Text("desk.build.origins"), v.EmbedOrigins
	if len(v.EmbedOrigins) == 0 {
		view.Note = v.Text("desk.build.origins.none")
	}
	return http.StatusOK
}

// builderLink returns the link to the code for an item.
func (v *page) builderLink(path string, mode merchant.Mode) views.Link {
	return views.Link{Text: v.Text("desk.build"), URL: v.BelowIn(storefrontPath+"?item="+path, mode == merchant.Test) + "#code"}
}
