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

// gcPercent is the value of GOGC, in per cent. The program's memory is so small that twice Go's
// default costs a few MiB and saves half of the collections.
const gcPercent = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Environ()))
}

// refusePrivate refuses a command line with an argument that contains a private key or the words of
// a wallet, before any message can repeat it.
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

// run is main without access to the process, so that it can be tested.
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
