package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/console"
	"chequer/internal/merchant"
	"chequer/internal/requestlog"
)

// config returns the command that shows the current settings.
func (s *shell) config() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Show the effective settings and where each was set, without their secrets",
		Args:  console.Arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			settings := cfg.Settings()
			return s.Print(c, settings, func(w io.Writer) {
				if path := cfg.LoadedFile(); path != "" {
					fmt.Fprintf(w, "Settings file: %s\n\n", console.Printable(path))
				}
				console.WriteTable(w, "SETTING\tVALUE\tFROM\tMEANING", settings, func(row config.Setting) []any {
					return []any{row.Name, row.Value, row.Source, row.About}
				})
			})
		},
	}
}

// load reads the settings, and logs a warning about CHEQUER_ variables that are not settings. The error
// names every fault.
func (s *shell) load() (config.Config, error) {
	cfg, err := config.Load(config.WithSystemFile(s.Environ, config.SystemFile))
	s.SetZone(cfg.Location())
	if unknown := cfg.Unknown(); unknown != nil {
		newLogger(cfg).Warn("unknown settings are ignored", "settings", unknown)
	}
	return cfg, errors.Join(err, app.Check(cfg))
}

// loadServer reads the settings of a server. A CHEQUER_ variable that is not a setting is an error,
// because a misspelt setting would have no effect.
func (s *shell) loadServer() (config.Config, error) {
	cfg, err := config.Load(config.WithSystemFile(s.Environ, config.SystemFile))
	return cfg, errors.Join(err, cfg.Unknown(), app.Check(cfg))
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

// settings returns the group of commands about the payment settings.
func (s *shell) settings() *cobra.Command {
	return console.Group("settings", "Show and change the payment settings of the shop",
		list(s, "list", "List the payment settings with their sources", func(call invocation) ([]settingRow, error) {
			chosen, err := call.core.Settings.Chosen(call.Context(), call.shop.ID)
			return call.settingRows(chosen), err
		}, "SETTING\tVALUE\tSOURCE", settingRow.cells),
		s.settingsSet(),
		s.change("reset SETTING", "Restore the default of a payment setting", "reset", func(call invocation, name string) error {
			_, err := call.core.Settings.Change(call.Context(), call.shop.ID, "", merchant.Choices{merchant.SettingName(name): ""})
			return err
		}))
}

// settingRow is a payment setting as it is printed.
type settingRow struct {
	Name    merchant.SettingName `json:"name"`
	Value   string               `json:"value"`
	Default string               `json:"default"`
	Source  string               `json:"source"` // "default", "shop", or the setting of the server that takes precedence
}

func (r settingRow) cells() []any {
	value := r.Value
	switch {
	case value == "" && r.Name == merchant.SettingExplorers:
		value = "none"
	case value == "":
		value = "all"
	}
	return []any{r.Name, value, r.Source}
}

// settingRows returns the payment settings that are in force with the given choices.
func (call invocation) settingRows(chosen merchant.Choices) []settingRow {
	return convertAll(call.core.Settings.Overrides.List(chosen), func(s merchant.Setting) settingRow {
		row := settingRow{Name: s.Name, Value: s.Value, Default: s.Default, Source: "default"}
		switch {
		case s.By != "":
			row.Source = s.By
		case s.Chosen:
			row.Source = "shop"
		}
		return row
	})
}

func (s *shell) settingsSet() *cobra.Command {
	c := &cobra.Command{
		Use: "set SETTING=VALUE…", Short: "Change payment settings; new invoices have them at once",
		Long: `All given settings are changed together, or none. A list is separated by commas; an empty value restores the default.
Open invoices keep the terms that they were created with.`,
		Example: "  chequer settings set quote_minutes=30 tolerance_percent=0.5 tolerance_amount=0.10\n  chequer settings set languages=de,en",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) ([]settingRow, error) {
			changes, err := call.settingChanges()
			if err != nil {
				return nil, err
			}
			chosen, err := call.core.Settings.Change(call.Context(), call.shop.ID, "", changes)
			return call.settingRows(chosen), err
		}, func(w io.Writer, rows []settingRow) {
			console.WriteTable(w, "SETTING\tVALUE\tSOURCE", rows, settingRow.cells)
		}),
	}
	testFlag(c, "check payment_methods against those of test invoices")
	return c
}

// settingChanges parses the arguments SETTING=VALUE.
func (call invocation) settingChanges() (merchant.Choices, error) {
	changes := merchant.Choices{}
	for _, arg := range call.args {
		text, value, isPair := strings.Cut(arg, "=")
		name := merchant.SettingName(text)
		if !isPair {
			return nil, fmt.Errorf("%q is not SETTING=VALUE, such as quote_minutes=30", arg)
		}
		if _, isRepeated := changes[name]; isRepeated {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		if name == merchant.SettingMethods {
			mode, err := call.mode()
			if err != nil {
				return nil, err
			}
			chosen, err := call.shopMethods(mode, strings.Fields(strings.ReplaceAll(value, ",", " ")))
			if err != nil {
				return nil, err
			}
			value = string(chosen)
		}
		changes[name] = value
	}
	return changes, nil
}
