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

// reloadInterval is how often a page without a script reloads itself if the shopper asked for it.
const reloadInterval = 20 // seconds

// payment shows an invoice. "?m=" opens a method, "?auto=1" reloads the page periodically,
// "?refused=" says why a simulation was refused, "?hold=" why no new price was held.
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
		c.Response().Header().Set("Refresh", strconv.Itoa(reloadInterval))
	}
	return render(c, http.StatusOK, views.PaymentPage(page))
}

// paymentPage returns the view of an invoice's page. The paths include the base path.
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
	style := h.applyTheme(ctx, reader, &page, snapshot.Theme, "pay.css")
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
	periodic := methodLink(reader.keep(self + "?auto=1"))
	if auto {
		p.Check.URL = periodic
	} else {
		p.Auto = views.Link{Text: reader.Count("payment.auto", reloadInterval), URL: periodic}
	}
	p.Leave = p.Leave && !h.config.StayOnPage && !style.Stay
	if len(p.Methods) > 0 {
		p.Proof = proofOf(r, self)
	}
	return p
}

// methodLink returns an address of the page that ends where the code of a method is appended.
func methodLink(address string) string {
	if strings.Contains(address, "?") {
		return address + "&m="
	}
	return address + "?m="
}

// shopInSentence returns the shop's name for use within a sentence.
func (h *Handler) shopInSentence(r reader, merchant string) string {
	if merchant == "" && h.config.ShopName == "" {
		return r.Text("shop.unnamed")
	}
	return h.shopName(r, merchant)
}

// version returns a string that changes whenever the page would look different: with the invoice's
// version, and when the quote expires, which does not change the invoice's version.
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

// tagForm matches the characters that are removed from a version, so that it fits in an address
// and in a line of an event stream.
var tagForm = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// refusal returns the text for a code in the page's address; empty for an unknown code, so that an
// address cannot put other text on the page.
func refusal(r reader, known map[string]string, code string) string {
	id, ok := known[code]
	if !ok {
		return ""
	}
	return r.Text(id)
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
