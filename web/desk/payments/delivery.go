package payments

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// maxDeliveries is the largest number of deliveries of an invoice to one endpoint that its page lists.
const maxDeliveries = 20

// deliveries returns the newest deliveries of the invoice's events, newest first.
func (v *page) deliveries(inv *invoice.Invoice) ([]desk.Delivery, error) {
	ctx := v.Request().Context()
	endpoints, err := v.Endpoints.All(ctx, v.Shop.ID)
	if err != nil {
		return nil, err
	}
	var all []merchant.Delivery
	names := map[string]string{}
	for _, e := range endpoints {
		if string(e.Mode) != string(inv.Mode) {
			continue
		}
		list, err := v.Endpoints.InvoiceDeliveries(ctx, e, inv.ID, maxDeliveries)
		if err != nil {
			return nil, err
		}
		all, names[e.ID] = append(all, list...), v.endpointName(e)
	}
	slices.SortStableFunc(all, func(a, b merchant.Delivery) int { return cmp.Compare(b.Position, a.Position) })
	var rows []desk.Delivery
	for _, d := range all {
		rows = append(rows, v.deliveryRow(inv, d, names[d.EndpointID]))
	}
	return rows, nil
}

// endpointName returns the name of an endpoint. Accounts that may not manage it see its host only, because the path
// may contain a secret.
func (v *page) endpointName(e merchant.Endpoint) string {
	if v.May(account.ManageKeys) {
		return e.Name()
	}
	return e.Host()
}

// deliveryRow returns a delivery with the form that sends its event again, and the link to its page.
func (v *page) deliveryRow(inv *invoice.Invoice, d merchant.Delivery, endpoint string) desk.Delivery {
	address := ""
	if v.May(account.ManageKeys) {
		address = v.Below("/webhooks/" + d.EndpointID + "/deliveries/" + url.PathEscape(d.EventID))
	}
	row := v.Delivery(d, address)
	row.To = endpoint
	if v.May(account.Sell) {
		row.Resend = desk.Button{
			Action: v.Below("/payments/" + inv.ID + "/resend"), Text: v.Text("desk.delivery.again"), Subject: d.EventType + " " + endpoint,
			Hidden: []desk.Hidden{{Name: "endpoint", Value: d.EndpointID}, {Name: "event", Value: d.EventID}},
		}
		if row.Pending {
			row.Resend.Text = v.Text("desk.delivery.now")
		}
	}
	return row
}

// resend sends an event of the invoice again to one endpoint.
func (v *page) resend() error {
	inv, err := v.shopInvoice()
	if err != nil {
		return err
	}
	event := v.FormValue("event")
	err = merchant.ErrNotFound
	if visit.IsText(event) { // other text cannot be an event ID
		err = v.Endpoints.ResendForInvoice(v.Request().Context(), v.Shop.ID, inv.ID, v.FormValue("endpoint"), event)
	}
	if errors.Is(err, merchant.ErrNotFound) {
		return v.showPayment(http.StatusConflict, inv, v.Text("desk.problem.delivery"))
	}
	if err != nil {
		return err
	}
	return v.Done(v.Below("/payments/"+inv.ID), "resent")
}
