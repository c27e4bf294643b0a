// Chequer is a self-hosted crypto checkout.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"chequer/internal/audit"
	"chequer/internal/build"
	"chequer/internal/console"
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

// refusePrivate refuses a command line with an argument that contains a private key or a recovery
// phrase, before any message can repeat it.
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

// shell holds what all commands share.
type shell struct {
	console.Printer
	shopName string // value of the flag that names the shop
}

// root returns the root command with all its subcommands.
func root(environ []string) *cobra.Command {
	s := &shell{Printer: console.Printer{Environ: environ}}
	serve := s.serve()
	c := &cobra.Command{
		Use:           "chequer",
		Short:         "A self-hosted crypto checkout in one binary",
		Long:          "Chequer takes an exact amount in euro and gives the shopper one page to pay it in crypto.\nWithout a command it serves, as chequer serve does. Settings come from the environment and from one file: see chequer config.",
		Args:          console.NoCommand,
		RunE:          serve.RunE,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.CompletionOptions.HiddenDefaultCmd = true
	c.PersistentPreRun = func(called *cobra.Command, _ []string) {
		called.SetContext(audit.WithActor(called.Context(), actorOf(called)))
	}
	s.AddHelp(c)
	s.AddFlags(c)
	for _, command := range []*cobra.Command{
		s.wallet(), s.sweep(), s.lightning(), s.key(), s.endpoint(), s.sale(), s.link(), s.product(), s.terminal(), s.method(), s.settings(), s.theme(), s.invoice(), s.refund(), s.books(), s.events(), s.logs(),
	} {
		c.AddCommand(s.addShopFlag(command))
	}
	c.AddCommand(serve, s.init(), s.demo(), s.storefront(), s.shop(), s.sign(), s.listen(), s.trigger(), s.proof(), s.verify(),
		s.account(), s.auditLog(), s.desk(), s.config(), s.doctor(), s.health(), s.backup(), s.restore(), s.migrate(), s.version())
	return c
}

// actorOf returns the actor of the changes that a command makes. The commands that run a server act as the system.
func actorOf(c *cobra.Command) audit.Actor {
	name := strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), c.Root().Name()))
	switch name {
	case "", "serve", "demo", "storefront":
		return audit.Actor{Kind: audit.System}
	}
	return audit.Actor{Kind: audit.Command, Name: name}
}

// version is the version of a release, set by its build with -ldflags "-X main.version=…".
// Otherwise the version comes from the build information.
var version string

// version returns the command that shows the version.
func (s *shell) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, the commit and its date",
		Args:  console.Arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				info = &debug.BuildInfo{}
			}
			b := build.FromInfo(info, version)
			return s.Print(c, b, func(w io.Writer) { fmt.Fprintln(w, "chequer", b) })
		},
	}
}
