package visit

import (
	"cmp"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/views/desk"
)

// AllShopsPath is the path of the pages of all shops.
const AllShopsPath = "/desk/" + allShops

// allShops takes the place of the ID of a shop in the paths of the pages of all shops. No shop has this ID.
const allShops = "all"

// enterAllShops finds the shops of the account for a page of all shops. The page has the time zone of the shops, or UTC if
// they have different ones.
func (v *Visit) enterAllShops() error {
	for _, id := range v.Account.Shops() {
		m, err := v.Merchants.Merchant(v.Request().Context(), id)
		if err != nil {
			return err
		}
		v.shops = append(v.shops, m)
	}
	if len(v.shops) == 0 {
		return echo.ErrNotFound
	}
	slices.SortFunc(v.shops, func(a, b merchant.Merchant) int { return cmp.Compare(a.Name, b.Name) })
	v.Shop, v.zone = merchant.Merchant{ID: allShops, Name: v.Text("desk.all")}, v.shops[0].Choices.Zone()
	if slices.ContainsFunc(v.shops, func(m merchant.Merchant) bool { return m.Choices.Zone() != v.zone }) {
		v.zone = time.UTC
	}
	return nil
}

// ShopsWith returns the shops in which the account has a permission, by name, on a page of all shops.
func (v *Visit) ShopsWith(p account.Permission) (shops []merchant.Merchant) {
	for _, m := range v.shops {
		if v.Account.Allows(m.ID, p) != account.Denied {
			shops = append(shops, m)
		}
	}
	return shops
}

// AtShop returns the visit of the same account to one shop. It shows times in the zone of the page of all shops.
func (v *Visit) AtShop(m merchant.Merchant) *Visit {
	visit := *v
	visit.Shop, visit.tallies, visit.shops = m, nil, nil
	return &visit
}

// CasesOfAllShops returns at most limit invoices of all shops that wait for a decision of the account, after a position,
// oldest first, and the position of the last one if there are more.
func (v *Visit) CasesOfAllShops(mode invoice.Mode, after invoice.Position, limit int) (cases []desk.Case, more invoice.Position, err error) {
	type shopInvoice struct {
		*invoice.Invoice
		shop merchant.Merchant
	}
	var all []shopInvoice
	for _, m := range v.ShopsWith(account.Decide) {
		open, err := v.Invoices.Undecided(v.Request().Context(), m.ID, mode, after, limit+1)
		if err != nil {
			return nil, more, err
		}
		for _, inv := range open {
			all = append(all, shopInvoice{inv, m})
		}
	}
	slices.SortFunc(all, func(a, b shopInvoice) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	if len(all) > limit {
		all = all[:limit]
		more = all[limit-1].Position()
	}
	for _, inv := range all {
		c := v.AtShop(inv.shop).Case(inv.Invoice)
		c.Shop = inv.shop.Name
		cases = append(cases, c)
	}
	return cases, more, nil
}

// tallyOfAllShops returns the numbers of undecided and of snoozed invoices in all shops in which the account decides.
func (v *Visit) tallyOfAllShops(mode invoice.Mode) (all invoice.Tally, err error) {
	for _, m := range v.ShopsWith(account.Decide) {
		t, err := v.Invoices.Tally(v.Request().Context(), m.ID, mode)
		if err != nil {
			return all, err
		}
		all.NeedDecision += t.NeedDecision
		all.Snoozed += t.Snoozed
	}
	return all, nil
}
