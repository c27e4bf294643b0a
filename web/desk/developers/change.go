package developers

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// The changes of an endpoint, as their paths name them.
const (
	edit   = "edit"
	pause  = "pause"
	resume = "resume"
	test   = "test"
	retry  = "retry"
	rotate = "rotate"
	finish = "finish"
	remove = "remove"
)

// askToChange shows the form of edit, or the consequences of rotate, finish or remove. For other changes it returns
// echo.ErrNotFound.
func (v *page) askToChange() error {
	e, err := v.ownWebhook()
	if err != nil {
		return err
	}
	switch change := v.Param("change"); {
	case e.Plugin && (change == edit || change == rotate):
		return v.showWebhook(http.StatusConflict, e, v.Text("desk.problem.webhook"))
	case change == edit:
		return v.showEdit(http.StatusOK, e, webhookForm{url: e.URL, mode: e.Mode, events: e.Events}, nil)
	case change == rotate && e.Rotating(), change == finish && !e.Rotating():
		return v.showWebhook(http.StatusConflict, e, v.Text("desk.problem.webhook"))
	case change == rotate:
		return v.showConsequences(e, desk.Decision{
			Heading: v.Text("desk.webhook.rotate.heading"), Button: v.Text("desk.webhook.rotate"),
			Results: []desk.Result{
				{Shape: "ok", Text: v.Text("desk.webhook.rotate.pair")}, {Shape: "ok", Text: v.Text("desk.webhook.rotate.both")},
				{Shape: "warn", Text: v.Text("desk.webhook.rotate.next")},
			},
		})
	case change == finish:
		return v.showConsequences(e, desk.Decision{
			Heading: v.Text("desk.webhook.finish.heading"), Button: v.Text("desk.webhook.finish"),
			Results: []desk.Result{
				{Shape: "ok", Text: v.Text("desk.webhook.finish.pair")}, {Shape: "warn", Text: v.Text("desk.webhook.finish.old")},
				{Shape: "warn", Text: v.Text("desk.key.revoke.final")},
			},
		})
	case change == remove:
		return v.showConsequences(e, desk.Decision{
			Heading: v.Text("desk.webhook.remove.heading", "Name", e.Name()), Button: v.Text("desk.webhook.remove"), Danger: true,
			Results: []desk.Result{
				{Shape: "warn", Text: v.Text("desk.webhook.remove.stop")}, {Shape: "warn", Text: v.Text("desk.webhook.remove.waiting")},
				{Shape: "warn", Text: v.Text("desk.key.revoke.final")},
			},
		})
	}
	return echo.ErrNotFound
}

// change makes a change of an endpoint.
func (v *page) change() error {
	e, err := v.ownWebhook()
	if err != nil {
		return err
	}
	ctx, address := v.Request().Context(), v.Below(webhooksPath+"/"+e.ID)
	switch v.Param("change") {
	case edit:
		return v.editWebhook(e)
	case pause:
		_, err = v.Endpoints.SetPaused(ctx, v.Shop.ID, e.ID, true)
		return v.answerChange(err, address, "paused")
	case resume:
		_, err = v.Endpoints.SetPaused(ctx, v.Shop.ID, e.ID, false)
		return v.answerChange(err, address, "resumed")
	case test:
		eventID, err := v.Endpoints.Test(ctx, v.Shop.ID, e.ID)
		return v.answerChange(err, address+"/deliveries/"+eventID, "tested")
	case retry:
		n, err := v.Endpoints.Retry(ctx, e)
		return v.answerChange(err, address+"?count="+strconv.Itoa(n), "retried")
	case rotate:
		return v.rotateWebhook(e)
	case finish:
		_, err = v.Endpoints.Finish(ctx, v.Shop.ID, e.ID)
		return v.answerChange(err, address, "finished")
	case remove:
		return v.answerChange(v.Endpoints.Remove(ctx, v.Shop.ID, e.ID), v.Below(webhooksPath), "webhook-removed")
	}
	return echo.ErrNotFound
}

// answerChange answers the request for a change of the endpoint in the path; err is the result of the change. For
// ErrState it shows the endpoint with status 409. Without an error it redirects to address, whose page shows result.
func (v *page) answerChange(err error, address, result string) error {
	if errors.Is(err, merchant.ErrState) {
		e, err := v.ownWebhook()
		if err != nil {
			return err
		}
		return v.showWebhook(http.StatusConflict, e, v.Text("desk.problem.webhook"))
	}
	if err != nil {
		return err
	}
	return v.Done(address, result)
}

// rotateWebhook creates the next key pair of an endpoint and shows its secret, once.
func (v *page) rotateWebhook(e merchant.Endpoint) error {
	e, err := v.Endpoints.Rotate(v.Request().Context(), v.Shop.ID, e.ID)
	if err != nil {
		return v.answerChange(err, "", "")
	}
	return v.showSecret(desk.Secret{
		Heading: v.Text("desk.webhook.rotated"), Intro: v.Text("desk.webhook.rotated.text"), Values: v.keyPair(e.NextKey, e.NextSecret),
		Done: views.Link{Text: v.Text("desk.webhook.open"), URL: v.Below(webhooksPath + "/" + e.ID)},
	})
}

// showConsequences shows the consequences of a change before it is made.
func (v *page) showConsequences(e merchant.Endpoint, c desk.Decision) (err error) {
	if c.Frame, err = v.Frame(c.Heading, visit.KeysPath); err != nil {
		return err
	}
	c.Back = views.Link{Text: e.Name(), URL: v.Below(webhooksPath + "/" + e.ID)}
	c.Action = c.Back.URL + "/" + v.Param("change")
	return v.Show(http.StatusOK, desk.DecisionPage(c))
}

// showEdit shows the form that changes an endpoint. If another change was made meanwhile, it shows the
// stored values beside those of the form.
func (v *page) showEdit(status int, e merchant.Endpoint, form webhookForm, problem error) error {
	f, err := v.Frame(v.Text("desk.webhook.edit.heading"), visit.KeysPath)
	if err != nil {
		return err
	}
	address := v.Below(webhooksPath + "/" + e.ID)
	page := desk.WebhookEdit{
		Frame: f, Back: views.Link{Text: e.Name(), URL: address}, Action: address + "/" + edit, Version: e.Revision(), URL: v.urlField(form, problem), Events: v.eventChecks(form, problem),
	}
	if isShownInForm(problem) { // a change by another account since the form was loaded must still be noticed
		page.Version = v.FormValue("version")
	}
	if errors.Is(problem, merchant.ErrStale) {
		page.Problem = v.Text("desk.problem.changed")
		if form.url != e.URL {
			page.URL.Error = v.Text("desk.field.stored", "Value", e.URL)
		}
		if !slices.Equal(form.events, e.Events) {
			page.Events.Error = v.Text("desk.field.stored", "Value", v.eventsText(e))
		}
	}
	return v.Show(status, desk.WebhookEditPage(page))
}

// editWebhook sets the address of an endpoint and the types of events that it receives.
func (v *page) editWebhook(e merchant.Endpoint) error {
	form, err := v.enteredWebhook()
	if err != nil {
		return err
	}
	if err := form.checkEvents(); err != nil {
		return v.showEdit(http.StatusUnprocessableEntity, e, form, err)
	}
	_, err = v.Endpoints.ChangeSeen(v.Request().Context(), v.Shop.ID, e.ID, v.FormValue("version"), merchant.EndpointChange{URL: &form.url, Events: &form.events})
	switch err = fieldError(err); {
	case errors.Is(err, merchant.ErrStale):
		return v.showEdit(http.StatusConflict, e, form, err)
	case isShownInForm(err):
		return v.showEdit(http.StatusUnprocessableEntity, e, form, err)
	}
	return v.answerChange(err, v.Below(webhooksPath+"/"+e.ID), "changed")
}
