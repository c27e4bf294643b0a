package app

import (
	"context"

	"chequer/internal/config"
	"chequer/internal/readiness"
)

// QueryServer queries the running server as the operator's commands do.
func QueryServer(ctx context.Context, core *Core, c config.Config) []readiness.Network {
	found, _, _ := readiness.Request(ctx, c, core.identity.Pass)
	return found.Networks
}
