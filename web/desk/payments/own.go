package payments

import (
	"errors"
	"net/http"
	"slices"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// ownTerminals lists the terminals that the account uses, with their payments of the present day. A search with one
// result leads to the payment.
func (v *page) ownTerminals() error {
	if err := v.Live(); err != nil {
		return err
	}
	terminals, err := v.assigned()
	if err != nil {
		return err
	}
	q := v.listQuery()
	sales, err := v.ownSales(terminals, q)
	if err != nil {
		return err
	}
	if q.text != "" && q.after == (invoice.Position{}) && sales.more == (invoice.Position{}) {
		address, err := v.found(sales.rows, q.text)
		if err != nil {
			return err
		}
		if address != "" {
			return v.Redirect(http.StatusSeeOther, address)
		}
	}
	page, err := v.ownPage(terminals, q, sales)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, desk.OwnTerminalsPage(page))
}

// found returns the address of the only payment that a search found, or of the place with the searched name; "" if
// there is none.
func (v *page) found(rows []desk.PaymentRow, text string) (string, error) {
	switch len(rows) {
	case 0:
		return v.Place(text)
	case 1:
		return rows[0].URL, nil
	}
	return "", nil
}

// assigned returns the terminals of the account in the shop.
func (v *page) assigned() ([]merchant.Terminal, error) {
	return v.Terminals.AssignedTo(v.Request().Context(), v.Shop.ID, v.Account.ID)
}

// salesToday returns the filter of the payments that a terminal created on the present day.
func (v *page) salesToday(t merchant.Terminal) invoice.Filter {
	return invoice.Filter{
		MerchantID: v.Shop.ID, Mode: invoice.Mode(t.Mode), Origin: invoice.Origin{Kind: invoice.FromTerminal, ID: t.ID}, From: v.Today().Start(v.Zone()),
	}
}

// ownSales is a page of the payments of several terminals. More is the position after which there may be more.
type ownSales struct {
	rows []desk.PaymentRow
	more invoice.Position
}

// ownSales returns the payments of terminals on the present day that a query selects, newest first. Of each terminal it
// reads a page; a payment that is older than the end of one of these pages belongs to the next page.
func (v *page) ownSales(terminals []merchant.Terminal, q listQuery) (found ownSales, err error) {
	type sale struct {
		at invoice.Position
		desk.PaymentRow
	}
	var all []sale
	for _, t := range terminals {
		summaries, more, err := v.findOwn(v.salesToday(t), q)
		if err != nil {
			return found, err
		}
		if more != (invoice.Position{}) && (found.more == (invoice.Position{}) || more.Compare(found.more) < 0) {
			found.more = more
		}
		for _, s := range summaries {
			row := v.ownRow(s)
			if len(terminals) > 1 {
				row.Description = t.DisplayName()
			}
			all = append(all, sale{s.Position(), row})
		}
	}
	slices.SortFunc(all, func(a, b sale) int { return a.at.Compare(b.at) })
	for i, s := range all {
		if found.more != (invoice.Position{}) && s.at.Compare(found.more) > 0 {
			break
		}
		if i == pageSize {
			found.more = all[i-1].at
			break
		}
		found.rows = append(found.rows, s.PaymentRow)
	}
	return found, nil
}

// findOwn returns a page of the invoices that a filter and a searched text select, and the position after which there
// may be more.
func (v *page) findOwn(f invoice.Filter, q listQuery) ([]invoice.Summary, invoice.Position, error) {
	inv, err := v.identified(q.text)
	switch {
	case err != nil:
		return nil, invoice.Position{}, err
	case inv == nil:
		return v.search(f, q)
	case f.Selects(inv):
		return []invoice.Summary{inv.Summary()}, invoice.Position{}, nil
	}
	return nil, invoice.Position{}, nil
}

// ownRow returns a payment as a row that leads to its page for sellers.
func (v *page) ownRow(s invoice.Summary) desk.PaymentRow {
	row := v.Row(s)
	row.URL = v.Below(visit.OwnPath + "/payments/" + s.ID)
	return row
}

// ownPage returns the page of the terminals of the account.
func (v *page) ownPage(terminals []merchant.Terminal, q listQuery, sales ownSales) (page desk.OwnTerminals, err error) {
	if page.Frame, err = v.Frame(v.Text("desk.own"), visit.OwnPath); err != nil {
		return page, err
	}
	page.Query = q.text
	page.Test = len(terminals) > 0 && !slices.ContainsFunc(terminals, func(t merchant.Terminal) bool { return t.Mode == merchant.Live })
	page.Rows, page.IsFirst, page.Caption = sales.rows, q.after == (invoice.Position{}), v.Text("desk.own.caption")
	page.Shown = v.Words.Count("desk.payments.shown", len(sales.rows))
	if sales.more != (invoice.Position{}) {
		page.Older, page.OlderText = v.Below(visit.OwnPath)+q.behind(sales.more).encode(), v.Text("desk.older")
	}
	if q.text != "" {
		page.Clear = v.Below(visit.OwnPath)
	}
	switch {
	case len(terminals) == 0:
		page.Empty = v.Text("desk.own.none")
	case len(sales.rows) == 0 && page.Older == "" && q.text != "":
		page.Empty = v.Text("desk.own.notfound")
	case len(sales.rows) == 0 && page.Older == "":
		page.Empty = v.Text("desk.own.unsold")
	}
	page.Terminals, err = v.ownRows(terminals)
	return page, err
}

// ownRows returns the terminals of the account with their totals of the present day.
func (v *page) ownRows(terminals []merchant.Terminal) (rows []desk.OwnTerminal, err error) {
	sums := map[merchant.Mode]report.Report{}
	for _, t := range terminals {
		if _, known := sums[t.Mode]; !known {
			sums[t.Mode], err = v.Reports.Report(v.Request().Context(), v.Shop.ID, invoice.Mode(t.Mode), report.LastDays(1, v.Today()), report.Period{}, report.ByTerminal)
			if err != nil {
				return nil, err
			}
		}
		row := desk.OwnTerminal{
			Name: t.DisplayName(), Total: v.totalOf(sums[t.Mode], t.ID),
			Open: desk.Button{Action: v.Below(visit.OwnPath + "/" + t.ID + "/open"), Text: v.Text("desk.own.open"), Subject: t.DisplayName()},
		}
		if t.Mode == merchant.Test {
			row.Test = v.Text("desk.mode.test")
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// totalOf returns the number of paid payments of a terminal and what they received, in words.
func (v *page) totalOf(r report.Report, terminalID string) string {
	var paid int64
	amounts := ""
	for _, t := range r.Totals {
		for _, g := range t.Groups {
			if g.Value == terminalID && g.Total.Invoices > 0 {
				paid += g.Total.Invoices
				if amounts != "" {
					amounts += " + "
				}
				amounts += v.Fiat(g.Total.Received)
			}
		}
	}
	if paid == 0 {
		return v.Text("desk.own.total.none")
	}
	return v.Words.Count("desk.own.total", int(paid), "Amounts", amounts)
}

// openTerminal leads to the terminal in the path. It refuses a terminal of the shop that the account does not use.
func (v *page) openTerminal() error {
	ctx, id := v.Request().Context(), v.Param("terminal")
	secret, err := v.Terminals.SecretOf(ctx, v.Shop.ID, id, v.Account.ID)
	if errors.Is(err, merchant.ErrNotFound) {
		all, err := v.Terminals.List(ctx, v.Shop.ID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(t merchant.Terminal) bool { return t.ID == id }) {
			return visit.Refuse(account.Configure)
		}
		return merchant.ErrNotFound
	}
	if err != nil {
		return err
	}
	return v.Redirect(http.StatusSeeOther, v.Address("/pos/"+secret))
}
