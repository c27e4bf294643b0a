package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/console"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

// endpoint returns the group of commands about endpoints.
func (s *shell) endpoint() *cobra.Command {
	return console.Group("endpoint", "Set where events are sent, and show their deliveries",
		s.endpointAdd(),
		list(s, "list", "List endpoints, without their secrets", func(call invocation) ([]endpointRow, error) {
			endpoints, err := call.core.Endpoints.All(call.Context(), call.shop.ID)
			return convertAll(endpoints, newEndpointRow), err
		}, "ENDPOINT\tMODE\tURL\tEVENTS\tSTATE\tCREATED", func(r endpointRow) []any {
			return []any{r.ID, r.Mode, r.URL, r.eventTypes(), r.state(), s.Time(r.CreatedAt)}
		}),
		s.endpointChange(),
		s.endpointAction("pause", "Keep events until the endpoint is resumed", "paused", func(call invocation, e merchant.Endpoint) error {
			_, err := call.core.Endpoints.SetPaused(call.Context(), e.MerchantID, e.ID, true)
			return err
		}),
		s.endpointAction("resume", "Send the events that were kept, and new events", "resumed", func(call invocation, e merchant.Endpoint) error {
			_, err := call.core.Endpoints.SetPaused(call.Context(), e.MerchantID, e.ID, false)
			return err
		}),
		s.endpointRotate(),
		s.endpointAction("remove", "Stop sending, and drop the waiting events", "removed", func(call invocation, e merchant.Endpoint) error {
			return call.core.Endpoints.Remove(call.Context(), e.MerchantID, e.ID)
		}),
		s.endpointTest(), s.endpointDeliveries(), s.endpointResend())
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
		CreatedAt: console.Stamp(e.CreatedAt),
	}
}

// eventTypes returns the event types that an endpoint receives, as text.
func (r endpointRow) eventTypes() string {
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

// namedEndpoint returns the endpoint that the first argument names.
func (call invocation) namedEndpoint() (merchant.Endpoint, error) {
	e, err := call.core.Endpoints.Endpoint(call.Context(), call.shop.ID, call.args[0])
	if err != nil {
		err = fmt.Errorf("endpoint %s: %w", call.args[0], err)
	}
	return e, err
}

// endpointAction returns a command that makes one change to an endpoint.
func (s *shell) endpointAction(name, short, done string, change func(invocation, merchant.Endpoint) error) *cobra.Command {
	return s.change(name+" ENDPOINT", short, done, func(call invocation, id string) error {
		e, err := call.namedEndpoint()
		if err != nil {
			return err
		}
		if err := change(call, e); err != nil {
			return fmt.Errorf("%s endpoint %s: %w", name, id, err)
		}
		return nil
	})
}

func (s *shell) endpointAdd() *cobra.Command {
	var events []string
	c := &cobra.Command{
		Use:     "add URL",
		Short:   "Send events to an address; the secret that signs them is shown only once",
		Example: "  chequer endpoint add https://shop.example/chequer --events invoice.paid,invoice.expired",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) (row endpointRow, err error) {
			if err := checkEventTypes(events); err != nil {
				return row, err
			}
			mode, err := call.mode()
			if err != nil {
				return row, err
			}
			e, err := call.core.Endpoints.Create(call.Context(), call.shop.ID, mode, call.args[0], events)
			row = newEndpointRow(e)
			row.Secret = e.Secret
			return row, err
		}, func(w io.Writer, row endpointRow) {
			fmt.Fprintf(w, "endpoint  %s\nkey       %s\nsecret    %s\nmode      %s\nevents    %s\n\nKeep the secret now: it is not shown again.\n",
				row.ID, row.Key, row.Secret, row.Mode, row.eventTypes())
		}),
	}
	testFlag(c, "events of test invoices, which cost nothing")
	c.Flags().StringSliceVar(&events, "events", nil, "types of events, such as invoice.paid (default all)")
	return c
}

func (s *shell) endpointChange() *cobra.Command {
	var url string
	var events []string
	c := &cobra.Command{
		Use:     "change ENDPOINT",
		Short:   "Change the address or the types of events; waiting events are sent to the new address",
		Example: "  chequer endpoint change end_… --url https://shop.example/hooks --events invoice.paid",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) (row endpointRow, err error) {
			if err := checkEventTypes(events); err != nil {
				return row, err
			}
			var change merchant.EndpointChange
			call.applyFlags(map[string]func(){"url": func() { change.URL = &url }, "events": func() { change.Events = &events }})
			if change == (merchant.EndpointChange{}) {
				return row, errors.New("give --url, --events or both")
			}
			e, err := call.namedEndpoint()
			if err != nil {
				return row, err
			}
			e, err = call.core.Endpoints.Change(call.Context(), e.MerchantID, e.ID, change)
			return newEndpointRow(e), err
		}, func(w io.Writer, row endpointRow) {
			fmt.Fprintf(w, "endpoint  %s\nurl       %s\nevents    %s\n", row.ID, row.URL, row.eventTypes())
		}),
	}
	c.Flags().StringVar(&url, "url", "", "new address")
	c.Flags().StringSliceVar(&events, "events", nil, "types of events, such as invoice.paid; empty for all")
	return c
}

// checkEventTypes returns an error for an unknown type of event.
func checkEventTypes(types []string) error {
	for _, t := range types {
		if err := checkWord("event", t, wire.EventTypes()); err != nil {
			return err
		}
	}
	return nil
}

func (s *shell) endpointRotate() *cobra.Command {
	var finish bool
	c := &cobra.Command{
		Use:   "rotate ENDPOINT",
		Short: "Change the key pair: begin, set the new pair at the receiver, then --finish",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (row endpointRow, err error) {
			e, err := call.namedEndpoint()
			if err != nil {
				return row, err
			}
			rotate := call.core.Endpoints.Rotate
			if finish {
				rotate = call.core.Endpoints.Finish
			}
			e, err = rotate(call.Context(), e.MerchantID, e.ID)
			switch {
			case errors.Is(err, merchant.ErrState) && finish:
				err = fmt.Errorf("endpoint %s has only one key pair: chequer endpoint rotate %s creates the next", call.args[0], call.args[0])
			case errors.Is(err, merchant.ErrState):
				err = fmt.Errorf("endpoint %s already has its next key pair: chequer endpoint rotate %s --finish makes it the only pair", call.args[0], call.args[0])
			case err != nil:
				err = fmt.Errorf("rotate endpoint %s: %w", call.args[0], err)
			}
			row = newEndpointRow(e)
			row.NextSecret = e.NextSecret
			return row, err
		}, func(w io.Writer, row endpointRow) {
			if finish {
				fmt.Fprintf(w, "%s now has only the new key pair: %s\n", row.ID, row.Key)
				return
			}
			fmt.Fprintf(w, "next key     %s\nnext secret  %s\n\nKeep the secret now: it is not shown again. X-Processing-Signature-V2 is signed with both secrets and X-Processing-Signature\nwith the current one, until chequer endpoint rotate %s --finish\n",
				row.NextKey, row.NextSecret, row.ID)
		}),
	}
	c.Flags().BoolVar(&finish, "finish", false, "make the new pair the only one")
	return c
}
