package web

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/receipt"
	"chequer/views"
	"chequer/web/present"
)

// receipt serves GET /invoice/{id}/receipt.pdf, the page of a paid invoice as a document. An invoice that
// is not paid has no receipt.
func (h *Handler) receipt(c echo.Context) error {
	snapshot, err := h.invoice(c)
	if err != nil {
		return err
	}
	f := h.invoiceFrame(c, snapshot)
	page := f.Payment(snapshot, "", false)
	if page.PDF.URL == "" {
		return noReceipt(c, f, page)
	}
	if f.RightToLeft { // the document's fonts have no letters of these languages
		f.Reader = present.English()
		page = f.Payment(snapshot, "", false)
	}
	paidAt, err := time.Parse(time.RFC3339, snapshot.Resource.PaidAt)
	if err != nil { // the service did not return the time, which the document contains as metadata only
		paidAt = time.Unix(0, 0)
	}
	document, err := receipt.Write(present.Receipt(page, paidAt))
	if err != nil {
		return err
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="receipt-`+views.Reference(c.Param("id"))+`.pdf"`)
	return c.Blob(http.StatusOK, "application/pdf", document)
}

// noReceipt answers with 404 and a link back to the payment page, which shows the invoice's state.
func noReceipt(c echo.Context, f present.Frame, p views.Payment) error {
	f.Theme = present.Theme{}
	page := views.Error{
		Page: f.Page(f.Text("receipt.none"), "", "store.css"), Heading: f.Text("receipt.none"), Text: f.Text("receipt.none.text"),
		Action: views.Link{Text: f.Text("fault.payment"), URL: p.Self},
	}
	page.Shop = p.Shop
	return render(c, http.StatusNotFound, views.ErrorPage(page))
}
