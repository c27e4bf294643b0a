package developers

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// pageSize is the number of deliveries on a page.
const pageSize = 25

// ownWebhook returns the endpoint in the path, which must be the shop's.
func (v *page) ownWebhook() (merchant.Endpoint, error) {
	return v.Endpoints.Endpoint(v.Request().Context(), v.Shop.ID, v.Param("endpoint"))
}

// webhook shows one endpoint with its deliveries.
func (v *page) webhook() error {
	e, err := v.ownWebhook()
	if err != nil {
		return err
	}
	return v.showWebhook(http.StatusOK, e, "")
}

// showWebhook shows an endpoint, and why a change was refused.
func (v *page) showWebhook(status int, e merchant.Endpoint, problem string) error {
	f, err := v.Frame(e.Name(), visit.KeysPath)
	if err != nil {
		return err
	}
	health, err := v.Endpoints.Health(v.Request().Context(), e)
	if err != nil {
		return err
	}
	page := desk.Webhook{
		Frame: f, Back: views.Link{Text: v.Text("desk.webhooks"), URL: v.Below(webhooksPath)}, Problem: problem, Row: v.webhookRow(e, health),
		Facts: v.webhookFacts(e, health), Buttons: v.webhookButtons(e, health), Links: v.webhookLinks(e),
	}
	if err := v.addDeliveries(&page, e); err != nil {
		return err
	}
	return v.Show(status, desk.WebhookPage(page))
}

func (v *page) webhookFacts(e merchant.Endpoint, h merchant.EndpointHealth) []desk.Fact {
	all := []desk.Fact{
		{Name: v.Text("desk.webhook.url"), Value: e.URL},
		{Name: v.Text("desk.webhook.events"), Value: v.eventsText(e)},
	}
	if !e.Plugin {
		all = append(all, desk.Fact{Name: v.Text("desk.webhook.key"), Value: e.Key})
	}
	if e.Rotating() {
		all = append(all, desk.Fact{Name: v.Text("desk.webhook.key.next"), Value: e.NextKey})
	}
	all = append(all,
		desk.Fact{Name: v.Text("desk.key.created.at"), Value: v.Clock(e.CreatedAt)},
		desk.Fact{Name: v.Text("desk.webhook.waiting"), Value: merchant.Counted(h.Waiting)},
		desk.Fact{Name: v.Text("desk.webhook.failed"), Value: merchant.Counted(h.Failed)},
		desk.Fact{Name: v.Text("desk.webhook.tried"), Value: v.Ago(h.LastAttemptAt)},
	)
	if !h.LastAttemptAt.IsZero() {
		all = append(all, desk.Fact{Name: v.Text("desk.webhook.last"), Value: v.ResultText(h.LastStatus, h.LastFault)})
	}
	return all
}

// eventsText returns the types of events that an endpoint receives.
func (v *page) eventsText(e merchant.Endpoint) string {
	return cmp.Or(strings.Join(e.Events, ", "), v.Text("desk.webhook.events.all"))
}

// webhookButtons returns the buttons of the changes that need no page with consequences, because they can be undone.
func (v *page) webhookButtons(e merchant.Endpoint, h merchant.EndpointHealth) []desk.Button {
	address := v.Below(webhooksPath + "/" + e.ID + "/")
	if e.Paused {
		return []desk.Button{{Action: address + resume, Text: v.Text("desk.webhook.resume")}}
	}
	buttons := []desk.Button{{Action: address + test, Text: v.Text("desk.webhook.test")}, {Action: address + pause, Text: v.Text("desk.webhook.pause")}}
	if h.Waiting > 0 {
		buttons = append(buttons, desk.Button{Action: address + retry, Text: v.Text("desk.webhook.retry")})
	}
	return buttons
}

// webhookLinks returns the links to the forms, and to the pages with the consequences of a change. The endpoint of a
// shop plug-in can only be removed: the plug-in changes it.
func (v *page) webhookLinks(e merchant.Endpoint) (links []views.Link) {
	address := v.Below(webhooksPath + "/" + e.ID + "/")
	if !e.Plugin {
		links = append(links, views.Link{Text: v.Text("desk.webhook.edit"), URL: address + edit})
	}
	switch {
	case e.Rotating():
		links = append(links, views.Link{Text: v.Text("desk.webhook.finish.ask"), URL: address + finish})
	case !e.Plugin:
		links = append(links, views.Link{Text: v.Text("desk.webhook.rotate.ask"), URL: address + rotate})
	}
	return append(links, views.Link{Text: v.Text("desk.webhook.remove.ask"), URL: address + remove})
}

// deliveryStates are the states by which the list of deliveries is filtered.
var deliveryStates = []struct {
	state       merchant.DeliveryState
	text, shape string
}{
	{"", "desk.state.all", ""},
	{merchant.DeliveryPending, "desk.delivery.pending", "wait"},
	{merchant.DeliveryDone, "desk.delivery.done", "ok"},
	{merchant.DeliveryFailed, "desk.delivery.failed", "bad"},
}

// addDeliveries adds one page of the endpoint's deliveries, newest first, in the state that the query selects.
func (v *page) addDeliveries(page *desk.Webhook, e merchant.Endpoint) error {
	address, chosen := v.Below(webhooksPath+"/"+e.ID), merchant.DeliveryState("")
	for _, s := range deliveryStates {
		if s.state == merchant.DeliveryState(v.QueryParam("state")) {
			chosen = s.state
		}
	}
	for _, s := range deliveryStates {
		link := desk.StateLink{Text: v.Text(s.text), Shape: s.shape, URL: address, Current: s.state == chosen}
		if s.state != "" {
			link.URL += "?state=" + string(s.state)
		}
		page.States = append(page.States, link)
	}
	below, err := strconv.ParseInt(v.QueryParam("below"), 10, 64)
	if err != nil || below < 1 {
		below = math.MaxInt64
	}
	all, err := v.Endpoints.Deliveries(v.Request().Context(), e, chosen, below, pageSize+1)
	if err != nil {
		return err
	}
	if len(all) > pageSize {
		all = all[:pageSize]
		q := url.Values{"below": {strconv.FormatInt(all[pageSize-1].Position, 10)}}
		if chosen != "" {
			q.Set("state", string(chosen))
		}
		page.Older = address + "?" + q.Encode()
	}
	for _, d := range all {
		page.Deliveries = append(page.Deliveries, v.Delivery(d, address+"/deliveries/"+url.PathEscape(d.EventID)))
	}
	return nil
}
