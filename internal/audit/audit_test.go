package audit_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/audit"
	"chequer/internal/seal"
)

func newBox(t *testing.T, b byte) *seal.Box {
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{b}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// newLog returns a log of five entries.
func newLog(box *seal.Box) (entries []audit.Entry) {
	var head audit.Head
	for _, subject := range []string{"a", "b", "c", "d", "e"} {
		e := audit.Append(box, head, time.UnixMilli(1000), audit.Actor{Kind: audit.Account, ID: "acc_1", Name: "Maren"}, audit.Change{
			MerchantID: "shop", Action: "key.created", Subject: subject, After: audit.Fields{"mode": "live"},
		})
		entries, head = append(entries, e), e.Head()
	}
	return entries
}

func verify(box *seal.Box, log []audit.Entry, stored, mark audit.Head) error {
	v := audit.NewVerifier(box, mark)
	for _, e := range log {
		if err := v.Next(e); err != nil {
			return err
		}
	}
	_, err := v.End(stored)
	return err
}

func TestVerifier_names_the_first_wrong_entry(t *testing.T) {
	t.Parallel()
	box := newBox(t, 1)
	log := newLog(box)
	end := log[4].Head()
	other := slices.Clone(log[:3])
	for _, subject := range []string{"x", "y"} {
		other = append(other, audit.Append(box, other[len(other)-1].Head(), time.UnixMilli(2000), audit.Actor{}, audit.Change{Subject: subject}))
	}
	changed := func(change func(*audit.Entry)) []audit.Entry {
		log := slices.Clone(log)
		change(&log[2])
		return log
	}
	for name, tt := range map[string]struct {
		log          []audit.Entry
		stored, mark audit.Head
		want         string
	}{
		"whole":                           {log: log, stored: end, mark: log[2].Head()},
		"empty":                           {},
		"changed_time":                    {log: changed(func(e *audit.Entry) { e.At = e.At.Add(time.Second) }), stored: end, want: "entry 3 was changed"},
		"changed_actor":                   {log: changed(func(e *audit.Entry) { e.Actor.Name = "Tove" }), stored: end, want: "entry 3 was changed"},
		"changed_kind_of_actor":           {log: changed(func(e *audit.Entry) { e.Actor.Kind = audit.System }), stored: end, want: "entry 3 was changed"},
		"changed_address":                 {log: changed(func(e *audit.Entry) { e.Actor.Address = "::1" }), stored: end, want: "entry 3 was changed"},
		"changed_step_up":                 {log: changed(func(e *audit.Entry) { e.Actor.SteppedUp = true }), stored: end, want: "entry 3 was changed"},
		"changed_shop":                    {log: changed(func(e *audit.Entry) { e.Change.MerchantID = "" }), stored: end, want: "entry 3 was changed"},
		"changed_action":                  {log: changed(func(e *audit.Entry) { e.Change.Action = "key.revoked" }), stored: end, want: "entry 3 was changed"},
		"changed_values_before":           {log: changed(func(e *audit.Entry) { e.Change.Before = audit.Fields{"mode": "test"} }), stored: end, want: "entry 3 was changed"},
		"changed_values_after":            {log: changed(func(e *audit.Entry) { e.Change.After = nil }), stored: end, want: "entry 3 was changed"},
		"removed_in_the_middle":           {log: slices.Delete(slices.Clone(log), 2, 3), stored: end, want: "entry 3 is missing"},
		"removed_at_the_beginning":        {log: log[1:], stored: end, want: "entry 1 is missing"},
		"removed_at_the_end":              {log: log[:4], stored: end, want: "entry 5 is missing at the end"},
		"removed_with_the_head":           {log: log[:4], stored: log[3].Head(), mark: end, want: "entry 5 is missing at the end: this server has seen 5"},
		"all_removed":                     {mark: end, want: "entry 1 is missing at the end"},
		"inserted_twice":                  {log: slices.Insert(slices.Clone(log), 3, log[2]), stored: end, want: "entry 3 is out of order"},
		"moved":                           {log: []audit.Entry{log[0], log[2], log[1], log[3], log[4]}, stored: end, want: "entry 2 is missing"},
		"renumbered":                      {log: append(slices.Clone(log[:2]), func() audit.Entry { e := log[3]; e.Number = 3; return e }()), stored: end, want: "entry 3 was changed"},
		"another_end_with_the_master_key": {log: other, stored: other[4].Head(), mark: end, want: "entry 5 is not the entry that was written first"},
		"head_of_another_end":             {log: log, stored: other[4].Head(), want: "entry 5 is not the last entry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := verify(box, tt.log, tt.stored, tt.mark)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if _, isBroken := errors.AsType[*audit.BrokenError](err); !isBroken || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
		})
	}
	if err := verify(newBox(t, 2), log, end, audit.Head{}); err == nil {
		t.Error("a log of another master key was accepted")
	}
}

func TestDiff_keeps_only_changed_fields(t *testing.T) {
	t.Parallel()
	got := audit.Change{Action: "x"}.Diff(audit.Fields{"a": "1", "b": "2", "c": "3"}, audit.Fields{"a": "1", "b": "4", "d": "5"})
	want := audit.Change{Action: "x", Before: audit.Fields{"b": "2", "c": "3"}, After: audit.Fields{"b": "4", "d": "5"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestActor_is_the_system_by_default(t *testing.T) {
	t.Parallel()
	if got := audit.ActorOf(t.Context()); got.Kind != audit.System || got.String() != "system" {
		t.Errorf("without an actor: %+v", got)
	}
	for want, a := range map[string]audit.Actor{
		"Maren": {Kind: audit.Account, Name: "Maren"}, "API key abc": {Kind: audit.Key, Name: "abc"}, "command key add": {Kind: audit.Command, Name: "key add"},
	} {
		if got := audit.ActorOf(audit.WithActor(t.Context(), a)); got != a || got.String() != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

func TestMark_is_lowered_only_by_a_reset(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.json")
	m := audit.NewMark(path)
	checkHead := func(want audit.Head) {
		t.Helper()
		if got, err := audit.NewMark(path).Head(); err != nil || got != want {
			t.Errorf("got %+v, error %v, want %+v", got, err, want)
		}
	}
	checkHead(audit.Head{})
	raise := func(head audit.Head) error {
		return m.Raise(head, func(mark audit.Head) (bool, error) { return mark.MAC == "m", nil })
	}
	for _, step := range []struct {
		do   func(audit.Head) error
		give int64
		want int64
	}{{raise, 2, 2}, {raise, 5, 5}, {raise, 3, 5}, {m.Reset, 3, 3}} {
		if err := step.do(audit.Head{Number: step.give, MAC: "m"}); err != nil {
			t.Fatal(err)
		}
		checkHead(audit.Head{Number: step.want, MAC: "m"})
	}
	err := m.Raise(audit.Head{Number: 4, MAC: "other"}, func(audit.Head) (bool, error) { return false, nil })
	if broken, ok := errors.AsType[*audit.BrokenError](err); !ok || broken.Number != 3 {
		t.Errorf("a log without the mark: got error %v, want that entry 3 was replaced", err)
	}
	checkHead(audit.Head{Number: 3, MAC: "m"})
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Head(); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("got error %v", err)
	}
}
