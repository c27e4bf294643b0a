package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/account"
	"chequer/internal/app"
	"chequer/internal/console"
)

// desk returns the group of commands about the desk.
func (s *shell) desk() *cobra.Command {
	return console.Group("desk", "Set up the desk, the merchant's web interface", &cobra.Command{
		Use:   "link",
		Short: "Create the link with which the first account of the desk is created",
		Long:  "Creates a link that is valid for 30 minutes and works once, while the desk has no account. chequer serve\nprints one at every start.",
		Args:  console.Arguments,
		RunE: answer(s, func(in call) (app.DeskLink, error) {
			link, err := in.core.DeskLink(in.Context(), in.shop.ID)
			if errors.Is(err, account.ErrSetUp) {
				err = fmt.Errorf("%w: chequer account invite creates a link for another one, chequer account recover for a person who cannot sign in", err)
			}
			return link, err
		}, s.writeDeskLink),
	})
}

// writeFirstRun prints the link that creates the first account, or the reason why there is none.
func writeFirstRun(w io.Writer, link app.DeskLink, err error) {
	switch {
	case errors.Is(err, account.ErrSetUp):
	case err != nil:
		fmt.Fprintf(w, "No desk account exists, and no link was created: %v\n", err)
	default:
		fmt.Fprintf(w, "No desk account exists. Open this link within 30 minutes; it works once:\n  %s\nA new link: chequer desk link\n", link.URL)
	}
}

// deskAddress returns the address of the desk in the output of the demo: the link that creates the first
// account, or the sign-in page if there is an account.
func deskAddress(base string, newLink func() (app.DeskLink, error)) (string, error) {
	site, err := account.NewSite(base)
	if errors.Is(err, account.ErrInsecure) {
		return "needs https, or http://localhost on this machine", nil
	}
	if err != nil {
		return "", err
	}
	link, err := newLink()
	switch {
	case errors.Is(err, account.ErrSetUp):
		return site.URL("/desk"), nil
	case err != nil:
		return "", err
	}
	return link.URL + " (creates your account, works once)", nil
}
