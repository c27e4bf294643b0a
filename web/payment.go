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
	"chequer/internal/clock"
	"chequer/views"
	"chequer/web/present"
	"chequer/web/rendered"
)

// invoicePath is the path of the page of an invoice.
const invoicePath = "/invoice/:id"

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// payment shows an invoice. "?m=" opens a method, "&amount=1" shows its code with the amount, "?auto=1"
// reloads the page periodically, "?refused=" says why a simulation was refused, "?requote_refused=" and "?request_refused=" say why a new
// quote or a payment request was refused.
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
	page.Refusal = refusal(f.Reader, c, snapshot)
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
		b := buffers.Get().(*bytes.Buffer)
		defer buffers.Put(b)
		if page, err = h.renderPayment(c.Request().Context(), b, f, snapshot, key); err != nil {
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

// renderPayment renders the page of an invoice into a buffer, compresses it, and caches it.
func (h *Handler) renderPayment(ctx context.Context, b *bytes.Buffer, f present.Frame, snapshot client.Snapshot, key present.PageKey) (*rendered.Page, error) {
	b.Reset()
	h.rendered.Add(1)
	if err := views.PaymentPage(f.Payment(snapshot, "", false)).Render(ctx, b); err != nil {
		return nil, fmt.Errorf("render page: %w", err)
	}
	page := rendered.New(b.Bytes())
	h.cached.Add(key, page)
	return page, nil
}

// prerenderPauseFactor is the pause after the page of an invoice was rendered, as a multiple of the time that this took.
// Rendering therefore takes at most a tenth of a processor. The same limit applies to rendered.Small.
const prerenderPauseFactor = 9

// maxUnrendered is the largest number of new invoices whose pages wait to be rendered in advance.
const maxUnrendered = 64

// Prerender renders the pages of new invoices before they are opened, until the context ends. It reads the identifiers of
// the invoices from Config.Created. If invoices are created faster than pages are rendered, it renders the page of the newest
// invoice first, because the pages of the older ones are probably open already.
func (h *Handler) Prerender(ctx context.Context) error {
	r := prerenderer{handler: h, quick: rendered.NewCompressor(rendered.Quick), small: rendered.NewCompressor(rendered.Small)}
	var waiting []string
	for {
		if len(waiting) == 0 {
			select {
			case <-ctx.Done():
				return nil
			case id := <-h.config.Created:
				waiting = append(waiting, id)
			}
		}
		for len(h.config.Created) > 0 {
			waiting = append(waiting, <-h.config.Created)
		}
		waiting = waiting[max(0, len(waiting)-maxUnrendered):]
		last := len(waiting) - 1
		id := waiting[last]
		waiting = waiting[:last]
		start := time.Now()
		if err := r.render(ctx, id); err != nil && ctx.Err() == nil {
			h.config.Logger.Warn("page not rendered in advance", "invoice", id, "error", err)
		}
		if !clock.Sleep(ctx, prerenderPauseFactor*time.Since(start)) {
			return nil
		}
		if len(waiting)+len(h.config.Created) == 0 {
			r.compressFurther()
		}
	}
}

// prerenderer renders pages in advance. Its memory is used again for the next page.
type prerenderer struct {
	handler      *Handler
	quick, small *rendered.Compressor
	smallAfter   time.Time // time from which small may be used again

	// The page that was rendered last; page is nil if it was not rendered.
	key  present.PageKey
	page *rendered.Page
	text bytes.Buffer
}

// render draws the QR codes of the page of an invoice one after the other, and caches the page in the language of the
// invoice or, if it has none, in that of the shop.
func (r *prerenderer) render(ctx context.Context, id string) error {
	h := r.handler
	r.page = nil
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
	if r.key, err = f.PaymentKey(snapshot); err != nil {
		return fmt.Errorf("key of page: %w", err)
	}
	page, err := h.renderPayment(ctx, &r.text, f, snapshot, r.key)
	if err != nil {
		return err
	}
	r.page = r.quick.Add(page, r.text.Bytes())
	h.cached.Add(r.key, r.page)
	return nil
}

// compressFurther makes the page that was rendered last smaller, unless this took more than a tenth of the time before.
func (r *prerenderer) compressFurther() {
	start := time.Now()
	if r.page == nil || start.Before(r.smallAfter) {
		return
	}
	r.handler.cached.Add(r.key, r.small.Add(r.page, r.text.Bytes()))
	end := time.Now()
	r.smallAfter = end.Add(prerenderPauseFactor * end.Sub(start))
}

// plainPaymentFrame returns the frame of the page of an invoice at an address without parameters.
func (h *Handler) plainPaymentFrame(ctx context.Context, settings ShopSettings, r present.Reader, snapshot client.Snapshot) present.Frame {
	return h.forMerchant(ctx, h.withTheme(ctx, h.plainFrame(settings, r), snapshot.Theme), snapshot.MerchantID)
}
