package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"chequer/internal/api"
	"chequer/internal/config"
	"chequer/internal/console"
	"chequer/internal/theme"
	"chequer/internal/wire"
)

// theme returns the group of commands about the theme of the pages.
func (s *shell) theme() *cobra.Command {
	c := console.Group("theme", "Show and change the theme of your pages",
		s.themeCommand("show", "Show the current theme", func(call invocation) (theme.Theme, error) {
			return call.core.Themes.Current(call.Context(), call.shop.ID)
		}),
		s.themeSet(),
		s.themeCommand("reset", "Reset the pages to the default theme", func(call invocation) (theme.Theme, error) {
			return theme.Theme{}, call.core.Themes.Reset(call.Context(), call.shop.ID)
		}))
	c.Aliases = []string{"look"}
	return c
}

// themeRow is a theme as it is printed.
type themeRow struct {
	api.Theme
	logo     theme.Logo
	shopName string
}

// themeCommand returns a command that prints the theme that do returns.
func (s *shell) themeCommand(use, short string, do func(invocation) (theme.Theme, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: console.Arguments,
		RunE: answer(s, func(call invocation) (themeRow, error) {
			t, err := do(call)
			if err != nil {
				return themeRow{}, err
			}
			return themeRow{wire.Theme(t), t.Logo, call.shop.Name}, nil
		}, writeTheme),
	}
}

func (s *shell) themeSet() *cobra.Command {
	var flags theme.Theme
	var logo string
	var noLogo bool
	var autoReturn string
	c := s.themeCommand("set", "Change the given parts of the theme", func(call invocation) (changed theme.Theme, err error) {
		if call.Flags().NFlag() == 0 {
			return changed, errors.New("nothing to change: say what, as in --accent #0a7d5a")
		}
		if logo != "" && noLogo {
			return changed, errors.New("--logo and --no-logo are both given: give only one")
		}
		var returns config.Switch
		if err := returns.UnmarshalText([]byte(autoReturn)); err != nil {
			return changed, fmt.Errorf("--auto-return: %w", err)
		}
		image, err := readLogo(logo)
		if err != nil {
			return changed, err
		}
		if changed, err = call.core.Themes.Current(call.Context(), call.shop.ID); err != nil {
			return changed, err
		}
		if image == nil && !noLogo {
			image = changed.Logo.Body
		}
		call.applyFlags(map[string]func(){
			"name": func() { changed.Name = flags.Name }, "accent": func() { changed.Accent = flags.Accent }, "line": func() { changed.Line = flags.Line },
			"support": func() { changed.Support = flags.Support }, "terms": func() { changed.Terms = flags.Terms },
			"auto-return": func() { changed.Stay = !bool(returns) },
		})
		return call.core.Themes.Set(call.Context(), call.shop.ID, changed, image)
	})
	c.Example = "  chequer theme set --accent #0a7d5a --logo logo.png --support help@shop.example\n" +
		"  chequer theme set --line \"\" --auto-return off"
	c.Flags().StringVar(&flags.Name, "name", "", "name of the shop on its pages; \"\" for that of the invoice")
	c.Flags().StringVar(&flags.Accent, "accent", "", "colour of buttons and links, such as #0a7d5a; \"\" for the default")
	c.Flags().StringVar(&flags.Line, "line", "", "one line of text, 140 characters at most; \"\" for none")
	c.Flags().StringVar(&flags.Support, "support", "", "mail address or https address for questions; \"\" for none")
	c.Flags().StringVar(&flags.Terms, "terms", "", "https address of your terms; \"\" for none")
	c.Flags().StringVar(&autoReturn, "auto-return", "on", "on leads back to your shop ten seconds after a payment; off waits for the button")
	c.Flags().StringVar(&logo, "logo", "", "file of a square PNG, JPEG, WebP, GIF or SVG")
	c.Flags().BoolVar(&noLogo, "no-logo", false, "remove the logo")
	return c
}

// readLogo reads the file of a logo, up to one byte more than the maximum size. It returns nil if
// the name is empty.
func readLogo(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read logo: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, theme.MaxLogoFile+1))
	if err != nil {
		return nil, fmt.Errorf("read logo: %w", err)
	}
	if len(content) == 0 {
		return nil, fmt.Errorf("logo %s is empty", name)
	}
	return content, nil
}

// writeTheme prints a theme, and the colours derived from its accent.
func writeTheme(w io.Writer, row themeRow) {
	fmt.Fprintf(w, "name         %s\n", cmp.Or(row.Name, row.shopName))
	fmt.Fprintf(w, "logo         %s\n", logoText(row.logo))
	fmt.Fprintf(w, "accent       %s\n", cmp.Or(row.Accent, "default"))
	fmt.Fprintf(w, "line         %s\n", cmp.Or(row.Line, "none"))
	fmt.Fprintf(w, "support      %s\n", cmp.Or(row.Support, "none"))
	fmt.Fprintf(w, "terms        %s\n", cmp.Or(row.Terms, "none"))
	fmt.Fprintf(w, "auto return  %s\n", config.Switch(row.AutoReturn))
	for _, colors := range row.Colors {
		fmt.Fprintln(w, colorText(row.Accent, colors))
	}
}

func logoText(l theme.Logo) string {
	if len(l.Body) == 0 {
		return "none"
	}
	return fmt.Sprintf("%s, %d bytes", l.Type, len(l.Body))
}

// colorText describes the colours derived from an accent in one scheme, with the contrasts if the
// accent cannot be used for text.
func colorText(accent string, c api.ThemeColors) string {
	if c.Text == accent {
		return fmt.Sprintf("In the %s scheme %s is used unchanged: its contrast is %s, and text needs 4.50.", c.Scheme, accent, c.AccentContrast)
	}
	return fmt.Sprintf("In the %s scheme buttons are %s with text in %s; links are %s with a contrast of %s, since %s has %s and text needs 4.50.",
		c.Scheme, c.Fill, c.OnFill, c.Text, c.TextContrast, accent, c.AccentContrast)
}
