package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/app"
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

const (
	// testTimeout is the time that the command waits for the result of a test event: the running server
	// must notice the event and make one attempt.
	testTimeout = 13 * time.Second
	// defaultListed is the default number of listed deliveries.
	defaultListed = 50
)

func (s *shell) endpointTest() *cobra.Command {
	return &cobra.Command{
		Use:   "test ENDPOINT",
		Short: "Let the running server send an endpoint.test event once, and print the result",
		Args:  console.Arguments,
		RunE: s.withShop(func(call invocation) error {
			e, err := call.namedEndpoint()
			if err != nil {
				return err
			}
			eventID, err := call.core.Endpoints.Test(call.Context(), e.MerchantID, e.ID)
			if errors.Is(err, merchant.ErrState) {
				return fmt.Errorf("endpoint %s is paused: chequer endpoint resume %s", e.ID, e.ID)
			}
			if err != nil {
				return err
			}
			d, attempts, err := waitForAttempt(call.Context(), call.core, e, eventID)
			if err != nil {
				return err
			}
			if len(attempts) == 0 {
				return errors.New("the event was not sent yet: it is sent when chequer serve runs on the same database")
			}
			row := newDeliveryRow(d)
			if err := s.Print(call.Command, row, func(w io.Writer) { fmt.Fprintf(w, "%s %s: %s\n", row.Event, row.State, row.result()) }); err != nil {
				return err
			}
			if !attempts[0].Accepted() {
				return errors.New("the endpoint did not accept the event")
			}
			return nil
		}),
	}
}

// waitForAttempt waits for the first attempt of a delivery. It returns no attempts if there was none within
// testTimeout.
func waitForAttempt(ctx context.Context, core *app.Core, e merchant.Endpoint, eventID string) (merchant.Delivery, []merchant.Attempt, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testTimeout)
	for {
		d, attempts, err := core.Endpoints.Delivery(ctx, e, eventID)
		if err != nil || len(attempts) > 0 {
			return d, attempts, err
		}
		select {
		case <-tick.C:
		case <-deadline:
			return d, nil, nil
		case <-ctx.Done():
			return d, nil, ctx.Err()
		}
	}
}

// deliveryRow is a delivery as it is printed.
type deliveryRow struct {
	Position      int64                  `json:"position"`
	Event         string                 `json:"event_id"`
	Type          string                 `json:"event_type"`
	Invoice       string                 `json:"foreign_id"`
	State         merchant.DeliveryState `json:"state"`
	Attempts      int                    `json:"tries"`
	Status        int                    `json:"status"`
	Fault         string                 `json:"fault"`
	CreatedAt     string                 `json:"created_at"`
	NextAttemptAt string                 `json:"next_try_at"`
	Log           []deliveryAttemptRow   `json:"log,omitempty"`
}

// deliveryAttemptRow is an attempt as it is printed. It has the body of the answer, which only the operator may
// see.
type deliveryAttemptRow struct {
	Number     int               `json:"number"`
	At         string            `json:"at"`
	DurationMS int64             `json:"duration_ms"`
	Status     int               `json:"status"`
	Fault      string            `json:"fault"`
	Headers    map[string]string `json:"headers"`
	Answer     string            `json:"answer"`
}

func newDeliveryRow(d merchant.Delivery) deliveryRow {
	return deliveryRow{
		Position: d.Position, Event: d.EventID, Type: d.EventType, Invoice: d.InvoiceID, State: d.State, Attempts: d.Attempts,
		Status: d.LastStatus, Fault: d.LastFault, CreatedAt: console.Stamp(d.CreatedAt), NextAttemptAt: console.Stamp(d.NotBefore()),
	}
}

// result returns the result of the newest attempt.
func (r deliveryRow) result() string { return result(r.Status, r.Fault) }

// result describes the result of an attempt; "" if there was no attempt.
func result(status int, fault string) string {
	switch {
	case fault != "":
		return fault
	case status != 0:
		return fmt.Sprint("status ", status)
	}
	return ""
}

func (s *shell) endpointDeliveries() *cobra.Command {
	limit, before, state := defaultListed, int64(math.MaxInt64), ""
	c := list(s, "deliveries ENDPOINT [EVENT]", "List deliveries, newest first, or every attempt of one event with its answer", func(call invocation) ([]deliveryRow, error) {
		if state != "" && !slices.Contains(merchant.DeliveryStates, merchant.DeliveryState(state)) {
			return nil, fmt.Errorf("there is no state %q; there are pending, delivered and failed", state)
		}
		e, err := call.namedEndpoint()
		if err != nil {
			return nil, err
		}
		deliveries, err := call.core.Endpoints.Deliveries(call.Context(), e, merchant.DeliveryState(state), before, limit)
		return convertAll(deliveries, newDeliveryRow), err
	}, "POSITION\tEVENT\tTYPE\tSTATE\tATTEMPTS\tLAST ATTEMPT\tNEXT ATTEMPT", func(r deliveryRow) []any {
		return []any{r.Position, r.Event, r.Type, r.State, r.Attempts, r.result(), s.Time(r.NextAttemptAt)}
	})
	deliveries, attempts := c.RunE, answer(s, loadAttempts, s.writeAttempts)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 2 {
			return attempts(c, args)
		}
		return deliveries(c, args)
	}
	c.Flags().IntVar(&limit, "limit", limit, "maximum number of deliveries")
	c.Flags().Int64Var(&before, "before", before, "only deliveries before this position")
	c.Flags().Lookup("before").DefValue = "the newest"
	c.Flags().StringVar(&state, "state", "", "only deliveries in this state: pending, delivered or failed")
	return c
}

// loadAttempts returns the delivery of an event to an endpoint with every attempt.
func loadAttempts(call invocation) (row deliveryRow, err error) {
	e, err := call.namedEndpoint()
	if err != nil {
		return row, err
	}
	d, attempts, err := call.core.Endpoints.Delivery(call.Context(), e, call.args[1])
	if err != nil {
		return row, fmt.Errorf("event %s: %w", call.args[1], err)
	}
	row = newDeliveryRow(d)
	row.Log = convertAll(attempts, func(a merchant.Attempt) deliveryAttemptRow {
		return deliveryAttemptRow{
			Number: a.Number, At: console.Stamp(a.At), DurationMS: a.Duration.Milliseconds(), Status: a.Status, Fault: a.Fault,
			Headers: a.Header, Answer: a.Answer,
		}
	})
	return row, nil
}

// writeAttempts prints every attempt of a delivery.
func (s *shell) writeAttempts(w io.Writer, row deliveryRow) {
	fmt.Fprintf(w, "%s %s: %s\n", row.Event, row.Type, row.State)
	if row.Invoice != "" {
		fmt.Fprintf(w, "of invoice %s\n", row.Invoice)
	}
	for _, a := range row.Log {
		fmt.Fprintf(w, "\n%d. %s, %d ms: %s\n", a.Number, s.Time(a.At), a.DurationMS, result(a.Status, a.Fault))
		for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
			fmt.Fprintf(w, "   %s: %s\n", name, a.Headers[name])
		}
		if a.Answer != "" {
			fmt.Fprintf(w, "   %s\n", strings.ReplaceAll(a.Answer, "\n", "\n   "))
		}
	}
}

func (s *shell) endpointResend() *cobra.Command {
	var after int64
	c := &cobra.Command{
		Use:   "resend ENDPOINT [EVENT…]",
		Short: "Send the named events again, or all events after a position of the feed",
		RunE: answer(s, func(call invocation) (map[string]int, error) {
			ranged := call.Flags().Changed("after")
			if len(call.args) == 0 || (len(call.args) > 1) == ranged {
				return nil, errors.New("give an endpoint, and either events or --after")
			}
			e, err := call.namedEndpoint()
			if err != nil {
				return nil, err
			}
			sent := len(call.args) - 1
			if ranged {
				if sent, err = call.core.Endpoints.ResendAfter(call.Context(), e, after); err != nil {
					return nil, err
				}
			}
			for _, eventID := range call.args[1:] {
				if err := call.core.Endpoints.Resend(call.Context(), e, eventID); err != nil {
					return nil, fmt.Errorf("event %s: %w", eventID, err)
				}
			}
			return map[string]int{"events": sent}, nil
		}, func(w io.Writer, sent map[string]int) { fmt.Fprintln(w, "events sent again:", sent["events"]) }),
	}
	c.Flags().Int64Var(&after, "after", 0, "all events after this position that the endpoint receives; 0 means from the oldest event kept")
	return c
}
