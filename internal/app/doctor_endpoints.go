package app

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/config"
	"chequer/internal/merchant"
)

// examineEndpoints reports the endpoints that do not accept events.
func (c *Core) examineEndpoints(ctx context.Context, cfg config.Config, merchantID string, say func(Level, string, string, ...any)) error {
	all, err := c.Endpoints.All(ctx, merchantID)
	if err != nil {
		return err
	}
	policy := callbackPolicy(cfg)
	for _, e := range all {
		h, err := c.Endpoints.Health(ctx, e)
		if err != nil {
			return err
		}
		about := "endpoint " + e.ID
		fine := true
		warn := func(format string, args ...any) {
			fine = false
			say(LevelWarn, about, format, args...)
		}
		if err := policy.Check(e.URL, e.Mode == merchant.Live); err != nil {
			warn("nothing is sent there: %v", err)
		}
		if e.Paused {
			warn("is paused, events waiting: %d: chequer endpoint resume %s", h.Waiting, e.ID)
		}
		if e.Rotating() {
			warn("has two key pairs until chequer endpoint rotate %s --finish", e.ID)
		}
		if h.Failing() {
			warn("did not take the newest event, %s ago: %s; events waiting: %d", c.Now().Sub(h.Tried).Round(time.Second), answered(h), h.Waiting)
		}
		if h.Failed > 0 {
			warn("events given up: %d: chequer endpoint deliveries %s --state failed lists them, resend sends them again", h.Failed, e.ID)
		}
		if fine {
			say(LevelOK, about, "events waiting: %d", h.Waiting)
		}
	}
	return nil
}

// answered returns the result of the newest attempt.
func answered(h merchant.EndpointHealth) string {
	if h.LastFault != "" {
		return h.LastFault
	}
	return fmt.Sprint("status ", h.LastStatus)
}
