package payments

import (
	"net/http"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// allAttention lists the invoices of all shops that wait for a decision, oldest first.
func (v *page) allAttention() error {
	q := v.listQuery()
	cases, more, err := v.CasesOfAllShops(q.mode, q.after.Position, pageSize)
	if err != nil {
		return err
	}
	f, err := v.FrameIn(v.Text("desk.attention"), visit.AttentionPath, visit.AttentionPath, q.mode == invoice.Test)
	if err != nil {
		return err
	}
	page := desk.Attention{Frame: f, Cases: cases}
	if q.after == (place{}) {
		for _, m := range v.ShopsWith(account.Decide) {
			if err := v.atShop(m).addPastCases(&page, q.mode, m.Name); err != nil {
				return err
			}
		}
	}
	if more != (invoice.Position{}) {
		page.Newer = v.Below(visit.AttentionPath) + q.onlyFields("mode").nextPage(place{Position: more}).encode()
	}
	return v.Show(http.StatusOK, desk.AttentionPage(page))
}

// attention lists the invoices that wait for a decision, oldest first.
func (v *page) attention() error {
	if err := v.FollowChanges(); err != nil {
		return err
	}
	q := v.listQuery()
	rows, err := v.Invoices.Undecided(v.Request().Context(), v.Shop.ID, q.mode, q.after.Position, pageSize+1)
	if err != nil {
		return err
	}
	f, err := v.FrameIn(v.Text("desk.attention"), visit.AttentionPath, visit.AttentionPath, q.mode == invoice.Test)
	if err != nil {
		return err
	}
	page := desk.Attention{Frame: f}
	if len(rows) > pageSize {
		rows = rows[:pageSize]
		page.Newer = v.Below(visit.AttentionPath) + q.onlyFields("mode").nextPage(place{Position: rows[pageSize-1].Position()}).encode()
	}
	for _, inv := range rows {
		page.Cases = append(page.Cases, v.Case(inv))
	}
	if q.after == (place{}) {
		if err := v.addPastCases(&page, q.mode, ""); err != nil {
			return err
		}
	}
	return v.Show(http.StatusOK, desk.AttentionPage(page))
}

// atShop returns the visit of the same account to one shop.
func (v *page) atShop(m merchant.Merchant) *page {
	return &page{Visit: v.AtShop(m), Screens: v.Screens}
}
