package web

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/client"
	"chequer/static"
	"chequer/views"
)

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// reload is how often a page without a script looks again, when asked to.
const reload = 20 // seconds

// payment shows an invoice. "?m=" opens a method, "?auto=1" reloads the page,
// "?refused=" says why a simulation was not done, "?hold=" why no price was held.
func (h *Handler) payment(c echo.Context) error {
	snapshot, err := h.invoice(c)
	if err != nil {
		return err
	}
	auto := c.QueryParam("auto") == "1"
	reader := h.reader(c, snapshot.Resource.Language)
	page := h.paymentPage(c.Request().Context(), reader, snapshot, c.QueryParam("m"), auto)
	h.choice(&page.Page, c.QueryString())
	page.Simulate.Refusal = refusal(reader, refusals, c.QueryParam("refused"))
	page.Refusal = refusal(reader, holdRefusals, c.QueryParam("hold"))
	if auto && !page.Final && page.Refund.Action == "" {
		c.Response().Header().Set("Refresh", strconv.Itoa(reload))
	}
	return render(c, http.StatusOK, views.PaymentPage(page))
}

// paymentPage is an invoice as its page shows it. The paths hold the base path.
func (h *Handler) paymentPage(ctx context.Context, reader reader, snapshot client.Snapshot, method string, auto bool) views.Payment {
	r := snapshot.Resource
	r.OrderID, r.Description, r.MerchantName = undirected(r.OrderID), undirected(r.Description), undirected(r.MerchantName)
	self := h.path("/invoice/" + r.ForeignID)
	page := h.page(reader, "")
	h.choice(&page, "")
	h.framed(&page)
	script := "pay"
	if paysOnEVM(r) {
		script = "wallet"
	}
	if page.Frame != "" { // one script is lighter than two
		script, page.Frame = script+"framed", ""
	}
	page.Style, page.Script = h.path(static.Path("pay.css")), h.path(static.Path(script+".js"))
	style := h.wear(ctx, reader, &page, snapshot.Look, "pay.css")
	if style.Name != "" {
		r.MerchantName = style.Name
	}
	page.Shop = h.shopName(reader, r.MerchantName)
	p := present(r, scene{
		reader: reader, page: page, self: self, method: method, now: h.config.Now(),
		shop: h.shopInSentence(reader, r.MerchantName), demo: h.config.Demo,
		help: style.Support, public: h.config.BaseURL + "/invoice/" + r.ForeignID,
	})
	p.Version, p.Status = version(snapshot), r.Status
	p.Self, p.Stream = reader.keep(self), reader.keep(self+"/live?v="+p.Version)
	p.Check = views.Link{Text: reader.Text("payment.check"), URL: methodLink(reader.keep(self))}
	byItself := methodLink(reader.keep(self + "?auto=1"))
	if auto {
		p.Check.URL = byItself
	} else {
		p.Auto = views.Link{Text: reader.Count("payment.auto", reload), URL: byItself}
	}
	p.Leave = p.Leave && !h.config.StayOnPage && !style.Stay
	if len(p.Methods) > 0 {
		p.Proof = proofOf(r, self)
	}
	return p
}

// methodLink is an address of the page to which a method is added.
func methodLink(address string) string {
	if strings.Contains(address, "?") {
		return address + "&m="
	}
	return address + "?m="
}

// shopInSentence is the shop's name where a sentence goes on.
func (h *Handler) shopInSentence(r reader, merchant string) string {
	if merchant == "" && h.config.ShopName == "" {
		return r.Text("shop.unnamed")
	}
	return h.shopName(r, merchant)
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

// refusal is why something was not done, by the word that stands for it in an
// address; nothing for a word of others.
func refusal(r reader, known map[string]string, word string) string {
	id, ok := known[word]
	if !ok {
		return ""
	}
	return r.Text(id)
}

// invoice reads the invoice that a path names.
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
	h.costly.note(id, snapshot.Resource.MorePayments)
	return snapshot, nil
}

func invoiceID(c echo.Context) (string, error) {
	id := c.Param("id")
	if !idForm.MatchString(id) {
		return "", echo.ErrNotFound
	}
	return id, nil
}
