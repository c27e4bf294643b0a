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
	"chequer/internal/merchant"
)

const (
	// testTimeout is how long the command waits for the result of a test event: the running server
	// must notice the event and make one attempt.
	testTimeout = 13 * time.Second
	// defaultListed is the default number of listed deliveries.
	defaultListed = 50
)

func (s *shell) endpointTest() *cobra.Command {
	return &cobra.Command{
		Use:   "test ENDPOINT",
		Short: "Let the running server send an endpoint.test event once, and print the result",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			core, e, err := s.openEndpoint(c, args[0])
			if err != nil {
				return err
			}
			defer core.Close()
			eventID, err := core.Endpoints.Test(c.Context(), e.MerchantID, e.ID)
			if errors.Is(err, merchant.ErrState) {
				return fmt.Errorf("endpoint %s is paused: chequer endpoint resume %s", e.ID, e.ID)
			}
			if err != nil {
				return err
			}
			d, tries, err := awaitTry(c.Context(), core, e, eventID)
			if err != nil {
				return err
			}
			if len(tries) == 0 {
				return errors.New("the event was not sent yet: it is sent when chequer serve runs on the same database")
			}
			row := newDeliveryRow(d)
			if err := s.print(c, row, func(w io.Writer) { fmt.Fprintf(w, "%s %s: %s\n", row.Event, row.State, row.result()) }); err != nil {
				return err
			}
			if !tries[0].Done() {
				return errors.New("the endpoint did not accept the event")
			}
			return nil
		},
	}
}

// awaitTry waits for the first attempt of a delivery. It returns no attempts if there was none within
// testTimeout.
func awaitTry(ctx context.Context, core *app.Core, e merchant.Endpoint, eventID string) (merchant.Delivery, []merchant.Try, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testTimeout)
	for {
		d, tries, err := core.Endpoints.Delivery(ctx, e, eventID)
		if err != nil || len(tries) > 0 {
			return d, tries, err
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
	Position  int64                  `json:"position"`
	Event     string                 `json:"event_id"`
	Type      string                 `json:"event_type"`
	Invoice   string                 `json:"foreign_id"`
	State     merchant.DeliveryState `json:"state"`
	Tries     int                    `json:"tries"`
	Status    int                    `json:"status"`
	Fault     string                 `json:"fault"`
	CreatedAt string                 `json:"created_at"`
	NextTryAt string                 `json:"next_try_at"`
	Log       []tryRow               `json:"log,omitempty"`
}

// tryRow is an attempt as it is printed. It has the body of the answer, which only the operator may
// see.
type tryRow struct {
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
		Position: d.Position, Event: d.EventID, Type: d.EventType, Invoice: d.InvoiceID, State: d.State, Tries: d.Tries,
		Status: d.LastStatus, Fault: d.LastFault, CreatedAt: stamp(d.CreatedAt), NextTryAt: stamp(d.NextTryAt),
	}
}

// result returns the result of the newest attempt.
func (r deliveryRow) result() string { return result(r.Status, r.Fault) }

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
	c := &cobra.Command{
		Use:   "deliveries ENDPOINT [EVENT]",
		Short: "List deliveries, newest first, or every attempt of one event with its answer",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			if state != "" && !slices.Contains(merchant.DeliveryStates, merchant.DeliveryState(state)) {
				return fmt.Errorf("there is no state %q; there are pending, delivered and failed", state)
			}
			core, e, err := s.openEndpoint(c, args[0])
			if err != nil {
				return err
			}
			defer core.Close()
			if len(args) == 2 {
				return s.printTries(c, core, e, args[1])
			}
			list, err := core.Endpoints.Deliveries(c.Context(), e, merchant.DeliveryState(state), before, limit)
			if err != nil {
				return err
			}
			rows := make([]deliveryRow, len(list))
			for i, d := range list {
				rows[i] = newDeliveryRow(d)
			}
			return s.print(c, rows, func(w io.Writer) {
				table(w, "POSITION\tEVENT\tTYPE\tSTATE\tTRIES\tLAST TRY\tNEXT TRY", rows, func(r deliveryRow) []any {
					return []any{r.Position, r.Event, r.Type, r.State, r.Tries, r.result(), s.when(r.NextTryAt)}
				})
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", limit, "maximum number of deliveries")
	c.Flags().Int64Var(&before, "before", before, "only deliveries before this position")
	c.Flags().Lookup("before").DefValue = "the newest"
	c.Flags().StringVar(&state, "state", "", "only deliveries in this state: pending, delivered or failed")
	return c
}

// printTries prints every attempt of one event.
func (s *shell) printTries(c *cobra.Command, core *app.Core, e merchant.Endpoint, eventID string) error {
	d, tries, err := core.Endpoints.Delivery(c.Context(), e, eventID)
	if err != nil {
		return fmt.Errorf("event %s: %w", eventID, err)
	}
	row := newDeliveryRow(d)
	for _, t := range tries {
		row.Log = append(row.Log, tryRow{
			Number: t.Number, At: stamp(t.At), DurationMS: t.Duration.Milliseconds(), Status: t.Status, Fault: t.Fault,
			Headers: t.Header, Answer: t.Answer,
		})
	}
	return s.print(c, row, func(w io.Writer) {
		fmt.Fprintf(w, "%s %s: %s\n", row.Event, row.Type, row.State)
		if row.Invoice != "" {
			fmt.Fprintf(w, "of invoice %s\n", row.Invoice)
		}
		for _, t := range row.Log {
			fmt.Fprintf(w, "\n%d. %s, %d ms: %s\n", t.Number, s.when(t.At), t.DurationMS, result(t.Status, t.Fault))
			for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
				fmt.Fprintf(w, "   %s: %s\n", name, t.Headers[name])
			}
			if t.Answer != "" {
				fmt.Fprintf(w, "   %s\n", strings.ReplaceAll(t.Answer, "\n", "\n   "))
			}
		}
	})
}

func (s *shell) endpointResend() *cobra.Command {
	var after int64
	c := &cobra.Command{
		Use:   "resend ENDPOINT [EVENT…]",
		Short: "Send the named events again, or all events after a position of the feed",
		RunE: func(c *cobra.Command, args []string) error {
			ranged := c.Flags().Changed("after")
			if len(args) == 0 || (len(args) > 1) == ranged {
				return errors.New("want an endpoint, and events or --after")
			}
			core, e, err := s.openEndpoint(c, args[0])
			if err != nil {
				return err
			}
			defer core.Close()
			sent := len(args) - 1
			if ranged {
				if sent, err = core.Endpoints.ResendAfter(c.Context(), e, after); err != nil {
					return err
				}
			}
			for _, eventID := range args[1:] {
				if err := core.Endpoints.Resend(c.Context(), e, eventID); err != nil {
					return fmt.Errorf("event %s: %w", eventID, err)
				}
			}
			return s.print(c, map[string]int{"events": sent}, func(w io.Writer) { fmt.Fprintln(w, "events sent again:", sent) })
		},
	}
	c.Flags().Int64Var(&after, "after", 0, "all events after this position that the endpoint receives; 0 means from the oldest event kept")
	return c
}
