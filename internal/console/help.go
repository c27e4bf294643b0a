package console

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/manual"
)

// AddHelp adds the command help to a root command. It describes a command or prints a page of the
// manual; without an argument it lists both. It does not list aliases, which are former names.
func (p *Printer) AddHelp(root *cobra.Command) {
	root.SetHelpCommand(p.help())
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "\n\nAliases:\n  {{.NameAndAliases}}", "", 1) + topicsTemplate())
}

// help returns the command help.
func (p *Printer) help() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Describe a command, or print a page of the manual",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return helpCompletions(c.Root(), args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if found, rest, err := c.Root().Find(args); err == nil && len(rest) == 0 {
				found.InitDefaultHelpFlag()
				return found.Help()
			}
			if len(args) != 1 {
				return errNoHelp
			}
			page, ok := manual.Find(args[0])
			if !ok {
				return errNoHelp
			}
			return p.Print(c, topic{page, page.Markdown()}, func(w io.Writer) { fmt.Fprint(w, page.Markdown()) })
		},
	}
}

// errNoHelp does not repeat the argument, see NoCommand.
var errNoHelp = errors.New("there is no such command or topic; chequer help lists them")

// topic is a page of the manual in JSON.
type topic struct {
	manual.Page
	Markdown string `json:"markdown"`
}

// helpCompletions returns the commands and topics that may follow.
func helpCompletions(root *cobra.Command, args []string) []cobra.Completion {
	var found []cobra.Completion
	c, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 {
		return nil
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			found = append(found, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	if len(args) == 0 {
		for _, p := range manual.Pages() {
			found = append(found, cobra.CompletionWithDesc(p.Slug, p.Summary))
		}
	}
	return found
}

// topicsTemplate returns the part of the usage of chequer itself that lists the pages of the manual, without those that
// belong to the group of another one.
func topicsTemplate() string {
	var b strings.Builder
	b.WriteString("{{if not .HasParent}}\nTopics, for chequer help TOPIC:\n")
	for _, p := range manual.Pages() {
		if p.Parent == "" {
			fmt.Fprintf(&b, "  %-19s %s\n", p.Slug, p.Summary)
		}
	}
	b.WriteString("{{end}}")
	return b.String()
}
