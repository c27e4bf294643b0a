// Chequer is a self-hosted crypto checkout.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"chequer/internal/keys"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Environ()))
}

// refusePrivate refuses a command line that holds a private key or the words of a
// wallet anywhere, before anything can repeat it.
func refusePrivate(args []string) error {
	for _, arg := range append(args, strings.Join(args, " ")) {
		if keys.LooksPrivate(strings.TrimLeft(arg, "-")) {
			return keys.ErrPrivateKey
		}
	}
	return nil
}

// run is main without the process, so that it can be tested.
func run(ctx context.Context, args, environ []string) int {
	if err := refusePrivate(args); err != nil {
		fmt.Fprintln(os.Stderr, "chequer:", err)
		return 1
	}
	c := root(environ)
	c.SetArgs(args)
	if err := c.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "chequer:", err)
		return 1
	}
	return 0
}
