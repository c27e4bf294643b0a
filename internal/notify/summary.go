package notify

import (
	"context"
	"errors"
	"strings"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/report"
)

// summaryHour is the hour of the account's clock from which the summary of the day before is sent.
const summaryHour = 8

// CollectSummaries writes the summaries that are due.
func (c *Collector) CollectSummaries(ctx context.Context) error {
	subscribers, err := c.storage.Subscribers(ctx, "")
	faults := []error{err}
	for _, s := range subscribers {
		zone := s.Settings.Location()
		today := localDay(c.now(), zone)
		if c.now().In(zone).Hour() < summaryHour || s.Summarised >= today {
			continue
		}
		entries, err := c.summaries(ctx, s)
		if err == nil && len(entries) > 0 {
			err = c.storage.RecordSummary(ctx, s.Account.ID, today, entries, c.now())
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// summaries returns the entries of an account's summary: an item for each shop.
func (c *Collector) summaries(ctx context.Context, s Subscriber) (entries []Entry, err error) {
	now := c.now()
	zone := s.Settings.Location()
	day := report.DayOf(now, zone) - 1
	for _, shop := range s.Account.Shops() {
		channels := s.channels(shop, Summary)
		if len(channels) == 0 {
			continue
		}
		text, err := c.summaryText(ctx, shop, day, zone)
		if err != nil {
			return nil, err
		}
		for _, channel := range channels {
			entries = append(entries, Entry{
				AccountID: s.Account.ID, Channel: channel, Kind: Summary, DueAt: s.Settings.SendAt(Summary, now.Truncate(bundleTime)),
				Item: Item{MerchantID: shop, Text: text, Path: "/" + shop + "/reports"},
			})
		}
	}
	return entries, nil
}

// summaryText returns the sums of a shop's day in a zone on one line.
func (c *Collector) summaryText(ctx context.Context, merchantID string, d report.Day, zone *time.Location) (string, error) {
	sums, err := c.storage.PaidBetween(ctx, merchantID, d.Start(zone), (d + 1).Start(zone))
	if err != nil {
		return "", err
	}
	tally, err := c.storage.Tally(ctx, merchantID, invoice.Live, c.now())
	if err != nil {
		return "", err
	}
	var parts []string
	for _, sum := range sums {
		parts = append(parts, c.words.Count("desk.notify.summary.line", int(sum.Invoices), "Amount", c.fiat(sum.Received)))
	}
	if len(sums) == 0 {
		parts = append(parts, c.words.Text("desk.notify.summary.none"))
	}
	if n := int(tally.Open()); n > 0 {
		parts = append(parts, c.words.Count("desk.notify.summary.open", n))
	}
	date := d.Date()
	day := c.words.Text("desk.notify.summary.day", "Day", date.Format("2"), "Month", c.words.Month(date.Month()), "Year", date.Format("2006"))
	return day + ": " + strings.Join(parts, "; "), nil
}
