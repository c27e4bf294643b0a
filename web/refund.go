package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/views"
)

// refund stores the address that the shopper wants refunds at, and redirects to the page. If the
// address is invalid, it renders the form again with the address and the problem.
func (h *Handler) refund(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	request := api.RefundRequest{Currency: c.FormValue("currency"), Address: strings.TrimSpace(c.FormValue("address"))}
	err = errNoAddress
	if request.Address != "" {
		err = h.config.Client.SetRefundAddress(ctx, id, request)
	}
	refused, ok := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, h.reader(c, "").keep(h.path("/invoice/"+id)+"#refund"))
	case !ok || refused.Status != http.StatusBadRequest && refused.Status != http.StatusConflict:
		return fmt.Errorf("set refund address: %w", err)
	}
	snapshot, err := h.config.Client.Invoice(ctx, id)
	if err != nil {
		return fmt.Errorf("read invoice: %w", err)
	}
	reader := h.reader(c, snapshot.Resource.Language)
	page := h.paymentPage(ctx, reader, snapshot, "", false)
	refuseRefund(&page, reader, refused, request)
	return render(c, refusedStatus(refused.Status), views.PaymentPage(page))
}

// backToInvoice redirects a GET of an address that a form posts to, to the invoice's page.
func (h *Handler) backToInvoice(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, h.reader(c, "").keep(h.path("/invoice/"+id)))
}

// errNoAddress is the error for a form without an address.
var errNoAddress = &client.Error{Status: http.StatusBadRequest, Code: "no_address"}

// refundRefusals maps error codes to the texts that say why an address was not saved. The text for
// other codes is refund.refused.
var refundRefusals = map[string]string{
	errNoAddress.Code:    "refund.none",
	"private_key":        "refund.private",
	"refund_address_set": "refund.set",
	"wrong_state":        "refused.changed",
	"nothing_received":   "refused.changed",
}

// refundRefusal says why an address was not saved. The service's own message, which is in English, is
// more precise and is shown on an English page.
func refundRefusal(r reader, refused *client.Error) string {
	if rest, about := strings.CutPrefix(refused.Message, "address is "); about && r.English() {
		return r.Text("refund.this", "Detail", strings.TrimSuffix(rest, "."))
	}
	id, known := refundRefusals[refused.Code]
	if !known {
		id = "refund.refused"
	}
	if known && refused.Message == "" || !r.English() {
		return r.Text(id)
	}
	return sentence(strings.TrimSuffix(refused.Message, ".")) + "."
}

// refuseRefund shows the refused form again. A private key is not shown again, because others may see
// the screen.
func refuseRefund(p *views.Payment, reader reader, refused *client.Error, r api.RefundRequest) {
	words := refundRefusal(reader, refused)
	p.Title = reader.Text("error.title", "Title", p.Title)
	if p.Refund.Action == "" { // the page no longer asks for an address
		p.Refusal = words
		return
	}
	p.Refund.Error = words
	if refused.Code != "private_key" {
		p.Refund.Address = r.Address
	}
	for i := range p.Refund.Currencies {
		p.Refund.Currencies[i].Chosen = p.Refund.Currencies[i].Code == r.Currency
	}
}

// showRefund asks for a refund address when the shopper paid too much, too little or too late, or
// shows the address that the shopper gave.
func showRefund(p *views.Payment, r api.Resource, s scene) {
	options := currencies(r, s)
	if len(options) == 0 || !asksRefund(r) {
		return
	}
	if r.RefundAddress != "" {
		p.Refund = views.Refund{
			Saved: r.RefundAddress, SavedParts: views.AddressGroups(r.RefundAddress), Label: s.Text("refund.saved", "Unit", unit(r, s, r.RefundCurrency)),
			Hint: s.Text("refund.saved.hint", "Shop", s.shop),
		}
		return
	}
	p.Refund = views.Refund{
		Action: s.keep(s.self + "/refund"), Heading: s.Text("refund.heading"), Label: s.Text("refund.address"), Currencies: options,
		Hint: s.Text("refund.hint", "Shop", s.shop),
	}
	p.Leave = false // the page must not leave while the shopper types
	if has(r, api.ExceptionOverpaid) {
		p.Refund.Heading = s.Text("refund.extra")
	}
	if len(options) == 1 {
		p.Refund.Label = refundLabel(r, s, options[0].Code)
	}
}

// asksRefund reports whether money may have to be refunded.
func asksRefund(r api.Resource) bool {
	switch r.Status {
	case api.StatusExpired:
		return has(r, api.ExceptionLate) || !isZero(r.PaidAmount)
	case api.StatusDeclined:
		return true
	}
	return has(r, api.ExceptionOverpaid) || has(r, api.ExceptionLate)
}

// currencies returns the currencies of the payments, each once.
func currencies(r api.Resource, s scene) []views.Currency {
	var list []views.Currency
	for _, t := range r.Payments {
		there := t.State != "dust" && onNetwork(t)
		if there && !slices.ContainsFunc(list, func(c views.Currency) bool { return c.Code == t.CryptoCurrency }) {
			list = append(list, views.Currency{Code: t.CryptoCurrency, Text: unit(r, s, t.CryptoCurrency)})
		}
	}
	if len(list) > 0 {
		list[0].Chosen = true
	}
	return list
}

// refundLabel names the kind of address that is asked for.
func refundLabel(r api.Resource, s scene, code string) string {
	for _, m := range r.PaymentMethods {
		switch {
		case m.CryptoCurrency != code:
		case m.ChainID != "":
			return s.Text("refund.address.network", "Network", m.NetworkName)
		default:
			return s.Text("refund.address.coin", "Coin", methodLabel(m))
		}
	}
	return s.Text("refund.address.coin", "Coin", code)
}
