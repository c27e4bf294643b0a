package doctor

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/merchant"
)

// examineEndpoints reports the endpoints that do not accept events.
func (e *shopExamination) examineEndpoints(ctx context.Context) error {
	endpoints, err := e.Endpoints.All(ctx, e.shop.ID)
	if err != nil {
		return err
	}
	for _, endpoint := range endpoints {
		h, err := e.Endpoints.Health(ctx, endpoint)
		if err != nil {
			return err
		}
		subject, before := e.about("endpoint "+endpoint.ID), len(e.found)
		if err := e.EndpointPolicy.Check(endpoint.URL, endpoint.Mode == merchant.Live); err != nil {
			e.warn(subject, "no events are sent to it: %v", err)
		}
		if endpoint.Paused {
			e.warn(subject, "is paused, events waiting: %d: chequer endpoint resume %s", h.Waiting, endpoint.ID)
		}
		if endpoint.Rotating() {
			e.warn(subject, "has two key pairs until chequer endpoint rotate %s --finish", endpoint.ID)
		}
		if h.Failing() {
			e.warn(subject, "did not accept the newest event, %s ago: %s; events waiting: %d", e.Now().Sub(h.LastAttemptAt).Round(time.Second), latestAnswer(h), h.Waiting)
		}
		if h.Failed > 0 {
			e.warn(subject, "events given up: %d: chequer endpoint deliveries %s --state failed lists them, resend sends them again", h.Failed, endpoint.ID)
		}
		if len(e.found) == before {
			e.ok(subject, "events waiting: %d", h.Waiting)
		}
	}
	return nil
}

// latestAnswer returns the result of the newest attempt.
func latestAnswer(h merchant.EndpointHealth) string {
	if h.LastFault != "" {
		return h.LastFault
	}
	return fmt.Sprint("status ", h.LastStatus)
}
