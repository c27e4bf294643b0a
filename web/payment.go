package web

import (
	"fmt"
	"net/http"
	"regexp"

	"github.com/labstack/echo/v4"

	"chequer/internal/client"
	"chequer/static"
	"chequer/views"
)

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// reload is how often a page without a script looks again, when asked to.
const reload = "20"

// payment shows an invoice. "?m=" opens a method, "?auto=1" reloads the page,
// "?refused=" says why a simulation was not done, "?hold=" why no price was held.
func (h *Handler) payment(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	snapshot, err := h.config.Client.Invoice(c.Request().Context(), id)
	if err != nil {
		return fmt.Errorf("read invoice: %w", err)
	}
	auto := c.QueryParam("auto") == "1"
	page := h.paymentPage(snapshot, c.QueryParam("m"), auto)
	page.Simulate.Refusal = refusals[c.QueryParam("refused")]
	page.Refusal = holdRefusals[c.QueryParam("hold")]
	if auto && !page.Final && page.Refund.Action == "" {
		c.Response().Header().Set("Refresh", reload)
	}
	return render(c, http.StatusOK, views.PaymentPage(page))
}

// paymentPage is an invoice as its page shows it. The paths hold the base path.
func (h *Handler) paymentPage(snapshot client.Snapshot, method string, auto bool) views.Payment {
	r := snapshot.Resource
	r.OrderID, r.Description, r.MerchantName = undirected(r.OrderID), undirected(r.Description), undirected(r.MerchantName)
	self := h.path("/invoice/" + r.ForeignID)
	page := h.page("")
	page.Shop = h.shopName(r.MerchantName)
	h.framed(&page)
	page.Style, page.Script = h.path(static.Path("pay.css")), h.path(static.Path("pay.js"))
	if paysOnEVM(r) {
		page.Script = h.path(static.Path("wallet.js"))
	}
	p := present(r, scene{
		page: page, self: self, method: method, now: h.config.Now(),
		shop: h.shopInSentence(r.MerchantName), demo: h.config.Demo,
	})
	p.Version, p.Status = version(snapshot), r.Status
	p.Self, p.Stream = self, self+"/live?v="+p.Version
	p.Check = views.Link{Text: "Check for my payment", URL: self + "?m="}
	if auto {
		p.Check.URL = self + "?auto=1&m="
	} else {
		p.Auto = views.Link{Text: "Reload this page by itself every 20 seconds", URL: self + "?auto=1&m="}
	}
	p.Leave = p.Leave && !h.config.StayOnPage
	if len(p.Methods) > 0 {
		p.Proof = proofOf(r, self)
	}
	return p
}

// shopInSentence is the shop's name where a sentence goes on.
func (h *Handler) shopInSentence(merchant string) string {
	if merchant == "" && h.config.ShopName == "" {
		return "the shop"
	}
	return h.shopName(merchant)
}

// version changes whenever the page would look different: with the invoice, and
// when the price is no longer held, which makes no new version of it.
func version(snapshot client.Snapshot) string {
	v := snapshot.ETag
	if v == "" {
		v = fmt.Sprintf("%d-%s", snapshot.Resource.Version, snapshot.Resource.Status)
	}
	v = tagForm.ReplaceAllString(v, "")
	if snapshot.Resource.SecondsLeft <= 0 {
		v += "-ended"
	}
	return v
}

// tagForm is what is left out of a version, so that it fits an address and a
// line of a stream.
var tagForm = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

func invoiceID(c echo.Context) (string, error) {
	id := c.Param("id")
	if !idForm.MatchString(id) {
		return "", echo.ErrNotFound
	}
	return id, nil
}
