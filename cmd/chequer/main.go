// Chequer is a self-hosted crypto checkout.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"chequer/internal/keys"
)

// garbage is how much of what is in use may be garbage, in per cent. So little is
// in use that twice Go's own share costs a few MiB and saves half the collecting.
const garbage = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Environ()))
}

// refusePrivate refuses a command line with an argument that holds a private key or
// the words of a wallet, before any message can repeat it.
func refusePrivate(args []string) error {
	for _, arg := range args {
		if _, value, isFlag := strings.Cut(arg, "="); isFlag && strings.HasPrefix(arg, "-") {
			arg = value
		}
		if keys.HoldsSecret(arg) {
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
