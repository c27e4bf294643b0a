package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/client"
	"chequer/views"
	"chequer/web/present"
)

// invoicePath is the path of the page of an invoice.
const invoicePath = "/invoice/:id"

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// payment shows an invoice. "?m=" opens a method, "&amount=1" shows its code with the amount, "?auto=1"
// reloads the page periodically, "?refused=" says why a simulation was refused, "?requote_refused=" says why a new quote was refused.
func (h *Handler) payment(c echo.Context) error {
	snapshot, err := h.invoice(c)
	if err != nil {
		return err
	}
	if c.Request().Header.Get("If-None-Match") == strconv.Quote(present.Version(snapshot)) {
		return c.NoContent(http.StatusNotModified) // a page without a stream polls with this header
	}
	auto := c.QueryParam("auto") == "1"
	f := h.invoiceFrame(c, snapshot)
	h.allowShop(c, &f, snapshot)
	f.WithAmount = c.QueryParam("amount") == "1"
	page := f.Payment(snapshot, c.QueryParam("m"), auto)
	page.Simulate.Refusal = present.SimulationRefusals.Text(f.Reader, c.QueryParam("refused"))
	page.Refusal = present.RequoteRefusals.Text(f.Reader, c.QueryParam("requote_refused"))
	if auto && !page.Final && page.Refund.Action == "" {
		c.Response().Header().Set("Refresh", strconv.Itoa(int(present.ReloadInterval/time.Second)))
	}
	return render(c, http.StatusOK, views.PaymentPage(page))
}

// invoiceFrame returns the frame of the page of an invoice. It records the invoice's merchant in the echo.Context.
func (h *Handler) invoiceFrame(c echo.Context, snapshot client.Snapshot) present.Frame {
	c.Set(merchantKey, snapshot.MerchantID)
	ctx := c.Request().Context()
	return h.forMerchant(ctx, h.withTheme(ctx, h.frame(c, h.reader(c, snapshot.Resource.Language)), snapshot.Theme), snapshot.MerchantID)
}

// invoice reads the invoice that the request's path names.
func (h *Handler) invoice(c echo.Context) (client.Snapshot, error) {
	id, err := invoiceID(c)
	if err != nil {
		return client.Snapshot{}, err
	}
	if err := h.costly.check(c, id); err != nil {
		return client.Snapshot{}, err
	}
	snapshot, err := h.config.Client.Invoice(c.Request().Context(), id)
	if err != nil {
		return snapshot, fmt.Errorf("read invoice: %w", err)
	}
	h.costly.record(id, snapshot.Resource.MorePayments)
	return snapshot, nil
}

// invoiceID returns the identifier of the invoice in the path or, for /invoice, in the parameter id.
func invoiceID(c echo.Context) (string, error) {
	id := cmp.Or(c.Param("id"), c.QueryParam("id"))
	if !idPattern.MatchString(id) {
		return "", echo.ErrNotFound
	}
	return id, nil
}

// drawPauseFactor is the pause after the QR codes of an invoice were drawn, as a multiple of the time that the
// drawing took. PrerenderCodes therefore takes at most a tenth of a processor.
const drawPauseFactor = 9

// PrerenderCodes draws the QR codes of new invoices before their pages are opened, until the context ends. It
// reads the identifiers of the invoices from Config.Created. If invoices are created faster than codes are
// drawn, the codes of some invoices are drawn when their pages are opened.
func (h *Handler) PrerenderCodes(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-h.config.Created:
			snapshot, err := h.config.Client.Invoice(ctx, id)
			if err != nil {
				continue // the page reads the invoice again and reports an error
			}
			drawingStart := time.Now()
			present.DrawCodes(snapshot.Resource)
			if err := pause(ctx, drawPauseFactor*time.Since(drawingStart)); err != nil {
				return nil //nolint:nilerr // the context ended
			}
		}
	}
}
