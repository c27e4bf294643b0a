package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
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
		}, "API KEY\tMODE\tSCOPES\tLABEL\tCREATED\tLAST USED\tPLUG-IN\tREVOKED", func(r keyRow) []any {
			return []any{r.Key, r.Mode, joinScopes(r.Scopes), r.Label, s.Time(r.CreatedAt), cmp.Or(s.Time(r.UsedAt), "never"), cmp.Or(r.Plugin, "none"), s.Time(r.RevokedAt)}
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
	Plugin    string           `json:"plugin"` // "" for a key that signs requests
	CreatedAt string           `json:"created_at"`
	UsedAt    string           `json:"used_at"` // accurate to about a minute
	RevokedAt string           `json:"revoked_at"`
}

func newKeyRow(k merchant.Key) keyRow {
	return keyRow{
		Key: k.Key, Mode: k.Mode, Scopes: k.Scopes, Label: k.Label, Plugin: k.Plugin,
		CreatedAt: console.Stamp(k.CreatedAt), UsedAt: console.Stamp(k.UsedAt), RevokedAt: console.Stamp(k.RevokedAt),
	}
}

// createdKey is a key as it is printed when it is created: with a secret or, for a plug-in, with a token.
type createdKey struct {
	Key    string           `json:"key"`
	Secret string           `json:"secret,omitempty"`
	Token  string           `json:"token,omitempty"`
	Plugin string           `json:"plugin,omitempty"`
	Store  string           `json:"store,omitempty"`
	Mode   merchant.Mode    `json:"mode"`
	Scopes []merchant.Scope `json:"scopes"`
	Label  string           `json:"label"`

	address string // of the server
}

// keyOptions are the flags of the command that creates a key.
type keyOptions struct {
	scopes    []string
	label     string
	plugin    string
	maySettle bool
}

func (s *shell) keyAdd() *cobra.Command {
	var o keyOptions
	c := &cobra.Command{
		Use:   "add",
		Short: "Create an API key; its secret is shown only once",
		Long: `Creates an API key, which signs requests with its secret. With --btcpay it creates the key of a shop plug-in made for
BTCPay Server, which presents it as a token.`,
		Example: "  chequer key add --label \"web shop\" --scope create,read\n  chequer key add --btcpay woocommerce",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) (createdKey, error) {
			mode, err := call.mode()
			if err != nil {
				return createdKey{}, err
			}
			if mode == merchant.Live {
				if err := call.checkNotDemo(); err != nil {
					return createdKey{}, err
				}
			}
			add := call.addKey
			if o.plugin != "" {
				add = call.addPluginKey
			}
			k, err := add(o, mode)
			if refused, ok := errors.AsType[*merchant.FieldError](err); ok {
				err = fmt.Errorf("--%w", refused)
			}
			return k, err
		}, printCreatedKey),
	}
	testFlag(c, "for test invoices, which cost nothing")
	c.Flags().StringVar(&o.label, "label", "", "what the key is for, such as \"web shop\"; lists show it")
	c.Flags().StringSliceVar(&o.scopes, "scope", nil, "what the key may do: create, read, page, link, admin (default all)")
	c.Flags().StringVar(&o.plugin, "btcpay", "", "name of the plug-in made for BTCPay Server that will have the key, such as woocommerce, or other")
	c.Flags().BoolVar(&o.maySettle, "may-settle", false, "let the plug-in accept received money as the full price")
	return c
}

// addKey creates a key that signs requests.
func (call invocation) addKey(o keyOptions, mode merchant.Mode) (createdKey, error) {
	if o.maySettle {
		return createdKey{}, errors.New("--may-settle needs --btcpay")
	}
	scopes, err := parseScopes(o.scopes)
	if err != nil {
		return createdKey{}, err
	}
	k, err := call.core.Merchants.CreateKey(call.Context(), call.shop.ID, mode, scopes, o.label)
	return createdKey{Key: k.Key, Secret: k.Secret, Mode: k.Mode, Scopes: k.Scopes, Label: k.Label}, err
}

// addPluginKey creates the key of a plug-in, with the scopes that the plug-in needs.
func (call invocation) addPluginKey(o keyOptions, mode merchant.Mode) (createdKey, error) {
	if len(o.scopes) > 0 {
		return createdKey{}, errors.New("--scope and --btcpay exclude each other: the plug-in decides what its key may do")
	}
	p, err := merchant.FindPlugin(o.plugin)
	if err != nil {
		return createdKey{}, fmt.Errorf("--btcpay %w", err)
	}
	if !p.AcceptsPastedKey() {
		return createdKey{}, fmt.Errorf("--btcpay %s: a key cannot be entered in this plug-in: enter %s there and press its button, which leads to the desk", p.Name, call.cfg.BaseURL)
	}
	scopes := slices.Clone(p.Scopes)
	if o.maySettle {
		scopes = append(scopes, merchant.ScopeSettleInvoices)
	}
	k, token, err := call.core.Merchants.CreatePluginKey(call.Context(), call.shop.ID, merchant.PluginKey{Plugin: p.Name, Mode: mode, Scopes: scopes, Label: o.label})
	return createdKey{
		Key: k.Key, Token: token, Plugin: k.Plugin, Store: k.StoreID(), Mode: k.Mode, Scopes: k.Scopes, Label: k.Label, address: call.cfg.BaseURL,
	}, err
}

// printCreatedKey prints a new key with its secret or its token.
func printCreatedKey(w io.Writer, k createdKey) {
	if k.Token != "" {
		fmt.Fprintf(w, "server      %s\nAPI key     %s\nstore       %s\nplug-in     %s\nlabel       %s\nmode        %s\nscopes      %s\n\nKeep the API key now: it is not shown again. Lists show its first 32 characters.\n",
			k.address, k.Token, k.Store, k.Plugin, k.Label, k.Mode, joinScopes(k.Scopes))
		return
	}
	fmt.Fprintf(w, "API key     %s\nAPI secret  %s\nlabel       %s\nmode        %s\nscopes      %s\n\nKeep the API secret now: it is not shown again.\n",
		k.Key, k.Secret, cmp.Or(k.Label, "none"), k.Mode, joinScopes(k.Scopes))
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
