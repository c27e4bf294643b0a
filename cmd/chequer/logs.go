package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/audit"
	"chequer/internal/console"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

const (
	// tailInterval is the interval at which the database is read for new events and attempts.
	tailInterval = 500 * time.Millisecond
	// tailWindow is the maximum time from the beginning of an attempt until it is recorded. An attempt
	// takes at most ten seconds.
	tailWindow = 30 * time.Second
	// tailPage is the number of events that are read at a time.
	tailPage = 500
)

// logs returns the group of commands that follow the server's activity.
func (s *shell) logs() *cobra.Command {
	last := 10
	command := &cobra.Command{
		Use:   "tail",
		Short: "Follow events and the attempts of their deliveries, live and test, until Ctrl-C",
		Long:  "The command reads the database, so it shows the activity of every server that uses it. A line that begins with > is an attempt of a delivery.",
		Args:  console.Arguments,
		RunE: s.withShop(func(call invocation) error {
			t := &tail{core: call.core, shop: call.shop.ID, output: call.OutOrStdout(), colours: s.Colours(call.OutOrStdout()), json: s.JSON, clock: s.Clock, since: call.core.Now(),
				positions: map[invoice.Mode]int64{}, shown: map[string]time.Time{}}
			if err := t.printExisting(call.Context(), max(last, 0)); err != nil {
				return err
			}
			return t.run(call.Context())
		}),
	}
	command.Flags().IntVar(&last, "last", last, "number of the newest events that are printed first")
	return console.Group("logs", "Follow events and deliveries", command)
}

// tail follows a shop's events and deliveries.
type tail struct {
	core      *app.Core
	shop      string
	output    io.Writer
	colours   console.Colours
	clock     func(time.Time) string
	json      bool
	since     time.Time              // attempts from this time on are shown, within tailWindow
	positions map[invoice.Mode]int64 // positions of the newest events that were shown
	shown     map[string]time.Time   // start of each attempt that was shown
}

// logLine is one line of output.
type logLine struct {
	at   time.Time
	json any
	text string
}

// modes are the modes of events that are shown.
var modes = []invoice.Mode{invoice.Live, invoice.Test}

// printExisting prints the newest existing events. Their attempts are printed by the first step.
func (t *tail) printExisting(ctx context.Context, last int) error {
	position, err := t.core.Storage.FeedPosition(ctx, t.shop)
	if err != nil {
		return err
	}
	var events []invoice.Event
	for _, mode := range modes {
		list, err := t.core.Storage.NewestEvents(ctx, t.shop, mode, 0, "", last)
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.Position <= position { // the first step prints later events
				events = append(events, e)
			}
		}
	}
	slices.SortFunc(events, func(a, b invoice.Event) int { return cmp.Compare(a.Position, b.Position) })
	for _, mode := range modes {
		t.positions[mode] = position
	}
	if events = events[max(len(events)-last, 0):]; len(events) > 0 && events[0].CreatedAt.Before(t.since) {
		t.since = events[0].CreatedAt
	}
	return t.print(t.events(events, nil))
}

// run prints new events and attempts until the context ends, and then returns nil.
func (t *tail) run(ctx context.Context) error {
	tick := time.NewTicker(tailInterval)
	defer tick.Stop()
	for {
		if err := t.step(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// step prints new events and attempts in the order in which they happened.
func (t *tail) step(ctx context.Context) error {
	var events []invoice.Event
	for _, mode := range modes {
		page, err := t.core.Storage.Events(ctx, t.shop, mode, t.positions[mode], tailPage)
		if err != nil {
			return err
		}
		if len(page) > 0 {
			t.positions[mode] = page[len(page)-1].Position
		}
		events = append(events, page...)
	}
	attempts, err := t.core.Storage.Attempts(ctx, t.shop, later(t.since, t.core.Now().Add(-tailWindow)))
	if err != nil {
		return err
	}
	return t.print(t.events(events, t.attempts(attempts)))
}

// events appends lines for events.
func (t *tail) events(events []invoice.Event, lines []logLine) []logLine {
	for _, e := range events {
		r, err := newEventRow(e)
		if err != nil {
			continue // a later release wrote the event
		}
		text := fmt.Sprintf("%s  %-4s  %-18s  %s  %s", t.colours.Secondary(t.clock(e.CreatedAt)), r.body.Mode, e.Type, r.subject(), r.status())
		lines = append(lines, logLine{e.CreatedAt, r, text})
	}
	return lines
}

// attemptRow is an attempt as it is printed.
type attemptRow struct {
	At         string                 `json:"at"`
	Endpoint   string                 `json:"endpoint_id"`
	Event      string                 `json:"event_id"`
	Type       string                 `json:"event_type"`
	Number     int                    `json:"number"`
	Status     int                    `json:"status"`
	Fault      string                 `json:"fault"`
	DurationMS int64                  `json:"duration_ms"`
	State      merchant.DeliveryState `json:"state"`
}

// attempts returns lines for the attempts that were not shown before.
func (t *tail) attempts(list []merchant.DeliveryAttempt) (lines []logLine) {
	for id, at := range t.shown {
		if t.core.Now().Sub(at) > 2*tailWindow {
			delete(t.shown, id)
		}
	}
	for _, a := range list {
		id := fmt.Sprintf("%s %d %d", a.EndpointID, a.Position, a.Number)
		if _, known := t.shown[id]; known {
			continue
		}
		t.shown[id] = a.At
		r := attemptRow{
			At: console.Stamp(a.At), Endpoint: a.EndpointID, Event: a.EventID, Type: a.EventType, Number: a.Number, Status: a.Status, Fault: a.Fault,
			DurationMS: a.Duration.Milliseconds(), State: a.State,
		}
		outcome := t.colours.Success(result(r.Status, r.Fault))
		if !a.Accepted() {
			outcome = t.colours.Failure(result(r.Status, r.Fault))
		}
		text := fmt.Sprintf("> %s  %-18s  %s, attempt %d: %s, %d ms", t.colours.Secondary(t.clock(a.At)), r.Type, r.Endpoint, r.Number, outcome, r.DurationMS)
		lines = append(lines, logLine{a.At.Add(a.Duration), r, text})
	}
	return lines
}

// print prints lines, oldest first.
func (t *tail) print(lines []logLine) error {
	slices.SortStableFunc(lines, func(a, b logLine) int { return a.at.Compare(b.at) })
	for _, line := range lines {
		var err error
		if t.json {
			err = console.WriteJSON(t.output, line.json, "")
		} else {
			_, err = fmt.Fprintln(t.output, line.text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// auditLog returns the group of commands about the audit log.
func (s *shell) auditLog() *cobra.Command {
	limit, beforeID := 50, int64(0)
	entries := list(s, "list", "List the newest changes: their time, actor, action and values", func(call invocation) ([]entryRow, error) {
		if limit < 1 || limit > 10_000 {
			return nil, errors.New("--limit must be between 1 and 10000")
		}
		entries, err := call.core.Storage.AuditLog(call.Context(), beforeID, limit)
		return convertAll(entries, newEntryRow), err
	}, "ENTRY\tTIME\tACTOR\tADDRESS\tACTION\tSUBJECT\tCHANGE", func(r entryRow) []any {
		return []any{r.Number, s.Time(r.At), console.Printable(r.Actor), r.Address, r.Action, console.Printable(r.Subject), console.Printable(r.change())}
	})
	entries.Flags().IntVar(&limit, "limit", limit, "number of entries")
	entries.Flags().Int64Var(&beforeID, "before", 0, "list the entries before this one")
	return console.Group("log", "List and verify the audit log, which records every change", entries, &cobra.Command{
		Use:   "verify",
		Short: "Verify that no entry of the audit log was changed, removed or put back",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (audit.Head, error) { return call.core.Storage.VerifyAuditLog(call.Context()) }, func(w io.Writer, head audit.Head) {
			fmt.Fprintf(w, "%d entries are complete and unchanged\n", head.Number)
		}),
	})
}

// entryRow is an entry of the audit log as it is listed.
type entryRow struct {
	Number    int64        `json:"number"`
	At        string       `json:"at"`
	Actor     string       `json:"actor"`
	ActorKind audit.Kind   `json:"actor_kind"`
	ActorID   string       `json:"actor_id"`
	Address   string       `json:"address"`
	SteppedUp bool         `json:"stepped_up"`
	Merchant  string       `json:"merchant_id"`
	Action    string       `json:"action"`
	Subject   string       `json:"subject"`
	Before    audit.Fields `json:"before"`
	After     audit.Fields `json:"after"`
}

func newEntryRow(e audit.Entry) entryRow {
	return entryRow{
		Number: e.Number, At: console.Stamp(e.At), Actor: e.Actor.String(), ActorKind: e.Actor.Kind, ActorID: e.Actor.ID, Address: e.Actor.Address,
		SteppedUp: e.Actor.SteppedUp, Merchant: e.Change.MerchantID, Action: e.Change.Action, Subject: e.Change.Subject,
		Before: e.Change.Before, After: e.Change.After,
	}
}

// change returns the values of an entry in one line.
func (r entryRow) change() string {
	names := slices.Collect(maps.Keys(r.Before))
	for name := range r.After {
		if _, isListed := r.Before[name]; !isListed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%s: %s → %s", name, cmp.Or(r.Before[name], "none"), cmp.Or(r.After[name], "none"))
		if len(r.Before) == 0 {
			names[i] = name + ": " + r.After[name]
		}
	}
	return strings.Join(names, "; ")
}
