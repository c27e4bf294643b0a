package server

import (
	"errors"
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

// listDeliveries handles GET endpoints/{id}/deliveries, newest first.
func (s *server) listDeliveries(c echo.Context, _ call, e merchant.Endpoint) error {
	var state merchant.DeliveryState
	before, limit := int64(math.MaxInt64), defaultEvents
	err := query(c.Request().URL.RawQuery, map[string]parameter{
		"state": word(&state, merchant.DeliveryStates...), "before": within(&before, 0, math.MaxInt64), "limit": within(&limit, 0, maxEvents),
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
