package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"chequer/internal/api"
	"chequer/internal/console"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

// events returns the group of commands about events.
func (s *shell) events() *cobra.Command {
	return console.Group("events", "List events, and send them again", s.eventsList(), s.eventsResend())
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

// subject returns the identifier of the invoice or the wallet of an event.
func (r eventRow) subject() string { return cmp.Or(r.body.ForeignID, r.body.Wallet.ID) }

// status returns the status of the invoice, or the change of the wallet.
func (r eventRow) status() string { return cmp.Or(r.body.Status, r.body.Wallet.Change) }

func (s *shell) eventsList() *cobra.Command {
	var after int64
	var eventType string
	limit := defaultListed
	c := list(s, "list", "List events, newest first", func(call invocation) ([]eventRow, error) {
		if err := checkFlag("event", eventType, wire.EventTypes()); err != nil {
			return nil, err
		}
		mode, err := call.mode()
		if err != nil {
			return nil, err
		}
		events, err := call.core.Storage.NewestEvents(call.Context(), call.shop.ID, invoice.Mode(mode), after, eventType, max(limit, 0))
		if err != nil {
			return nil, err
		}
		rows := make([]eventRow, len(events))
		for i, e := range events {
			if rows[i], err = newEventRow(e); err != nil {
				return nil, err
			}
		}
		return rows, nil
	}, "POSITION\tAT\tTYPE\tINVOICE OR WALLET\tSTATUS\tEVENT", func(r eventRow) []any {
		return []any{r.Position, s.Time(r.body.CreatedAt), r.body.Type, r.subject(), r.status(), r.body.ID}
	})
	testFlag(c, "of test invoices")
	c.Flags().Int64Var(&after, "after", 0, "only events after this position of the feed")
	c.Flags().StringVar(&eventType, "type", "", "only events of this type, such as invoice.paid")
	c.Flags().IntVar(&limit, "limit", limit, "maximum number of events")
	return c
}

func (s *shell) eventsResend() *cobra.Command {
	var endpointID string
	var after int64
	c := &cobra.Command{
		Use:   "resend EVENT… | --after POSITION",
		Short: "Send events again, to one endpoint or to all endpoints that received them",
		RunE: answer(s, func(call invocation) (map[string]int, error) {
			ranged := call.Flags().Changed("after")
			if (len(call.args) > 0) == ranged {
				return nil, errors.New("give either events or --after")
			}
			endpoints, err := call.core.Endpoints.All(call.Context(), call.shop.ID)
			if err != nil {
				return nil, err
			}
			if endpointID != "" {
				endpoints = slices.DeleteFunc(endpoints, func(e merchant.Endpoint) bool { return e.ID != endpointID })
			}
			if len(endpoints) == 0 {
				return nil, errors.New("there is no such endpoint: chequer endpoint list shows them")
			}
			var sent int
			if ranged {
				sent, err = resendAfter(call, endpoints, after)
			} else {
				sent, err = resendEach(call, endpoints)
			}
			return map[string]int{"deliveries": sent}, err
		}, func(w io.Writer, sent map[string]int) { fmt.Fprintln(w, "deliveries created:", sent["deliveries"]) }),
	}
	c.Flags().StringVar(&endpointID, "endpoint", "", "send only to this endpoint")
	c.Flags().Int64Var(&after, "after", 0, "all events after this position that an endpoint receives; 0 means from the oldest event kept")
	return c
}

// resendAfter sends all events after a position again to the endpoints that receive them.
func resendAfter(call invocation, endpoints []merchant.Endpoint, after int64) (total int, err error) {
	for _, e := range endpoints {
		sent, err := call.core.Endpoints.ResendAfter(call.Context(), e, after)
		if err != nil {
			return total, fmt.Errorf("resend to %s: %w", e.ID, err)
		}
		total += sent
	}
	return total, nil
}

// resendEach sends each event that the arguments name again to the endpoints that it was sent to before.
func resendEach(call invocation, endpoints []merchant.Endpoint) (total int, err error) {
	for _, event := range call.args {
		before := total
		for _, e := range endpoints {
			_, _, err := call.core.Endpoints.Delivery(call.Context(), e, event)
			if errors.Is(err, merchant.ErrNotFound) {
				continue
			}
			if err == nil {
				err = call.core.Endpoints.Resend(call.Context(), e, event)
			}
			if err != nil {
				return total, fmt.Errorf("resend %s to %s: %w", event, e.ID, err)
			}
			total++
		}
		if total == before {
			return total, fmt.Errorf("event %s has no delivery to these endpoints: chequer endpoint resend ENDPOINT %s sends it to an endpoint", event, event)
		}
	}
	return total, nil
}
