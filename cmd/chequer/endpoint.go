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
		list(s, "list", "List endpoints, without their secrets", func(in call) ([]endpointRow, error) {
			endpoints, err := in.core.Endpoints.All(in.Context(), in.shop.ID)
			return rowsOf(endpoints, newEndpointRow), err
		}, "ENDPOINT\tMODE\tURL\tEVENTS\tSTATE\tCREATED", func(r endpointRow) []any {
			return []any{r.ID, r.Mode, r.URL, r.eventTypes(), r.state(), s.Time(r.CreatedAt)}
		}),
		s.endpointChange("pause", "Keep events until the endpoint is resumed", "paused", func(in call, e merchant.Endpoint) error {
			_, err := in.core.Endpoints.Pause(in.Context(), e.MerchantID, e.ID, true)
			return err
		}),
		s.endpointChange("resume", "Send the events that were kept, and new events", "resumed", func(in call, e merchant.Endpoint) error {
			_, err := in.core.Endpoints.Pause(in.Context(), e.MerchantID, e.ID, false)
			return err
		}),
		s.endpointRotate(),
		s.endpointChange("remove", "Stop sending, and drop the waiting events", "removed", func(in call, e merchant.Endpoint) error {
			return in.core.Endpoints.Remove(in.Context(), e.MerchantID, e.ID)
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
func (in call) namedEndpoint() (merchant.Endpoint, error) {
	e, err := in.core.Endpoints.Endpoint(in.Context(), in.shop.ID, in.args[0])
	if err != nil {
		err = fmt.Errorf("endpoint %s: %w", in.args[0], err)
	}
	return e, err
}

// endpointChange returns a command that makes one change to an endpoint.
func (s *shell) endpointChange(name, short, done string, change func(call, merchant.Endpoint) error) *cobra.Command {
	return s.change(name+" ENDPOINT", short, done, func(in call, id string) error {
		e, err := in.namedEndpoint()
		if err != nil {
			return err
		}
		if err := change(in, e); err != nil {
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
		RunE: answer(s, func(in call) (row endpointRow, err error) {
			if err := checkEventTypes(events); err != nil {
				return row, err
			}
			mode, err := in.mode()
			if err != nil {
				return row, err
			}
			e, err := in.core.Endpoints.Create(in.Context(), in.shop.ID, mode, in.args[0], events)
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
		RunE: answer(s, func(in call) (row endpointRow, err error) {
			e, err := in.namedEndpoint()
			if err != nil {
				return row, err
			}
			rotate := in.core.Endpoints.Rotate
			if finish {
				rotate = in.core.Endpoints.Finish
			}
			e, err = rotate(in.Context(), e.MerchantID, e.ID)
			switch {
			case errors.Is(err, merchant.ErrState) && finish:
				err = fmt.Errorf("endpoint %s has only one key pair: chequer endpoint rotate %s creates the next", in.args[0], in.args[0])
			case errors.Is(err, merchant.ErrState):
				err = fmt.Errorf("endpoint %s already has its next key pair: chequer endpoint rotate %s --finish makes it the only pair", in.args[0], in.args[0])
			case err != nil:
				err = fmt.Errorf("rotate endpoint %s: %w", in.args[0], err)
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
