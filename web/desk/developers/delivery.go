package developers

import (
	"net/http"
	"net/url"
	"strconv"

	"chequer/internal/merchant"
	"chequer/internal/wire"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// delivery shows the delivery of one event with its attempts.
func (v *page) delivery() error {
	e, err := v.ownWebhook()
	if err != nil {
		return err
	}
	d, attempts, err := v.Endpoints.Delivery(v.Request().Context(), e, v.Param("event"))
	if err != nil {
		return err
	}
	f, err := v.Frame(d.EventType, visit.KeysPath)
	if err != nil {
		return err
	}
	address := v.Below(webhooksPath + "/" + e.ID)
	page := desk.DeliveryDetail{
		Frame: f, Back: views.Link{Text: e.Name(), URL: address}, Delivery: v.Delivery(d, address+"/deliveries/"+url.PathEscape(d.EventID)), EventID: d.EventID,
	}
	if d.InvoiceID != "" {
		page.Invoice = views.Link{Text: views.Reference(d.InvoiceID), URL: v.Below("/payments/" + url.PathEscape(d.InvoiceID))}
	}
	if e.Paused && d.State == merchant.DeliveryPending {
		page.Hint = v.Text("desk.delivery.paused")
	}
	for _, t := range attempts {
		page.Attempts = append(page.Attempts, v.attempt(t))
	}
	return v.Show(http.StatusOK, desk.DeliveryPage(page))
}

// attempt returns an attempt without the body of the response, because the endpoint could have forwarded the request
// to a server whose responses the account must not read.
func (v *page) attempt(t merchant.Attempt) desk.Step {
	s := desk.Step{
		Text: v.Text("desk.delivery.attempt", "Number", strconv.Itoa(t.Number), "Result", v.ResultText(t.Status, t.Fault)), Shape: "bad",
		Detail: v.Text("desk.delivery.took", "Milliseconds", strconv.FormatInt(t.Duration.Milliseconds(), 10)), Time: wire.Time(t.At), At: v.Clock(t.At),
	}
	if t.Accepted() {
		s.Shape = "ok"
	}
	return s
}

// resend schedules the event of a delivery again.
func (v *page) resend() error {
	e, err := v.ownWebhook()
	if err != nil {
		return err
	}
	if err := v.Endpoints.Resend(v.Request().Context(), e, v.Param("event")); err != nil {
		return err
	}
	return v.Done(v.Below(webhooksPath+"/"+e.ID+"/deliveries/"+url.PathEscape(v.Param("event"))), "resent")
}
