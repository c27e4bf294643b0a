package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

// events returns the group of commands about events.
func (s *shell) events() *cobra.Command {
	c := group("events", "List events, and send them again")
	c.AddCommand(s.eventsList(), s.eventsResend())
	return c
}

// eventRow is an event as it is printed, with the body of its deliveries.
type eventRow struct {
	Position int64           `json:"position"`
	Event    json.RawMessage `json:"event"`
	body     api.Event
}

func newEventRow(e invoice.Event) (r eventRow, err error) {
	r = eventRow{Position: e.Position, Event: e.Body}
	if err = json.Unmarshal(e.Body, &r.body); err != nil {
		err = fmt.Errorf("event %s: %w", e.ID, err)
	}
	return r, err
}

// about returns the identifier of the invoice or the wallet of an event.
func (r eventRow) about() string { return orElse(r.body.ForeignID, r.body.Wallet.ID) }

// status returns the status of the invoice, or the change of the wallet.
func (r eventRow) status() string { return orElse(r.body.Status, r.body.Wallet.Change) }

func (s *shell) eventsList() *cobra.Command {
	var after int64
	var kind string
	limit := defaultListed
	c := &cobra.Command{
		Use:   "list",
		Short: "List events, newest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if kind != "" && !slices.Contains(wire.EventTypes(), kind) {
				return fmt.Errorf("there is no event %q; there are %s", kind, strings.Join(wire.EventTypes(), ", "))
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
			list, err := core.Storage.NewestEvents(c.Context(), shop.ID, invoice.Mode(mode), after, kind, max(limit, 0))
			if err != nil {
				return err
			}
			rows := make([]eventRow, len(list))
			for i, e := range list {
				if rows[i], err = newEventRow(e); err != nil {
					return err
				}
			}
			return s.print(c, rows, func(w io.Writer) { s.listEvents(w, rows) })
		},
	}
	testFlag(c, "of test invoices")
	c.Flags().Int64Var(&after, "after", 0, "only events after this position of the feed")
	c.Flags().StringVar(&kind, "type", "", "only events of this type, such as invoice.paid")
	c.Flags().IntVar(&limit, "limit", limit, "maximum number of events")
	return c
}

func (s *shell) listEvents(w io.Writer, rows []eventRow) {
	table(w, "POSITION\tAT\tTYPE\tINVOICE OR WALLET\tSTATUS\tEVENT", rows, func(r eventRow) []any {
		return []any{r.Position, s.when(r.body.CreatedAt), r.body.Type, r.about(), r.status(), r.body.ID}
	})
}

func (s *shell) eventsResend() *cobra.Command {
	var id string
	var after int64
	c := &cobra.Command{
		Use:   "resend EVENT… | --after POSITION",
		Short: "Send events again, to one endpoint or to all endpoints that received them",
		RunE: func(c *cobra.Command, args []string) error {
			ranged := c.Flags().Changed("after")
			if (len(args) > 0) == ranged {
				return errors.New("want events, or --after")
			}
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			endpoints, err := core.Endpoints.All(c.Context(), shop.ID)
			if err != nil {
				return err
			}
			if id != "" {
				endpoints = slices.DeleteFunc(endpoints, func(e merchant.Endpoint) bool { return e.ID != id })
			}
			if len(endpoints) == 0 {
				return errors.New("there is no such endpoint: chequer endpoint list shows them")
			}
			var sent int
			if ranged {
				sent, err = resendAfter(c, core, endpoints, after)
			} else {
				sent, err = resendEach(c, core, endpoints, args)
			}
			if err != nil {
				return err
			}
			return s.print(c, map[string]int{"deliveries": sent}, func(w io.Writer) { fmt.Fprintln(w, "deliveries made again:", sent) })
		},
	}
	c.Flags().StringVar(&id, "endpoint", "", "send only to this endpoint")
	c.Flags().Int64Var(&after, "after", 0, "all events after this position that an endpoint receives; 0 means from the oldest event kept")
	return c
}

// resendAfter sends all events after a position again to the endpoints that receive them.
func resendAfter(c *cobra.Command, core *app.Core, endpoints []merchant.Endpoint, after int64) (total int, err error) {
	for _, e := range endpoints {
		sent, err := core.Endpoints.ResendAfter(c.Context(), e, after)
		if err != nil {
			return total, fmt.Errorf("resend to %s: %w", e.ID, err)
		}
		total += sent
	}
	return total, nil
}

// resendEach sends each event again to the endpoints that it was sent to before.
func resendEach(c *cobra.Command, core *app.Core, endpoints []merchant.Endpoint, events []string) (total int, err error) {
	for _, event := range events {
		before := total
		for _, e := range endpoints {
			_, _, err := core.Endpoints.Delivery(c.Context(), e, event)
			if errors.Is(err, merchant.ErrNotFound) {
				continue
			}
			if err == nil {
				err = core.Endpoints.Resend(c.Context(), e, event)
			}
			if err != nil {
				return total, fmt.Errorf("resend %s to %s: %w", event, e.ID, err)
			}
			total++
		}
		if total == before {
			return total, fmt.Errorf("event %s was for none of these endpoints: chequer endpoint resend END %s sends it to one all the same", event, event)
		}
	}
	return total, nil
}
