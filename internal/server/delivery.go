package server

import (
	"errors"
	"math"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/merchant"
)

// listDeliveries is GET endpoints/{id}/deliveries, newest first.
func (s *server) listDeliveries(c echo.Context, _ call, e merchant.Endpoint) error {
	before, err := count(c, "before", math.MaxInt64, math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := count(c, "limit", feedPage, mostEvents)
	if err != nil {
		return err
	}
	state := merchant.DeliveryState(c.QueryParam("state"))
	if state != "" && !slices.Contains(merchant.DeliveryStates, state) {
		return invalid("state", "must be pending, delivered or failed")
	}
	list, err := s.endpoints.Deliveries(c.Request().Context(), e, state, before, int(limit))
	if err != nil {
		return err
	}
	page := api.DeliveryPage{Deliveries: []api.Delivery{}}
	for _, d := range list {
		page.Deliveries = append(page.Deliveries, delivery(d))
	}
	if limit > 0 && len(list) == int(limit) {
		page.Before = list[len(list)-1].Position
	}
	return writeJSON(c, http.StatusOK, page)
}

// readDelivery is GET endpoints/{id}/deliveries/{event}: every try of it.
func (s *server) readDelivery(c echo.Context, _ call, e merchant.Endpoint) error {
	d, tries, err := s.endpoints.Delivery(c.Request().Context(), e, c.Param("event"))
	if errors.Is(err, merchant.ErrNotFound) {
		return errNoEvent
	}
	if err != nil {
		return err
	}
	answer := api.DeliveryLog{Delivery: delivery(d), Log: []api.Try{}}
	for _, t := range tries {
		answer.Log = append(answer.Log, api.Try{
			Number: t.Number, At: timestamp(t.At), DurationMS: t.Duration.Milliseconds(), Status: t.Status, Fault: t.Fault,
			Headers: t.Header,
		})
	}
	return writeJSON(c, http.StatusOK, answer)
}

// resend is POST endpoints/{id}/resend: one event, or all after a position.
func (s *server) resend(c echo.Context, k call, e merchant.Endpoint) error {
	var r api.ResendRequest
	err := decodeOptional(c, k.body, map[string]field{
		"event_id": {set: text(&r.EventID, 64)},
		"after":    {set: whole(&r.After)},
	})
	if err != nil {
		return err
	}
	ctx, sent := c.Request().Context(), 1
	switch {
	case (r.EventID == "") == (r.After == nil):
		return invalid("event_id", "or after is required, and not both")
	case r.After != nil:
		sent, err = s.endpoints.ResendAfter(ctx, e, *r.After)
	default:
		err = s.endpoints.Resend(ctx, e, r.EventID)
		if errors.Is(err, merchant.ErrNotFound) {
			return errNoEvent
		}
	}
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.Resent{Events: sent})
}

func delivery(d merchant.Delivery) api.Delivery {
	return api.Delivery{
		Position: d.Position, EventID: d.EventID, EventType: d.EventType, ForeignID: d.InvoiceID, State: string(d.State),
		Tries: d.Tries, CreatedAt: timestamp(d.CreatedAt), NextTryAt: timestamp(d.NextTryAt), Status: d.LastStatus, Fault: d.LastFault,
	}
}
