package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

// endpoint returns the group of commands about endpoints.
func (s *shell) endpoint() *cobra.Command {
	c := group("endpoint", "Set where events are sent, and show their deliveries")
	c.AddCommand(
		s.endpointAdd(), s.endpointList(),
		s.endpointChange("pause", "Hold back events until the endpoint is resumed; none is lost", "paused", func(ctx context.Context, core *app.Core, e merchant.Endpoint) error {
			_, err := core.Endpoints.Pause(ctx, e.MerchantID, e.ID, true)
			return err
		}),
		s.endpointChange("resume", "Send the events that were held back", "resumed", func(ctx context.Context, core *app.Core, e merchant.Endpoint) error {
			_, err := core.Endpoints.Pause(ctx, e.MerchantID, e.ID, false)
			return err
		}),
		s.endpointRotate(),
		s.endpointChange("remove", "Stop sending; events that wait are dropped", "removed", func(ctx context.Context, core *app.Core, e merchant.Endpoint) error {
			return core.Endpoints.Remove(ctx, e.MerchantID, e.ID)
		}),
		s.endpointTest(), s.endpointDeliveries(), s.endpointResend(),
	)
	return c
}

// endpointRow is an endpoint as it is printed. It contains its secrets only when they are created.
type endpointRow struct {
	ID         string        `json:"id"`
	Mode       merchant.Mode `json:"mode"`
	URL        string        `json:"url"`
	Events     []string      `json:"events"`
	Paused     bool          `json:"paused"`
	Key        string        `json:"key"`
	Secret     string        `json:"secret,omitempty"`
	NextKey    string        `json:"next_key,omitempty"`
	NextSecret string        `json:"next_secret,omitempty"`
	CreatedAt  string        `json:"created_at"`
}

func newEndpointRow(e merchant.Endpoint) endpointRow {
	return endpointRow{
		ID: e.ID, Mode: e.Mode, URL: e.URL, Events: append([]string{}, e.Events...), Paused: e.Paused, Key: e.Key, NextKey: e.NextKey,
		CreatedAt: stamp(e.CreatedAt),
	}
}

// wanted returns the event types that an endpoint receives, as text.
func (r endpointRow) wanted() string {
	if len(r.Events) == 0 {
		return "all"
	}
	return strings.Join(r.Events, ",")
}

// state returns the state of an endpoint, as text.
func (r endpointRow) state() string {
	switch {
	case r.Paused:
		return "paused"
	case r.NextKey != "":
		return "rotating"
	}
	return "active"
}

func (s *shell) endpointAdd() *cobra.Command {
	var events []string
	c := &cobra.Command{
		Use:     "add URL",
		Short:   "Send events to an address; the secret that signs them is shown only now",
		Example: "  chequer endpoint add https://shop.example/chequer --events invoice.paid,invoice.expired",
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range events {
				if !slices.Contains(wire.EventTypes(), name) {
					return fmt.Errorf("there is no event %q; there are %s", name, strings.Join(wire.EventTypes(), ", "))
				}
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
			e, err := core.Endpoints.Create(c.Context(), shop.ID, mode, args[0], events)
			if err != nil {
				return err
			}
			row := newEndpointRow(e)
			row.Secret = e.Secret
			return s.print(c, row, func(w io.Writer) {
				fmt.Fprintf(w, "endpoint  %s\nkey       %s\nsecret    %s\nmode      %s\nevents    %s\n\nKeep the secret now: it is not shown again.\n",
					row.ID, row.Key, row.Secret, row.Mode, row.wanted())
			})
		},
	}
	testFlag(c, "events of test invoices, which cost nothing")
	c.Flags().StringSliceVar(&events, "events", nil, "types of events, such as invoice.paid (default all)")
	return c
}

func (s *shell) endpointList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List endpoints, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			all, err := core.Endpoints.All(c.Context(), shop.ID)
			if err != nil {
				return err
			}
			rows := make([]endpointRow, len(all))
			for i, e := range all {
				rows[i] = newEndpointRow(e)
			}
			return s.print(c, rows, func(w io.Writer) {
				table(w, "ENDPOINT\tMODE\tURL\tEVENTS\tSTATE\tCREATED", rows, func(r endpointRow) []any {
					return []any{r.ID, r.Mode, r.URL, r.wanted(), r.state(), s.when(r.CreatedAt)}
				})
			})
		},
	}
}

// endpointChange returns a command that makes one change to an endpoint.
func (s *shell) endpointChange(name, short, done string, change func(context.Context, *app.Core, merchant.Endpoint) error) *cobra.Command {
	return &cobra.Command{
		Use:   name + " ENDPOINT",
		Short: short,
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			core, e, err := s.openEndpoint(c, args[0])
			if err != nil {
				return err
			}
			defer core.Close()
			if err := change(c.Context(), core, e); err != nil {
				return fmt.Errorf("%s endpoint %s: %w", name, e.ID, err)
			}
			return s.print(c, map[string]string{done: e.ID}, func(w io.Writer) { fmt.Fprintln(w, done, e.ID) })
		},
	}
}

// openEndpoint opens the storage and finds an endpoint. The caller must close the core.
func (s *shell) openEndpoint(c *cobra.Command, id string) (*app.Core, merchant.Endpoint, error) {
	_, core, shop, err := s.shop(c)
	if err != nil {
		return nil, merchant.Endpoint{}, err
	}
	e, err := core.Endpoints.Endpoint(c.Context(), shop.ID, id)
	if err != nil {
		return nil, e, errors.Join(fmt.Errorf("endpoint %s: %w", id, err), core.Close())
	}
	return core, e, nil
}

func (s *shell) endpointRotate() *cobra.Command {
	var finish bool
	c := &cobra.Command{
		Use:   "rotate ENDPOINT",
		Short: "Change the key pair: begin, set the new pair at the receiver, then --finish",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			core, e, err := s.openEndpoint(c, args[0])
			if err != nil {
				return err
			}
			defer core.Close()
			if finish {
				e, err = core.Endpoints.Finish(c.Context(), e.MerchantID, e.ID)
			} else {
				e, err = core.Endpoints.Rotate(c.Context(), e.MerchantID, e.ID)
			}
			switch {
			case errors.Is(err, merchant.ErrState) && finish:
				return fmt.Errorf("endpoint %s has only one key pair: chequer endpoint rotate %s creates the next", args[0], args[0])
			case errors.Is(err, merchant.ErrState):
				return fmt.Errorf("endpoint %s already has its next key pair: chequer endpoint rotate %s --finish makes it the only pair", args[0], args[0])
			case err != nil:
				return fmt.Errorf("rotate endpoint %s: %w", args[0], err)
			}
			row := newEndpointRow(e)
			row.NextSecret = e.NextSecret
			return s.print(c, row, func(w io.Writer) {
				if finish {
					fmt.Fprintf(w, "%s now has only the new key pair: %s\n", row.ID, row.Key)
					return
				}
				fmt.Fprintf(w, "next key     %s\nnext secret  %s\n\nKeep the secret now: it is not shown again. X-Processing-Signature-V2 is signed with both secrets and X-Processing-Signature\nwith the current one, until chequer endpoint rotate %s --finish\n",
					row.NextKey, row.NextSecret, row.ID)
			})
		},
	}
	c.Flags().BoolVar(&finish, "finish", false, "make the new pair the only one")
	return c
}
