package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"chequer/internal/merchant"
)

// key returns the group of commands about API keys.
func (s *shell) key() *cobra.Command {
	c := group("key", "Create, list and revoke API keys")
	c.AddCommand(s.keyAdd(), s.keyList(), s.keyRevoke())
	return c
}

func (s *shell) keyAdd() *cobra.Command {
	var names []string
	var label string
	c := &cobra.Command{
		Use:   "add",
		Short: "Create an API key; its secret is shown only once",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			scopes, err := parseScopes(names)
			if err != nil {
				return err
			}
			if utf8.RuneCountInString(label) > maxLabel || printable(label) != label {
				return fmt.Errorf("--label must have at most %d characters, in one line", maxLabel)
			}
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			mode, err := mode(c, core, shop.ID)
			if err != nil {
				return err
			}
			k, err := core.Merchants.CreateKey(c.Context(), shop.ID, mode, scopes, label)
			if err != nil {
				return err
			}
			result := struct {
				Key    string           `json:"key"`
				Secret string           `json:"secret"`
				Mode   merchant.Mode    `json:"mode"`
				Scopes []merchant.Scope `json:"scopes"`
				Label  string           `json:"label"`
			}{k.Key, k.Secret, k.Mode, k.Scopes, k.Label}
			return s.print(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "API key     %s\nAPI secret  %s\nlabel       %s\nmode        %s\nscopes      %s\n\nKeep the API secret now: it is not shown again.\n",
					k.Key, k.Secret, orElse(printable(k.Label), "none"), k.Mode, joinScopes(k.Scopes))
			})
		},
	}
	testFlag(c, "for test invoices, which cost nothing")
	c.Flags().StringVar(&label, "label", "", "what the key is for, such as \"web shop\"; lists show it")
	c.Flags().StringSliceVar(&names, "scope", nil, "what the key may do: create, read, page, link, admin (default all)")
	return c
}

// maxLabel bounds the label of a key, in characters.
const maxLabel = 64

// keyRow is a key as it is printed. It never has the secret.
type keyRow struct {
	Key       string           `json:"key"`
	Mode      merchant.Mode    `json:"mode"`
	Scopes    []merchant.Scope `json:"scopes"`
	Label     string           `json:"label"`
	CreatedAt string           `json:"created_at"`
	UsedAt    string           `json:"used_at"` // accurate to about a minute
	RevokedAt string           `json:"revoked_at"`
}

func (s *shell) keyList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List API keys, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			list, err := core.Storage.Keys(c.Context(), shop.ID)
			if err != nil {
				return err
			}
			rows := make([]keyRow, len(list))
			for i, k := range list {
				rows[i] = keyRow{Key: k.Key, Mode: k.Mode, Scopes: k.Scopes, Label: k.Label, CreatedAt: stamp(k.CreatedAt), UsedAt: stamp(k.UsedAt), RevokedAt: stamp(k.RevokedAt)}
			}
			return s.print(c, rows, func(w io.Writer) {
				table(w, "API KEY\tMODE\tSCOPES\tLABEL\tCREATED\tLAST USED\tREVOKED", rows, func(r keyRow) []any {
					return []any{r.Key, r.Mode, joinScopes(r.Scopes), r.Label, s.when(r.CreatedAt), orElse(s.when(r.UsedAt), "never"), s.when(r.RevokedAt)}
				})
			})
		},
	}
}

func (s *shell) keyRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke KEY",
		Short: "Revoke an API key; a running server refuses it within two seconds",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			_, core, err := s.core(c)
			if err != nil {
				return err
			}
			defer core.Close()
			if err := core.Storage.RevokeKey(c.Context(), args[0], core.Now()); err != nil {
				return fmt.Errorf("revoke key %s: %w", args[0], err)
			}
			return s.print(c, map[string]string{"revoked": args[0]}, func(w io.Writer) {
				fmt.Fprintln(w, "revoked", args[0])
			})
		},
	}
}

// parseScopes parses names of scopes. Without names it returns all scopes.
func parseScopes(names []string) ([]merchant.Scope, error) {
	if len(names) == 0 {
		return merchant.AllScopes, nil
	}
	var scopes []merchant.Scope
	for _, n := range names {
		scope := merchant.Scope(n)
		if !slices.Contains(merchant.AllScopes, scope) {
			return nil, fmt.Errorf("there is no scope %q; there are %s", n, joinScopes(merchant.AllScopes))
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}

func joinScopes(scopes []merchant.Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ",")
}

// stamp formats a time for JSON and lists; "" for the zero time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// orElse returns value, or empty if value is "".
func orElse(value, empty string) string {
	if value == "" {
		return empty
	}
	return value
}
