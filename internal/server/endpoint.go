package server

import (
	"errors"
	"math"
	"net/http"
	"regexp"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/guard"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

// endpointPattern matches an endpoint's identifier; other texts are never looked up.
var endpointPattern = regexp.MustCompile(`^end_[A-Za-z0-9]{1,64}$`)

var (
	errNoEndpoint = &problem{status: http.StatusNotFound, code: "endpoint_not_found", message: "There is no such endpoint"}
	errNoEvent    = &problem{status: http.StatusNotFound, code: "event_not_found", message: "There is no such event for this endpoint"}
)

// endpointProblems are the error answers of calls about endpoints. An endpoint may be removed while a
// call is handled.
var endpointProblems = problems{
	merchant.ErrNotFound: errNoEndpoint,
	merchant.ErrTooMany:  &problem{status: http.StatusConflict, code: "too_many_endpoints", message: "The shop has reached its limit of endpoints: remove one first"},
	merchant.ErrState:    &problem{status: http.StatusConflict, code: "wrong_state", message: "The endpoint does not allow this now"},
}

// createEndpoint handles POST endpoints. Only this answer and that of a rotation contain a secret.
func (s *server) createEndpoint(c echo.Context, k call) error {
	r, err := request[api.EndpointRequest](c, k)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.useNonce(ctx, k); err != nil {
		return err
	}
	e, err := s.Endpoints.Create(ctx, k.key.MerchantID, k.key.Mode, r.URL, r.Events)
	if refusal, ok := errors.AsType[*guard.RefusedError](err); ok {
		return invalid("url", refusal.Reason)
	}
	if err != nil {
		return err
	}
	answer := wire.Endpoint(e)
	answer.Secret = e.Secret
	c.Response().Header().Set("Location", s.BaseURL+api.PathEndpoints+"/"+e.ID)
	return writeJSON(c, http.StatusCreated, answer)
}

// listEndpoints handles GET endpoints.
func (s *server) listEndpoints(c echo.Context, k call) error {
	endpoints, err := s.Endpoints.All(c.Request().Context(), k.key.MerchantID)
	if err != nil {
		return err
	}
	ofMode := func(e merchant.Endpoint) bool { return e.Mode == k.key.Mode && !e.Plugin }
	return writeJSON(c, http.StatusOK, api.EndpointList{Endpoints: views(wire.Endpoint, endpoints, ofMode)})
}

// readEndpoint handles GET endpoints/{id}.
func (s *server) readEndpoint(c echo.Context, _ call, e merchant.Endpoint) error {
	return writeJSON(c, http.StatusOK, wire.Endpoint(e))
}

// changeEndpoint handles PATCH endpoints/{id}.
func (s *server) changeEndpoint(c echo.Context, k call, e merchant.Endpoint) error {
	r, err := request[api.EndpointChange](c, k)
	if err != nil {
		return err
	}
	e, err = s.Endpoints.Change(c.Request().Context(), e.MerchantID, e.ID, merchant.EndpointChange(r))
	if refused, ok := errors.AsType[*guard.RefusedError](err); ok {
		return invalid("url", refused.Reason)
	}
	return reply(c, wire.Endpoint, e, err)
}

// removeEndpoint handles DELETE endpoints/{id}. Its pending deliveries are given up.
func (s *server) removeEndpoint(c echo.Context, _ call, e merchant.Endpoint) error {
	if err := s.Endpoints.Remove(c.Request().Context(), e.MerchantID, e.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// pauseEndpoint returns the handler of POST endpoints/{id}/pause, or of …/resume if paused is false.
func (s *server) pauseEndpoint(paused bool) func(echo.Context, call, merchant.Endpoint) error {
	return func(c echo.Context, _ call, e merchant.Endpoint) error {
		e, err := s.Endpoints.SetPaused(c.Request().Context(), e.MerchantID, e.ID, paused)
		return reply(c, wire.Endpoint, e, err)
	}
}

// rotateEndpoint handles POST endpoints/{id}/rotate: it creates the next key pair, or makes
// the next key pair the current one.
func (s *server) rotateEndpoint(c echo.Context, k call, e merchant.Endpoint) error {
	r, err := optionalRequest[api.RotateRequest](c, k)
	if err != nil {
		return err
	}
	if r.Finish {
		e, err := s.Endpoints.Finish(c.Request().Context(), e.MerchantID, e.ID)
		return reply(c, wire.Endpoint, e, err)
	}
	e, err = s.Endpoints.Rotate(c.Request().Context(), e.MerchantID, e.ID)
	if err != nil {
		return err
	}
	answer := wire.Endpoint(e)
	answer.NextSecret = e.NextSecret
	return writeJSON(c, http.StatusOK, answer)
}

// testEndpoint handles POST endpoints/{id}/test.
func (s *server) testEndpoint(c echo.Context, _ call, e merchant.Endpoint) error {
	eventID, err := s.Endpoints.Test(c.Request().Context(), e.MerchantID, e.ID)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.TestSent{EventID: eventID})
}

// resolveEndpoint returns a handler that finds the endpoint in the path among those of the key's
// merchant and mode, uses up the nonce of a call that changes something, and calls next.
func (s *server) resolveEndpoint(next func(echo.Context, call, merchant.Endpoint) error) func(echo.Context, call) error {
	return func(c echo.Context, k call) error {
		id, ctx := c.Param("id"), c.Request().Context()
		if !endpointPattern.MatchString(id) {
			return errNoEndpoint
		}
		e, err := s.Endpoints.Endpoint(ctx, k.key.MerchantID, id)
		if err != nil {
			return err
		}
		if e.Mode != k.key.Mode || e.Plugin {
			return errNoEndpoint
		}
		if method := c.Request().Method; method != http.MethodGet && method != http.MethodHead {
			if err := s.useNonce(ctx, k); err != nil {
				return err
			}
		}
		return next(c, k, e)
	}
}

// listDeliveries handles GET endpoints/{id}/deliveries, newest first.
func (s *server) listDeliveries(c echo.Context, _ call, e merchant.Endpoint) error {
	var state merchant.DeliveryState
	before, limit := int64(math.MaxInt64), defaultEvents
	err := parseQuery(c.Request().URL.RawQuery, map[string]parameter{
		"state": oneOf(&state, merchant.DeliveryStates...), "before": within(&before, 0, math.MaxInt64), "limit": within(&limit, 0, maxEvents),
	})
	if err != nil {
		return err
	}
	list, err := s.Endpoints.Deliveries(c.Request().Context(), e, state, before, limit)
	if err != nil {
		return err
	}
	page := api.DeliveryPage{Deliveries: views(wire.Delivery, list, nil)}
	if limit > 0 && len(list) == limit {
		page.Before = list[len(list)-1].Position
	}
	return writeJSON(c, http.StatusOK, page)
}

// readDelivery handles GET endpoints/{id}/deliveries/{event}: the delivery with all its attempts.
func (s *server) readDelivery(c echo.Context, _ call, e merchant.Endpoint) error {
	d, attempts, err := s.Endpoints.Delivery(c.Request().Context(), e, c.Param("event"))
	if errors.Is(err, merchant.ErrNotFound) {
		return errNoEvent
	}
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, wire.DeliveryLog(d, attempts))
}

// resend handles POST endpoints/{id}/resend: one event, or all events after a position.
func (s *server) resend(c echo.Context, k call, e merchant.Endpoint) error {
	r, err := optionalRequest[api.ResendRequest](c, k)
	if err != nil {
		return err
	}
	ctx, sent := c.Request().Context(), 1
	switch {
	case (r.EventID == "") == (r.After == nil):
		return invalid("event_id", "or after is required, but not both")
	case r.After != nil:
		sent, err = s.Endpoints.ResendAfter(ctx, e, *r.After)
	default:
		err = s.Endpoints.Resend(ctx, e, r.EventID)
		if errors.Is(err, merchant.ErrNotFound) {
			return errNoEvent
		}
	}
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.Resent{Events: sent})
}
