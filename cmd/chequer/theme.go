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
	"chequer/internal/merchant"
	"chequer/internal/theme"
	"chequer/internal/wire"
)

// theme returns the group of commands about the theme of the pages.
func (s *shell) theme() *cobra.Command {
	c := group("look", "Show and change how your pages look")
	c.AddCommand(s.themeShow(), s.themeSet(), s.themeReset())
	return c
}

func (s *shell) themeShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show the current look",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			l, err := core.Themes.Current(c.Context(), shop.ID)
			if err != nil {
				return err
			}
			return s.printTheme(c, shop, l)
		},
	}
}

func (s *shell) themeSet() *cobra.Command {
	var given theme.Theme
	var logo string
	var noLogo bool
	var returns string
	c := &cobra.Command{
		Use:   "set",
		Short: "Change parts of the look; the others stay",
		Example: "  chequer look set --accent #0a7d5a --logo logo.png --support help@shop.example\n" +
			"  chequer look set --line \"\" --auto-return off",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().NFlag() == 0 {
				return errors.New("nothing to change: say what, as in --accent #0a7d5a")
			}
			if logo != "" && noLogo {
				return errors.New("--logo and --no-logo are both there: give only one")
			}
			var auto config.Switch
			if err := auto.UnmarshalText([]byte(returns)); err != nil {
				return fmt.Errorf("--auto-return: %w", err)
			}
			file, err := readLogo(logo)
			if err != nil {
				return err
			}
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			l, err := core.Themes.Current(c.Context(), shop.ID)
			if err != nil {
				return err
			}
			if file == nil && !noLogo {
				file = l.Logo.Body
			}
			for name, change := range map[string]func(){
				"name": func() { l.Name = given.Name }, "accent": func() { l.Accent = given.Accent }, "line": func() { l.Line = given.Line },
				"support": func() { l.Support = given.Support }, "terms": func() { l.Terms = given.Terms },
				"auto-return": func() { l.Stay = !bool(auto) },
			} {
				if c.Flags().Changed(name) {
					change()
				}
			}
			if l, err = core.Themes.Set(c.Context(), shop.ID, l, file); err != nil {
				return err
			}
			return s.printTheme(c, shop, l)
		},
	}
	c.Flags().StringVar(&given.Name, "name", "", "name of the shop on its pages; \"\" for that of the invoice")
	c.Flags().StringVar(&given.Accent, "accent", "", "colour of buttons and links, such as #0a7d5a; \"\" for the default")
	c.Flags().StringVar(&given.Line, "line", "", "one line of text, 140 characters at most; \"\" for none")
	c.Flags().StringVar(&given.Support, "support", "", "mail address or https address for questions; \"\" for none")
	c.Flags().StringVar(&given.Terms, "terms", "", "https address of your terms; \"\" for none")
	c.Flags().StringVar(&returns, "auto-return", "on", "on leads back to your shop ten seconds after a payment; off waits for the button")
	c.Flags().StringVar(&logo, "logo", "", "file of a square PNG, JPEG, WebP, GIF or SVG")
	c.Flags().BoolVar(&noLogo, "no-logo", false, "no logo any more")
	return c
}

func (s *shell) themeReset() *cobra.Command {
	return &cobra.Command{
		Use:   "reset",
		Short: "Reset the pages to the default look",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			if err := core.Themes.Reset(c.Context(), shop.ID); err != nil {
				return err
			}
			return s.printTheme(c, shop, theme.Theme{})
		},
	}
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
	file, err := io.ReadAll(io.LimitReader(f, theme.MaxLogoFile+1))
	if err != nil {
		return nil, fmt.Errorf("read logo: %w", err)
	}
	if len(file) == 0 {
		return nil, fmt.Errorf("logo %s is empty", name)
	}
	return file, nil
}

// printTheme prints a theme, and the colours derived from its accent.
func (s *shell) printTheme(c *cobra.Command, shop merchant.Merchant, l theme.Theme) error {
	row := wire.Theme(l)
	return s.print(c, row, func(w io.Writer) {
		fmt.Fprintf(w, "name         %s\n", cmp.Or(row.Name, shop.Name))
		fmt.Fprintf(w, "logo         %s\n", logoWords(l.Logo))
		fmt.Fprintf(w, "accent       %s\n", cmp.Or(row.Accent, "ours"))
		fmt.Fprintf(w, "line         %s\n", cmp.Or(row.Line, "none"))
		fmt.Fprintf(w, "support      %s\n", cmp.Or(row.Support, "none"))
		fmt.Fprintf(w, "terms        %s\n", cmp.Or(row.Terms, "none"))
		fmt.Fprintf(w, "auto return  %s\n", config.Switch(row.AutoReturn))
		for _, colors := range row.Colors {
			fmt.Fprintln(w, colorWords(row.Accent, colors))
		}
	})
}

func logoWords(l theme.Logo) string {
	if len(l.Body) == 0 {
		return "none"
	}
	return fmt.Sprintf("%s, %d bytes", l.Type, len(l.Body))
}

// colorWords describes the colours derived from an accent in one scheme, with the contrasts if the
// accent cannot be used for text.
func colorWords(accent string, c api.ThemeColors) string {
	if c.Text == accent {
		return fmt.Sprintf("In the %s scheme %s is used as it is: its contrast is %s at its least, and text needs 4.50.", c.Scheme, accent, c.AccentContrast)
	}
	return fmt.Sprintf("In the %s scheme buttons are %s with text in %s; links are %s with a contrast of %s, since %s has %s at its least and text needs 4.50.",
		c.Scheme, c.Fill, c.OnFill, c.Text, c.TextContrast, accent, c.AccentContrast)
}
