package greenfield

import (
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"chequer/internal/guard"
	"chequer/internal/merchant"
)

// webhookRequest is the registration of a webhook.
type webhookRequest struct {
	URL     scalar `json:"url"`
	Enabled *bool  `json:"enabled"` // null = true
	Events  *struct {
		Everything bool     `json:"everything"`
		Specific   []scalar `json:"specificEvents"`
	} `json:"authorizedEvents"` // null = everything
	Secret scalar `json:"secret"`
}

// webhookView is a webhook. Only the answer to its creation has the secret.
type webhookView struct {
	ID          string     `json:"id"`
	URL         string     `json:"url"`
	Enabled     bool       `json:"enabled"`
	Redelivered bool       `json:"automaticRedelivery"` // always: deliveries that fail are repeated
	Events      eventsView `json:"authorizedEvents"`
	Secret      string     `json:"secret,omitempty"`
}

// eventsView are the types of messages that a webhook gets.
type eventsView struct {
	Everything bool     `json:"everything"`
	Specific   []string `json:"specificEvents,omitempty"`
}

func webhookOf(e merchant.Endpoint) webhookView {
	return webhookView{
		ID: e.ID, URL: e.URL, Enabled: !e.Paused, Redelivered: true, Events: eventsView{Everything: len(e.Events) == 0, Specific: e.Events},
	}
}

// webhookRoutes registers the routes of webhooks. Those of one webhook exist without the store, too.
func (s *server) webhookRoutes(g *echo.Group) {
	const list = "/stores/:store/webhooks"
	scope := merchant.ScopeModifyWebhooks
	g.POST(list, s.authorized(s.createWebhook, scope))
	g.GET(list, s.authorized(s.listWebhooks, scope))
	for _, one := range []string{list + "/:webhook", "/webhooks/:webhook"} {
		g.GET(one, s.authorized(s.readWebhook, scope))
		g.PUT(one, s.authorized(s.changeWebhook, scope))
		g.DELETE(one, s.authorized(s.removeWebhook, scope))
	}
}

var (
	errNoWebhook       = &refusal{status: http.StatusNotFound, Code: "webhook-not-found", Message: "The webhook was not found"}
	errTooManyWebhooks = &refusal{status: http.StatusBadRequest, Code: "too-many-webhooks", Message: "The shop has reached its limit of webhooks: remove one first"}
)

// registration reads the registration of a webhook. Unknown types of messages are left out.
func registration(c echo.Context) (p merchant.PluginEndpoint, err error) {
	r, err := decode[webhookRequest](c)
	if err != nil {
		return p, err
	}
	p = merchant.PluginEndpoint{URL: string(r.URL), Secret: string(r.Secret), Paused: r.Enabled != nil && !*r.Enabled}
	if r.Events == nil || r.Events.Everything {
		return p, nil
	}
	for _, t := range r.Events.Specific {
		if slices.Contains(messageTypes, string(t)) && !slices.Contains(p.Events, string(t)) {
			p.Events = append(p.Events, string(t))
		}
	}
	if len(p.Events) == 0 {
		return p, &fieldFault{Path: "authorizedEvents.specificEvents", Message: "The list has no type of event that this server sends"}
	}
	return p, nil
}

// explainWebhook returns the answer for an error about a webhook.
func explainWebhook(err error) error {
	if refused, ok := errors.AsType[*guard.RefusedError](err); ok {
		return &fieldFault{Path: "url", Message: "The URL " + refused.Reason}
	}
	if fault, ok := errors.AsType[*merchant.FieldError](err); ok {
		return &fieldFault{Path: fault.Field, Message: "The " + fault.Error()}
	}
	switch {
	case errors.Is(err, merchant.ErrNotFound):
		return errNoWebhook
	case errors.Is(err, merchant.ErrTooMany):
		return errTooManyWebhooks
	}
	return err
}

// createWebhook handles POST stores/{store}/webhooks.
func (s *server) createWebhook(c echo.Context, k merchant.Key) error {
	p, err := registration(c)
	if err != nil {
		return err
	}
	e, err := s.Endpoints.CreateForPlugin(c.Request().Context(), k.MerchantID, k.Mode, p)
	if err != nil {
		return explainWebhook(err)
	}
	v := webhookOf(e)
	v.Secret = e.Secret
	return writeJSON(c, http.StatusOK, v)
}

// listWebhooks handles GET stores/{store}/webhooks.
func (s *server) listWebhooks(c echo.Context, k merchant.Key) error {
	endpoints, err := s.Endpoints.All(c.Request().Context(), k.MerchantID)
	if err != nil {
		return err
	}
	list := []webhookView{}
	for _, e := range endpoints {
		if e.Plugin && e.Mode == k.Mode {
			list = append(list, webhookOf(e))
		}
	}
	return writeJSON(c, http.StatusOK, list)
}

// webhook returns the webhook in the path, which must be one of the store of the key.
func (s *server) webhook(c echo.Context, k merchant.Key) (merchant.Endpoint, error) {
	e, err := s.Endpoints.Endpoint(c.Request().Context(), k.MerchantID, c.Param("webhook"))
	if err == nil && (!e.Plugin || e.Mode != k.Mode) {
		err = merchant.ErrNotFound
	}
	return e, explainWebhook(err)
}

// readWebhook handles GET webhooks/{webhook}.
func (s *server) readWebhook(c echo.Context, k merchant.Key) error {
	e, err := s.webhook(c, k)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, webhookOf(e))
}

// changeWebhook handles PUT webhooks/{webhook}. Without a secret the present one stays.
func (s *server) changeWebhook(c echo.Context, k merchant.Key) error {
	p, err := registration(c)
	if err != nil {
		return err
	}
	e, err := s.Endpoints.ChangeForPlugin(c.Request().Context(), k.MerchantID, k.Mode, c.Param("webhook"), p)
	if err != nil {
		return explainWebhook(err)
	}
	return writeJSON(c, http.StatusOK, webhookOf(e))
}

// removeWebhook handles DELETE webhooks/{webhook}. Its pending deliveries are given up.
func (s *server) removeWebhook(c echo.Context, k merchant.Key) error {
	e, err := s.webhook(c, k)
	if err != nil {
		return err
	}
	if err := s.Endpoints.Remove(c.Request().Context(), e.MerchantID, e.ID); err != nil {
		return explainWebhook(err)
	}
	return c.NoContent(http.StatusOK)
}
