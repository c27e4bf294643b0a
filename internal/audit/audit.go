// Package audit describes the audit log: a chain of entries about the changes that accounts, API keys,
// commands and the system make. Each entry has a MAC over itself and the entry before it.
package audit

import (
	"encoding/json"
	"strconv"
	"time"

	"chequer/internal/seal"
)

// Fields are the values of a change by name. They never contain secrets.
type Fields map[string]string

// text returns the fields in the form that is stored and authenticated.
func (f Fields) text() string {
	if len(f) == 0 {
		return ""
	}
	text, err := json.Marshal(f) // in the order of the names
	if err != nil {
		panic("audit: " + err.Error())
	}
	return string(text)
}

// Change describes a change in one transaction.
type Change struct {
	MerchantID string // "" if the change is about the server
	Action     string // noun and participle, such as "key.created"
	Subject    string // identifier of the object that was changed
	Before     Fields // values that were replaced or removed
	After      Fields // values that were set
}

// Diff sets Before and After to the fields that differ, and returns the change.
func (c Change) Diff(before, after Fields) Change {
	c.Before, c.After = Fields{}, Fields{}
	for name, value := range before {
		if after[name] != value {
			c.Before[name] = value
		}
	}
	for name, value := range after {
		if before[name] != value {
			c.After[name] = value
		}
	}
	return c
}

// Entry is an entry of the log. Entries have consecutive numbers, beginning with 1.
type Entry struct {
	Number int64
	At     time.Time
	Actor  Actor
	Change Change
	MAC    string
}

// Head identifies the last entry of a log. The zero Head is that of an empty log.
type Head struct {
	Number int64  `json:"number"`
	MAC    string `json:"mac"`
}

// Append returns the next entry of the log with the given head, with its MAC.
func Append(box *seal.Box, head Head, at time.Time, actor Actor, c Change) Entry {
	e := Entry{Number: head.Number + 1, At: at, Actor: actor, Change: c}
	e.MAC = box.MAC(purpose, e.fields(head.MAC)...)
	return e
}

// Head returns the head of a log that ends with this entry.
func (e Entry) Head() Head { return Head{Number: e.Number, MAC: e.MAC} }

// purpose separates the MACs of entries from those of other rows.
const purpose = "audit_log"

// fields returns the fields that the MAC covers: those of the entry, and the MAC of the entry before
// it.
func (e Entry) fields(previous string) []string {
	return []string{
		previous, strconv.FormatInt(e.Number, 10), strconv.FormatInt(e.At.UnixMilli(), 10),
		string(e.Actor.Kind), e.Actor.ID, e.Actor.Name, e.Actor.Address, strconv.FormatBool(e.Actor.SteppedUp),
		e.Change.MerchantID, e.Change.Action, e.Change.Subject, e.Change.Before.text(), e.Change.After.text(),
	}
}
