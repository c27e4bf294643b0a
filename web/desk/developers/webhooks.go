package developers

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/greenfield"
	"chequer/internal/guard"
	"chequer/internal/merchant"
	"chequer/internal/wire"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// webhooksPath is the path of the list of webhooks.
const webhooksPath = "/webhooks"

// webhookForm holds the values of the form that creates or changes a webhook.
type webhookForm struct {
	url      string
	mode     merchant.Mode
	receiver string // one of receivers
	events   []string
}

// The receivers of a webhook: software that reads events, or a shop plug-in, which reads all messages or only that an
// invoice is paid.
const (
	toSoftware     = "software"
	toPlugin       = "plugin"
	toPluginIfPaid = "plugin-paid"
)

// receivers are the receivers of a webhook and the IDs of their names, in the order of the form.
var receivers = []struct{ value, text string }{
	{toSoftware, "desk.webhook.receiver.software"}, {toPlugin, "desk.webhook.receiver.plugin"}, {toPluginIfPaid, "desk.webhook.receiver.paid"},
}

// enteredWebhook returns the values of the form.
func (v *page) enteredWebhook() (webhookForm, error) {
	values, err := v.FormParams()
	return webhookForm{url: strings.TrimSpace(values.Get("url")), mode: v.chosenMode(), receiver: values.Get("receiver"), events: values["event"]}, err
}

// checkEvents returns a *merchant.FieldError for an unknown type of event.
func (f webhookForm) checkEvents() error {
	for _, name := range f.events {
		if !slices.Contains(wire.EventTypes(), name) {
			return &merchant.FieldError{Field: "events", Fault: fmt.Sprintf("do not include %q", name)}
		}
	}
	return nil
}

// fieldError returns a *merchant.FieldError for the error about an address that must not be called, and other errors
// unchanged.
func fieldError(err error) error {
	if refused, ok := errors.AsType[*guard.RefusedError](err); ok {
		return &merchant.FieldError{Field: "url", Fault: refused.Reason}
	}
	return err
}

// isShownInForm reports whether the form shows an error.
func isShownInForm(err error) bool {
	_, isField := errors.AsType[*merchant.FieldError](err)
	return isField || errors.Is(err, merchant.ErrTooMany)
}

// webhooks lists the webhooks of the shop.
func (v *page) webhooks() error {
	return v.showWebhooks(http.StatusOK, webhookForm{mode: merchant.Live}, nil)
}

func (v *page) showWebhooks(status int, form webhookForm, problem error) error {
	f, err := v.Frame(v.Text("desk.webhooks"), visit.KeysPath)
	if err != nil {
		return err
	}
	all, err := v.Endpoints.All(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return err
	}
	page := desk.Webhooks{
		Frame: f, Tabs: v.tabs(webhooksPath), Action: v.Below(webhooksPath), URL: v.urlField(form, problem), Receiver: v.receiverChoice(form),
		Events: v.eventChecks(form, problem),
	}
	if page.Mode, err = v.modeChoice(form.mode, problem); err != nil {
		return err
	}
	if errors.Is(problem, merchant.ErrTooMany) {
		page.Problem = v.Text("desk.problem.webhooks", "Number", strconv.Itoa(merchant.MaxEndpoints))
	}
	for _, e := range all {
		health, err := v.Endpoints.Health(v.Request().Context(), e)
		if err != nil {
			return err
		}
		page.Rows = append(page.Rows, v.webhookRow(e, health))
	}
	return v.Show(status, desk.WebhooksPage(page))
}

func (v *page) urlField(form webhookForm, problem error) desk.Field {
	return desk.Field{
		Name: "url", Label: v.Text("desk.webhook.url"), Hint: v.Text("desk.webhook.url.hint"), Value: form.url, Kind: "url", Complete: "off",
		Error: v.fieldText("desk.field.url", fieldFault(problem, "url")),
	}
}

// receiverChoice returns the list of the receivers.
func (v *page) receiverChoice(form webhookForm) desk.Choice {
	c := desk.Choice{Name: "receiver", Label: v.Text("desk.webhook.receiver"), Hint: v.Text("desk.webhook.receiver.hint")}
	for _, r := range receivers {
		c.Options = append(c.Options, desk.Option{Value: r.value, Text: v.Text(r.text), Chosen: form.receiver == r.value})
	}
	return c
}

func (v *page) eventChecks(form webhookForm, problem error) desk.Checks {
	c := desk.Checks{
		Name: "event", Label: v.Text("desk.webhook.events"), Hint: v.Text("desk.webhook.events.hint"), Columns: true,
		Error: v.fieldText("desk.field.events", fieldFault(problem, "events")),
	}
	for _, t := range wire.EventTypes() {
		c.Options = append(c.Options, desk.CheckOption{Value: t, Text: t, Chosen: slices.Contains(form.events, t)})
	}
	return c
}

func (v *page) webhookRow(e merchant.Endpoint, h merchant.EndpointHealth) desk.WebhookRow {
	return desk.WebhookRow{
		Name: e.Name(), URL: v.Below(webhooksPath + "/" + e.ID), Test: e.Mode == merchant.Test, State: v.webhookState(e, h),
		Waiting: merchant.Counted(h.Waiting), Failed: merchant.Counted(h.Failed), Tried: v.Ago(h.LastAttemptAt),
	}
}

// webhookState returns the state of an endpoint: paused, failing, unused or working.
func (v *page) webhookState(e merchant.Endpoint, h merchant.EndpointHealth) desk.State {
	switch {
	case e.Paused:
		return desk.State{Text: v.Text("desk.webhook.paused"), Shape: "off"}
	case h.Failing():
		return desk.State{Text: v.Text("desk.webhook.failing"), Shape: "bad"}
	case h.LastAttemptAt.IsZero():
		return desk.State{Text: v.Text("desk.webhook.unused"), Shape: "wait"}
	}
	return desk.State{Text: v.Text("desk.webhook.working"), Shape: "ok"}
}

// createWebhook creates an endpoint and shows its secret, once.
func (v *page) createWebhook() error {
	form, err := v.enteredWebhook()
	if err != nil {
		return err
	}
	if err := form.checkEvents(); err != nil {
		return v.showWebhooks(http.StatusUnprocessableEntity, form, err)
	}
	switch err := v.checkMode(form.mode); {
	case errors.Is(err, errDemoMode):
		return v.showWebhooks(http.StatusConflict, form, err)
	case err != nil:
		return err
	}
	e, err := v.addWebhook(form)
	if err = fieldError(err); isShownInForm(err) {
		return v.showWebhooks(http.StatusUnprocessableEntity, form, err)
	}
	if err != nil {
		return err
	}
	intro, values := v.Text("desk.webhook.created.text"), v.keyPair(e.Key, e.Secret)
	if e.Plugin { // its settings have a secret, but no key
		intro, values = v.Text("desk.webhook.created.plugin"), values[1:]
	}
	return v.showSecret(desk.Secret{
		Heading: v.Text("desk.webhook.created"), Intro: intro, Values: values,
		Done: views.Link{Text: v.Text("desk.webhook.open"), URL: v.Below(webhooksPath + "/" + e.ID)},
	})
}

// addWebhook creates the endpoint that the form describes. The errors are those of merchant.Endpoints.Create, and a
// *merchant.FieldError for events that are chosen for a plug-in.
func (v *page) addWebhook(form webhookForm) (merchant.Endpoint, error) {
	ctx, p := v.Request().Context(), merchant.PluginEndpoint{URL: form.url}
	switch {
	case form.receiver != toPlugin && form.receiver != toPluginIfPaid:
		return v.Endpoints.Create(ctx, v.Shop.ID, form.mode, form.url, form.events)
	case len(form.events) > 0:
		return merchant.Endpoint{}, &merchant.FieldError{Field: "events", Fault: v.Text("desk.webhook.events.plugin")}
	case form.receiver == toPluginIfPaid:
		p.Events = []string{greenfield.InvoiceSettled}
	}
	return v.Endpoints.CreateForPlugin(ctx, v.Shop.ID, form.mode, p)
}

// keyPair returns the key and the secret of a webhook as the page shows them once.
func (v *page) keyPair(key, secret string) []desk.SecretValue {
	return []desk.SecretValue{{Name: v.Text("desk.webhook.key"), Value: key}, {Name: v.Text("desk.secret"), Value: secret}}
}
