// Chequer is a self-hosted crypto checkout.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Environ()))
}

// run is main without the process, so that it can be tested.
func run(ctx context.Context, args, environ []string) int {
	c := root(environ)
	c.SetArgs(args)
	if err := c.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "chequer:", err)
		return 1
	}
	return 0
}
