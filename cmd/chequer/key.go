package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/console"
	"chequer/internal/merchant"
)

// key returns the group of commands about API keys.
func (s *shell) key() *cobra.Command {
	return console.Group("key", "Create, list and revoke API keys", s.keyAdd(),
		list(s, "list", "List API keys, without their secrets", func(call invocation) ([]keyRow, error) {
			all, err := call.core.Merchants.Keys(call.Context(), call.shop.ID)
			return convertAll(all, newKeyRow), err
		}, "API KEY\tMODE\tSCOPES\tLABEL\tCREATED\tLAST USED\tREVOKED", func(r keyRow) []any {
			return []any{r.Key, r.Mode, joinScopes(r.Scopes), r.Label, s.Time(r.CreatedAt), cmp.Or(s.Time(r.UsedAt), "never"), s.Time(r.RevokedAt)}
		}),
		s.change("revoke KEY", "Revoke an API key; a running server refuses it within two seconds", "revoked", func(call invocation, key string) error {
			if err := call.core.Merchants.RevokeKey(call.Context(), call.shop.ID, key); err != nil {
				return fmt.Errorf("revoke key %s: %w", key, err)
			}
			return nil
		}))
}

// keyRow is a key as it is listed. It never has the secret.
type keyRow struct {
	Key       string           `json:"key"`
	Mode      merchant.Mode    `json:"mode"`
	Scopes    []merchant.Scope `json:"scopes"`
	Label     string           `json:"label"`
	CreatedAt string           `json:"created_at"`
	UsedAt    string           `json:"used_at"` // accurate to about a minute
	RevokedAt string           `json:"revoked_at"`
}

func newKeyRow(k merchant.Key) keyRow {
	return keyRow{
		Key: k.Key, Mode: k.Mode, Scopes: k.Scopes, Label: k.Label,
		CreatedAt: console.Stamp(k.CreatedAt), UsedAt: console.Stamp(k.UsedAt), RevokedAt: console.Stamp(k.RevokedAt),
	}
}

// createdKey is a key with its secret, as it is printed when it is created.
type createdKey struct {
	Key    string           `json:"key"`
	Secret string           `json:"secret"`
	Mode   merchant.Mode    `json:"mode"`
	Scopes []merchant.Scope `json:"scopes"`
	Label  string           `json:"label"`
}

func (s *shell) keyAdd() *cobra.Command {
	var names []string
	var label string
	c := &cobra.Command{
		Use:   "add",
		Short: "Create an API key; its secret is shown only once",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (createdKey, error) {
			scopes, err := parseScopes(names)
			if err != nil {
				return createdKey{}, err
			}
			mode, err := call.mode()
			if err != nil {
				return createdKey{}, err
			}
			k, err := call.core.Merchants.CreateKey(call.Context(), call.shop.ID, mode, scopes, label)
			if refused, ok := errors.AsType[*merchant.FieldError](err); ok {
				err = fmt.Errorf("--%w", refused)
			}
			return createdKey{k.Key, k.Secret, k.Mode, k.Scopes, k.Label}, err
		}, func(w io.Writer, k createdKey) {
			fmt.Fprintf(w, "API key     %s\nAPI secret  %s\nlabel       %s\nmode        %s\nscopes      %s\n\nKeep the API secret now: it is not shown again.\n",
				k.Key, k.Secret, cmp.Or(k.Label, "none"), k.Mode, joinScopes(k.Scopes))
		}),
	}
	testFlag(c, "for test invoices, which cost nothing")
	c.Flags().StringVar(&label, "label", "", "what the key is for, such as \"web shop\"; lists show it")
	c.Flags().StringSliceVar(&names, "scope", nil, "what the key may do: create, read, page, link, admin (default all)")
	return c
}

// parseScopes parses names of scopes. Without names it returns all scopes.
func parseScopes(names []string) ([]merchant.Scope, error) {
	if len(names) == 0 {
		return merchant.AllScopes, nil
	}
	scopes, err := merchant.ParseScopes(names)
	if err != nil {
		return nil, fmt.Errorf("--scope %w", err)
	}
	return scopes, nil
}

func joinScopes(scopes []merchant.Scope) string {
	return strings.Join(convertAll(scopes, func(s merchant.Scope) string { return string(s) }), ",")
}
