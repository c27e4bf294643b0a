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
)

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
