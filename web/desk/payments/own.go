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
	if err := v.FollowChanges(); err != nil {
		return err
	}
	terminals, err := v.assigned()
	if err != nil {
		return err
	}
	q := v.listQuery()
	list, err := v.findOwn(terminals, q)
	if err != nil {
		return err
	}
	if q.text != "" && q.after == (place{}) && list.more.Position == (invoice.Position{}) {
		address, err := v.onlyResult(list.rows, q.text)
		if err != nil {
			return err
		}
		if address != "" {
			return v.Redirect(http.StatusSeeOther, address)
		}
	}
	page, err := v.ownPage(terminals, q, list)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, desk.OwnTerminalsPage(page))
}

// onlyResult returns the address of the only payment that a search found, or of the place with the searched name; "" if
// there is none.
func (v *page) onlyResult(rows []invoice.Summary, text string) (string, error) {
	switch len(rows) {
	case 0:
		return v.FindPlace(text)
	case 1:
		return v.ownRow(rows[0]).URL, nil
	}
	return "", nil
}

// assigned returns the terminals of the account in the shop.
func (v *page) assigned() ([]merchant.Terminal, error) {
	return v.Terminals.AssignedTo(v.Request().Context(), v.Shop.ID, v.Account.ID)
}

// paymentsToday returns the filter of the payments that a terminal created on the present day.
func (v *page) paymentsToday(t merchant.Terminal) invoice.Filter {
	return invoice.Filter{
		MerchantID: v.Shop.ID, Mode: invoice.Mode(t.Mode), Origin: invoice.Origin{Kind: invoice.FromTerminal, ID: t.ID}, From: v.Today().Start(v.Zone()),
	}
}

// findOwn returns a page of the payments of terminals on the present day that a query selects, newest first.
func (v *page) findOwn(terminals []merchant.Terminal, q listQuery) (found, error) {
	filters := make([]invoice.Filter, len(terminals))
	for i, t := range terminals {
		filters[i] = v.paymentsToday(t)
	}
	if q.text == "" {
		rows, more, err := v.mergedPage(filters, q.after.Position)
		return found{rows, place{Position: more}}, err
	}
	inv, err := v.identified(q.text)
	switch {
	case err != nil:
		return found{}, err
	case inv == nil:
		return v.searchOwn(filters, q)
	case slices.ContainsFunc(filters, func(f invoice.Filter) bool { return f.Selects(inv) }):
		return found{rows: []invoice.Summary{inv.Summary()}}, nil
	}
	return found{}, nil
}

// searchOwn returns a page of the invoices that any of the filters selects and that have a meaning of the searched text.
func (v *page) searchOwn(filters []invoice.Filter, q listQuery) (found, error) {
	byMeaning := [][]invoice.Filter{}
	for _, f := range filters {
		for meaning, candidate := range v.candidates(f, q.text) {
			if meaning == len(byMeaning) {
				byMeaning = append(byMeaning, nil)
			}
			byMeaning[meaning] = append(byMeaning[meaning], candidate)
		}
	}
	return searchMeanings(q.after, len(byMeaning), func(meaning int, after invoice.Position) ([]invoice.Summary, invoice.Position, error) {
		return v.mergedPage(byMeaning[meaning], after)
	})
}

// mergedPage returns a page of the invoices that any of the filters selects, newest first, and the position after which
// there may be more. It reads a page for each filter; an invoice that is older than the end of one of these pages
// belongs to the next page.
func (v *page) mergedPage(filters []invoice.Filter, after invoice.Position) (rows []invoice.Summary, end invoice.Position, err error) {
	for _, f := range filters {
		summaries, more, err := v.Invoices.Summaries(v.Request().Context(), f, after, pageSize)
		if err != nil {
			return nil, end, err
		}
		if more != (invoice.Position{}) && (end == (invoice.Position{}) || more.Compare(end) < 0) {
			end = more
		}
		rows = append(rows, summaries...)
	}
	slices.SortFunc(rows, func(a, b invoice.Summary) int { return a.Position().Compare(b.Position()) })
	if end != (invoice.Position{}) {
		rows = slices.DeleteFunc(rows, func(s invoice.Summary) bool { return s.Position().Compare(end) > 0 })
	}
	if len(rows) > pageSize {
		rows = rows[:pageSize]
		end = rows[pageSize-1].Position()
	}
	return rows, end, nil
}

// ownRow returns a payment as a row that leads to its page for sellers.
func (v *page) ownRow(s invoice.Summary) desk.PaymentRow {
	row := v.PaymentRow(s)
	row.URL = v.Below(visit.OwnPath + "/payments/" + s.ID)
	return row
}

// ownPage returns the page of the terminals of the account.
func (v *page) ownPage(terminals []merchant.Terminal, q listQuery, list found) (page desk.OwnTerminals, err error) {
	if page.Frame, err = v.Frame(v.Text("desk.own"), visit.OwnPath); err != nil {
		return page, err
	}
	page.Query = q.text
	page.Test = len(terminals) > 0 && !slices.ContainsFunc(terminals, func(t merchant.Terminal) bool { return t.Mode == merchant.Live })
	for _, s := range list.rows {
		row := v.ownRow(s)
		if len(terminals) > 1 {
			row.Description = nameOf(terminals, s.Origin.ID)
		}
		page.Rows = append(page.Rows, row)
	}
	page.IsFirst, page.Caption = q.after == (place{}), v.Text("desk.own.caption")
	page.Shown = v.Words.Count("desk.payments.shown", len(list.rows))
	if list.more.Position != (invoice.Position{}) {
		page.Older, page.OlderText = v.Below(visit.OwnPath)+q.nextPage(list.more).encode(), v.Text("desk.older")
	}
	if q.text != "" {
		page.Clear = v.Below(visit.OwnPath)
	}
	switch {
	case len(terminals) == 0:
		page.Empty = v.Text("desk.own.none")
	case len(list.rows) == 0 && page.Older == "" && q.text != "":
		page.Empty = v.Text("desk.own.notfound")
	case len(list.rows) == 0 && page.Older == "":
		page.Empty = v.Text("desk.own.unsold")
	}
	page.Terminals, err = v.ownRows(terminals)
	return page, err
}

// nameOf returns the name of the terminal with an identifier.
func nameOf(terminals []merchant.Terminal, id string) string {
	i := slices.IndexFunc(terminals, func(t merchant.Terminal) bool { return t.ID == id })
	if i < 0 {
		return id
	}
	return terminals[i].DisplayName()
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
