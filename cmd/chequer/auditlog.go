package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/audit"
	"chequer/internal/console"
)

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
