package notify

import (
	"chequer/internal/format"
	"context"
	"errors"
	"time"
)

// Fault is a part of the server or of a shop that does not work.
type Fault struct {
	MerchantID string // "" if it is about the server
	Key        string // identifies the fault while it lasts, such as "network BTC"
	Text       string // one line
}

const (
	// minFault is the time that a fault must last before it is reported.
	minFault = 5 * time.Minute
	// faultRepeat is the shortest time between two messages about the same fault, if it ends and begins again.
	faultRepeat = 6 * time.Hour
)

// CollectFaults writes the messages of the faults that have lasted for minFault.
func (c *Collector) CollectFaults(ctx context.Context) error {
	subscribers, unreadable := c.storage.Subscribers(ctx, "")
	if len(subscribers) == 0 {
		return unreadable
	}
	present, err := c.faults(ctx)
	if err != nil {
		return err
	}
	now := c.now()
	err = c.storage.RecordFaults(ctx, present, now, now.Add(-minFault), now.Add(-faultRepeat), func(fresh []Fault) (entries []Entry) {
		for _, f := range fresh {
			for _, s := range subscribers {
				entries = append(entries, c.faultEntries(f, s)...)
			}
		}
		return entries
	})
	return errors.Join(unreadable, err)
}

// faultEntries returns the entries about a fault for an account. A fault of the server is reported once by each
// channel, however many shops the account has.
func (c *Collector) faultEntries(f Fault, s Subscriber) (entries []Entry) {
	reported := map[Channel]bool{}
	for _, shop := range s.Account.Shops() {
		if f.MerchantID != "" && f.MerchantID != shop {
			continue
		}
		for _, channel := range s.channels(shop, Broken) {
			if !reported[channel] {
				reported[channel] = true
				item := Item{MerchantID: f.MerchantID, Text: format.OneLine(f.Text, maxFaultText), Path: "/" + shop + "/health"}
				entries = append(entries, Entry{AccountID: s.Account.ID, Channel: channel, Kind: Broken, DueAt: dueAt(s.Settings, Broken, c.now()), Item: item})
			}
		}
	}
	return entries
}

// maxFaultText bounds the number of characters of the text of a fault.
const maxFaultText = 300
