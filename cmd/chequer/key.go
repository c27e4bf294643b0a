package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/merchant"
)

// key is the group of commands about API keys.
func (s *shell) key() *cobra.Command {
	c := group("key", "Make, list and revoke API keys")
	c.AddCommand(s.keyAdd(), s.keyList(), s.keyRevoke())
	return c
}

func (s *shell) keyAdd() *cobra.Command {
	var test bool
	var names []string
	c := &cobra.Command{
		Use:   "add",
		Short: "Make an API key; its secret is shown only now",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			scopes, err := parseScopes(names)
			if err != nil {
				return err
			}
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			mode := merchant.Live
			if test {
				mode = merchant.Test
			}
			k, err := core.Merchants.CreateKey(c.Context(), shop.ID, mode, scopes)
			if err != nil {
				return err
			}
			result := struct {
				Key    string           `json:"key"`
				Secret string           `json:"secret"`
				Mode   merchant.Mode    `json:"mode"`
				Scopes []merchant.Scope `json:"scopes"`
			}{k.Key, k.Secret, k.Mode, k.Scopes}
			return s.print(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "key     %s\nsecret  %s\nmode    %s\nscopes  %s\n\nKeep the secret now: it is not shown again.\n", k.Key, k.Secret, k.Mode, joinScopes(k.Scopes))
			})
		},
	}
	c.Flags().BoolVar(&test, "test", false, "for test invoices, which cost nothing")
	c.Flags().StringSliceVar(&names, "scope", nil, "what the key may do: create, read, page, link, admin (default all)")
	return c
}

// keyRow is a key as the list shows it: never its secret.
type keyRow struct {
	Key       string           `json:"key"`
	Mode      merchant.Mode    `json:"mode"`
	Scopes    []merchant.Scope `json:"scopes"`
	CreatedAt string           `json:"created_at"`
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
				rows[i] = keyRow{Key: k.Key, Mode: k.Mode, Scopes: k.Scopes, CreatedAt: stamp(k.CreatedAt), RevokedAt: stamp(k.RevokedAt)}
			}
			return s.print(c, rows, func(w io.Writer) {
				table(w, "KEY\tMODE\tSCOPES\tCREATED\tREVOKED", rows, func(r keyRow) []any {
					return []any{r.Key, r.Mode, joinScopes(r.Scopes), s.when(r.CreatedAt), s.when(r.RevokedAt)}
				})
			})
		},
	}
}

func (s *shell) keyRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke KEY",
		Short: "End an API key, within two seconds on a running server",
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

// parseScopes reads the names of scopes; none means all.
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

// stamp is a time as lists show it; "" when there is none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
