package app

import (
	"context"

	"chequer/internal/config"
	"chequer/internal/readiness"
)

// QueryServer returns the networks that the running server reports to the operator's commands, or nil.
func QueryServer(ctx context.Context, core *Core, c config.Config) []readiness.Network {
	found, _, _ := readiness.Request(ctx, c, core.identity.Pass)
	return found.Networks
}
