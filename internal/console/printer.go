// Package console prints the results of commands, as text for a terminal or as JSON, and asks the
// operator at the terminal.
package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Printer prints the results of commands.
type Printer struct {
	Environ []string // of the process; decides about colours
	JSON    bool     // print JSON instead of text
	UTC     bool     // print times in UTC

	zone *time.Location // zone of printed times; nil before SetZone
}

// AddFlags adds the flags of the printer to a command and its subcommands.
func (p *Printer) AddFlags(c *cobra.Command) {
	c.PersistentFlags().BoolVar(&p.JSON, "json", false, "print JSON")
	c.PersistentFlags().BoolVar(&p.UTC, "utc", false, "print times in UTC")
}

// Print writes a result as JSON if that is requested, and otherwise calls text.
func (p *Printer) Print(c *cobra.Command, value any, text func(io.Writer)) error {
	if !p.JSON {
		text(c.OutOrStdout())
		return nil
	}
	return WriteJSON(c.OutOrStdout(), value, "  ")
}

// WriteJSON writes a value and a line feed. It escapes characters that control a terminal,
// including those that JSON permits unescaped (RFC 8259, section 7).
func WriteJSON(w io.Writer, value any, indent string) error {
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
