package payments

import (
	"net/http"

	"chequer/internal/invoice"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// attention lists the invoices that wait for a decision, oldest first.
func (v *page) attention() error {
	if err := v.Live(); err != nil {
		return err
	}
	q := v.listQuery()
	rows, err := v.Invoices.Undecided(v.Request().Context(), v.Shop.ID, q.mode, q.after, pageSize+1)
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
		page.Newer = v.Below(visit.AttentionPath) + q.only("mode").behind(rows[pageSize-1].Position()).encode()
	}
	for _, inv := range rows {
		page.Cases = append(page.Cases, v.Case(inv))
	}
	return v.Show(http.StatusOK, desk.AttentionPage(page))
}
