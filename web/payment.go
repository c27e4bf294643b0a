package web

import (
	"bytes"
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
	"chequer/web/rendered"
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
	if isPlain(c, f) {
		return h.sendPayment(c, f, snapshot)
	}
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

// isPlain reports whether the address of the page of an invoice has no parameters that change its content, except those of
// the language and of a frame.
func isPlain(c echo.Context, f present.Frame) bool {
	query := c.QueryString()
	return query == "" || query == present.ModalView || f.Explicit && query == "lang="+f.Code
}

// sendPayment sends the page of an invoice without a chosen method. If the client accepts compressed pages, the page is
// rendered and compressed only if no page with the same content is cached.
func (h *Handler) sendPayment(c echo.Context, f present.Frame, snapshot client.Snapshot) error {
	accepted := c.Request().Header.Get("Accept-Encoding")
	if !accepts(accepted, "gzip") {
		return render(c, http.StatusOK, views.PaymentPage(f.Payment(snapshot, "", false)))
	}
	key, err := f.PaymentKey(snapshot)
	if err != nil {
		return fmt.Errorf("key of page: %w", err)
	}
	page, found := h.cached.Find(key)
	if !found {
		if page, err = h.renderPayment(c.Request().Context(), f, snapshot, key, nil); err != nil {
			return err
		}
	}
	header, secondsLeft := c.Response().Header(), snapshot.Resource.SecondsLeft
	coding, body := "br", []byte(nil)
	if accepts(accepted, "br") {
		body = page.Brotli(secondsLeft)
	}
	if body == nil {
		coding, body = "gzip", page.Gzip(secondsLeft)
	}
	header.Add("Vary", "Accept-Language")
	header.Set("Content-Encoding", coding)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	return c.HTMLBlob(http.StatusOK, body)
}

// renderPayment renders and compresses the page of an invoice, and caches it. If small is not nil, it then compresses the
// page with it too.
func (h *Handler) renderPayment(ctx context.Context, f present.Frame, snapshot client.Snapshot, key present.PageKey, small *rendered.Compressor) (*rendered.Page, error) {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	h.rendered.Add(1)
	if err := views.PaymentPage(f.Payment(snapshot, "", false)).Render(ctx, b); err != nil {
		return nil, fmt.Errorf("render page: %w", err)
	}
	page := rendered.New(b.Bytes())
	h.cached.Add(key, page)
	if small != nil {
		page = small.Add(page, b.Bytes())
		h.cached.Add(key, page)
	}
	return page, nil
}

// prerenderPauseFactor is the pause after the page of an invoice was rendered, as a multiple of the time that this took.
// Prerender therefore takes at most a tenth of a processor.
const prerenderPauseFactor = 9

// Prerender renders the pages of new invoices before they are opened, until the context ends. It reads the identifiers of
// the invoices from Config.Created. If invoices are created faster, it compresses less, and the pages of some invoices are
// rendered when they are opened.
func (h *Handler) Prerender(ctx context.Context) error {
	quick, small := rendered.NewCompressor(rendered.Quick), rendered.NewCompressor(rendered.Small)
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-h.config.Created:
			start, compressor := time.Now(), small
			if len(h.config.Created) > 0 {
				compressor = quick
			}
			if err := h.prerenderPayment(ctx, id, compressor); err != nil && ctx.Err() == nil {
				h.config.Logger.Warn("page not rendered in advance", "invoice", id, "error", err)
			}
			if err := pause(ctx, prerenderPauseFactor*time.Since(start)); err != nil {
				return nil //nolint:nilerr // the context ended
			}
		}
	}
}

// prerenderPayment draws the QR codes of the page of an invoice one after the other, and caches the page in the language of
// the invoice or, if it has none, in that of the shop.
func (h *Handler) prerenderPayment(ctx context.Context, id string, compressor *rendered.Compressor) error {
	snapshot, err := h.config.Client.Invoice(ctx, id)
	if err != nil {
		return fmt.Errorf("read invoice: %w", err)
	}
	present.DrawCodes(snapshot.Resource)
	settings := h.config.ShopSettings(ctx, snapshot.MerchantID)
	language, found := settings.Languages.Find(snapshot.Resource.Language)
	if !found {
		language = settings.Languages.Default()
	}
	f := h.plainPaymentFrame(ctx, settings, present.Reader{Language: language}, snapshot)
	key, err := f.PaymentKey(snapshot)
	if err != nil {
		return fmt.Errorf("key of page: %w", err)
	}
	_, err = h.renderPayment(ctx, f, snapshot, key, compressor)
	return err
}

// plainPaymentFrame returns the frame of the page of an invoice at an address without parameters.
func (h *Handler) plainPaymentFrame(ctx context.Context, settings ShopSettings, r present.Reader, snapshot client.Snapshot) present.Frame {
	return h.forMerchant(ctx, h.withTheme(ctx, h.plainFrame(settings, r), snapshot.Theme), snapshot.MerchantID)
}
