package web

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/receipt"
	"chequer/views"
)

// receipt serves GET /invoice/{id}/receipt.pdf: the page of a paid invoice as a document. An invoice
// that is not paid has none, because the document would not show a payment.
func (h *Handler) receipt(c echo.Context) error {
	snapshot, err := h.invoice(c)
	if err != nil {
		return err
	}
	reader := h.reader(c, snapshot.Resource.Language)
	page := h.paymentPage(c.Request().Context(), reader, snapshot, "", false)
	if page.PDF.URL == "" {
		return h.noReceipt(c, reader, page)
	}
	if reader.RightToLeft { // the document's fonts have no such letters
		page = h.paymentPage(c.Request().Context(), english(), snapshot, "", false)
	}
	paidAt, err := time.Parse(time.RFC3339, snapshot.Resource.PaidAt)
	if err != nil { // the service did not return the time
		paidAt = time.Unix(0, 0)
	}
	document, err := receipt.Write(receiptOf(page, paidAt))
	if err != nil {
		return err
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="receipt-`+views.Reference(c.Param("id"))+`.pdf"`)
	return c.Blob(http.StatusOK, "application/pdf", document)
}

// noReceipt answers with a link back to the payment page, which shows the invoice's state.
func (h *Handler) noReceipt(c echo.Context, r reader, p views.Payment) error {
	page := h.page(r, r.Text("receipt.none"))
	page.Shop = p.Shop
	return render(c, http.StatusNotFound, views.ErrorPage(views.Error{
		Page: page, Heading: r.Text("receipt.none"), Text: r.Text("receipt.none.text"),
		Action: views.Link{Text: r.Text("fault.payment"), URL: p.Self},
	}))
}

// receiptOf returns the page of a paid invoice as a document: the same texts and facts, without the
// actions that only a page offers.
func receiptOf(p views.Payment, at time.Time) receipt.Receipt {
	r := receipt.Receipt{
		Title: p.Title, Lang: p.Tag, Shop: p.Shop, Label: strings.Join(p.Label, " "), Banner: p.Test,
		Due: receipt.Due{Label: p.Due.Label, Amount: p.Due.Amount, Line: cmp.Or(p.Due.Coins, p.Due.LineText())}, Heading: p.Heading, Footing: p.Footing, Says: []string{p.Line, p.Support.Text},
		Summary:  receipt.Summary{Heading: p.Summary.Heading, Text: p.Summary.Text, Rows: []receipt.Fact{{Label: p.Text("summary.total"), Value: p.Summary.Total}}},
		Replaced: p.Text("receipt.replaced", "Mark", "\ufffd"),
		At:       at,
	}
	if p.Summary.Words != "" {
		r.Summary.Rows = append(r.Summary.Rows, receipt.Fact{Label: p.Text("summary.words"), Value: p.Summary.Words})
	}
	for _, f := range p.Facts {
		r.Facts = append(r.Facts, receipt.Fact{Label: f.Label, Value: f.Value})
	}
	if p.Refund.Saved != "" {
		r.Facts = append(r.Facts, receipt.Fact{Label: p.Refund.Label, Value: p.Refund.Saved})
	}
	for _, n := range p.Notes {
		if n.Kind == "ok" { // an action on the page
			continue
		}
		note := receipt.Note{Strong: n.Strong, Text: n.Text}
		if n.Until.Text != "" {
			note.Text = strings.Join([]string{n.Text, n.Until.Text, n.Rest}, " ")
		}
		r.Notes = append(r.Notes, note)
	}
	return r
}
