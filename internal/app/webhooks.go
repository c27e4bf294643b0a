package app

import (
	"log/slog"
	"net"

	"chequer/internal/config"
	"chequer/internal/greenfield"
	"chequer/internal/guard"
	"chequer/internal/webhook"
)

// endpointPolicy returns the policy of the addresses to which events may be sent.
func endpointPolicy(c config.Config) guard.Policy { return guard.Policy{Allow: c.CallbackAllow()} }

// webhooks returns the loop that sends events to endpoints.
func (c *Core) webhooks(cfg config.Config, log *slog.Logger) *webhook.Worker {
	return webhook.New(webhook.Config{
		Storage: c.Storage, Complete: greenfield.NewCompleter(c.Storage, c.Now).Complete, Now: c.Now, Log: log,
		Dialer: &guard.Dialer{Policy: endpointPolicy(cfg), Resolver: net.DefaultResolver},
	})
}
