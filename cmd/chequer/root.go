package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/merchant"
	"chequer/internal/requestlog"
)

// shell holds what all commands share.
type shell struct {
	environ []string
	json    bool
	utc     bool
	zone    *time.Location // zone of printed times; nil before the settings are read
}

// root returns the root command with all its subcommands.
func root(environ []string) *cobra.Command {
	s := &shell{environ: environ}
	serve := s.serve()
	c := &cobra.Command{
		Use:           "chequer",
		Short:         "A self-hosted crypto checkout in one binary",
		Long:          "Chequer takes an exact amount in euro and gives the shopper one page to pay it in crypto.\nWithout a command it serves, as chequer serve does. Settings come from the environment and from one file: see chequer config.",
		Args:          noCommand,
		RunE:          serve.RunE,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.CompletionOptions.HiddenDefaultCmd = true
	c.SetHelpCommand(s.help())
	c.SetUsageTemplate(c.UsageTemplate() + topicsTemplate())
	c.PersistentFlags().BoolVar(&s.json, "json", false, "print JSON")
	c.PersistentFlags().BoolVar(&s.utc, "utc", false, "print times in UTC")
	c.AddCommand(serve, s.init(), s.demo(), s.storefront(), s.wallet(), s.key(), s.endpoint(), s.convert(), s.link(), s.product(), s.pos(), s.method(), s.theme(), s.invoice(), s.events(), s.logs(), s.listen(), s.trigger(), s.proof(), s.verify(),
		s.config(), s.doctor(), s.health(), s.backup(), s.restore(), s.migrate(), s.version())
	return c
}

// group returns a command that only has subcommands and prints its help.
func group(name, short string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: noCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
}

// noCommand refuses an unknown command without repeating it: it may be a private key that was
// pasted without its command.
func noCommand(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return errors.New("there is no such command; chequer --help lists them")
	}
	return nil
}

// load reads the settings. The error names every fault. It logs CHEQUER_ variables that are not
// settings as a warning.
func (s *shell) load() (config.Config, error) {
	cfg, err := config.Load(config.WithSystemFile(s.environ, config.SystemFile))
	s.setZone(cfg)
	if unknown := cfg.Unknown(); unknown != nil {
		newLogger(cfg).Warn("unknown settings are ignored", "settings", unknown)
	}
	return cfg, errors.Join(err, app.Check(cfg))
}

// loadServer reads the settings of a server. A CHEQUER_ variable that is not a setting is an error,
// because a misspelt setting would have no effect.
func (s *shell) loadServer() (config.Config, error) {
	cfg, err := config.Load(config.WithSystemFile(s.environ, config.SystemFile))
	return cfg, errors.Join(err, cfg.Unknown(), app.Check(cfg))
}

// core opens the storage of a command. It must exist: a command that runs in a wrong directory must
// not create another shop.
func (s *shell) core(c *cobra.Command) (config.Config, *app.Core, error) {
	cfg, err := s.load()
	if err != nil {
		return cfg, nil, err
	}
	core, err := s.open(c, cfg)
	return cfg, core, err
}

// open opens the storage of an existing shop.
func (s *shell) open(c *cobra.Command, cfg config.Config) (*app.Core, error) {
	return app.OpenCore(c.Context(), cfg, app.Options{Log: newLogger(cfg), Existing: true})
}

// shop opens the storage and finds the merchant of a command. The caller must close the core.
func (s *shell) shop(c *cobra.Command) (config.Config, *app.Core, merchant.Merchant, error) {
	cfg, core, err := s.core(c)
	if err != nil {
		return cfg, nil, merchant.Merchant{}, err
	}
	shop, err := core.Shop(c.Context(), cfg, app.Options{})
	if err != nil {
		return cfg, nil, shop, errors.Join(err, core.Close())
	}
	return cfg, core, shop, nil
}

// print writes a result as JSON if that is requested, and otherwise calls text.
func (s *shell) print(c *cobra.Command, value any, text func(io.Writer)) error {
	if !s.json {
		text(c.OutOrStdout())
		return nil
	}
	return writeJSON(c.OutOrStdout(), value, "  ")
}

// writeJSON writes a value and a line feed. It escapes characters that control a terminal,
// including those that JSON permits unescaped (RFC 8259, section 7).
func writeJSON(w io.Writer, value any, indent string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", indent)
	if err := e.Encode(value); err != nil {
		return err
	}
	var safe strings.Builder
	for _, r := range text.String() {
		if r != '\n' && controlsTerminal(r) {
			fmt.Fprintf(&safe, `\u%04x`, r)
		} else {
			safe.WriteRune(r)
		}
	}
	_, err := io.WriteString(w, safe.String())
	return err
}

// table writes rows in columns below a heading with tabs between its cells; "" is no heading. It
// removes characters from cells that control a terminal or begin a new line.
func table[T any](w io.Writer, heading string, rows []T, cells func(T) []any) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if heading != "" {
		fmt.Fprintln(t, heading)
	}
	for _, row := range rows {
		for i, cell := range cells(row) {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, printable(fmt.Sprint(cell)))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// printable returns untrusted text without the characters that control a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if controlsTerminal(r) {
			return -1
		}
		return r
	}, text)
}

// controlsTerminal reports whether a character controls a terminal: moves the cursor, changes colours, or
// reverses the direction of the text after it (UAX 9, section 2).
func controlsTerminal(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// newLogger returns a logger that writes to standard error, so that standard output has only
// results.
func newLogger(cfg config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.Log.Level}
	if cfg.Log.JSON {
		return slog.New(requestlog.Handler(slog.NewJSONHandler(os.Stderr, options)))
	}
	return slog.New(requestlog.Handler(slog.NewTextHandler(os.Stderr, options)))
}
