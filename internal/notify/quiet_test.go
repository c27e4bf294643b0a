package notify_test

import (
	"testing"
	"time"
	_ "time/tzdata" // zones on every machine

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/merchant"
	"chequer/internal/notify"
)

func TestQuiet_hours_end_in_the_time_zone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, from, to, zone, at, want string
	}{
		{"before", "22:00", "07:00", "Europe/Berlin", "2026-11-27T20:59:59Z", "2026-11-27T20:59:59Z"},
		{"at the beginning", "22:00", "07:00", "Europe/Berlin", "2026-11-27T21:00:00Z", "2026-11-28T06:00:00Z"},
		{"after midnight", "22:00", "07:00", "Europe/Berlin", "2026-11-28T03:12:45Z", "2026-11-28T06:00:00Z"},
		{"at the end", "22:00", "07:00", "Europe/Berlin", "2026-11-28T06:00:00Z", "2026-11-28T06:00:00Z"},
		{"within a day", "12:00", "13:30", "Europe/Berlin", "2026-11-27T11:30:00Z", "2026-11-27T12:30:00Z"},
		{"from midnight", "00:00", "06:00", "UTC", "2026-11-27T00:00:00Z", "2026-11-27T06:00:00Z"},
		{"until midnight", "20:00", "00:00", "UTC", "2026-11-27T21:00:00Z", "2026-11-28T00:00:00Z"},
		{"no quiet hours", "", "", "UTC", "2026-11-27T03:00:00Z", "2026-11-27T03:00:00Z"},
		// 29 March 2026 in Berlin: 02:00 becomes 03:00 at 01:00 UTC.
		{"a night that is an hour shorter", "22:00", "07:00", "Europe/Berlin", "2026-03-28T21:30:00Z", "2026-03-29T05:00:00Z"},
		{"an end that the clock skips", "22:00", "02:30", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"},
		{"a beginning that the clock skips", "02:30", "07:00", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T05:00:00Z"},
		// 25 October 2026 in Berlin: 03:00 becomes 02:00 at 01:00 UTC.
		{"a night that is an hour longer", "22:00", "07:00", "Europe/Berlin", "2026-10-24T21:00:00Z", "2026-10-25T06:00:00Z"},
		{"an end that the clock shows twice", "22:00", "02:30", "Europe/Berlin", "2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z"},
		{"between both", "22:00", "02:30", "Europe/Berlin", "2026-10-25T01:10:00Z", "2026-10-25T01:30:00Z"},
		{"almost a whole day", "07:00", "06:59", "Europe/Berlin", "2026-10-24T05:00:00Z", "2026-10-25T05:59:00Z"},
		{"a zone of half an hour", "22:00", "07:00", "Asia/Kolkata", "2026-11-27T16:30:00Z", "2026-11-28T01:30:00Z"},
	} {
		q, err := notify.ParseQuiet(test.from, test.to)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, test.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.End(at, zone).UTC().Format(time.RFC3339); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
		if from, to := q.Clocks(); from != test.from || to != test.to {
			t.Errorf("%s: shown as %s to %s", test.name, from, to)
		}
	}
	for _, bad := range [][2]string{{"22:00", ""}, {"", "07:00"}, {"22:00", "22:00"}, {"24:00", "07:00"}, {"22", "07:00"}} {
		if q, err := notify.ParseQuiet(bad[0], bad[1]); err == nil {
			t.Errorf("%q: got %s, want an error", bad, q)
		}
	}
}

// Messages of a night are one message in the morning.
func TestQuiet_hours_hold_messages_back(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Sold, notify.Broken)...)
		f.must(f.service.SetTimes(t.Context(), f.owner, notify.Times{Zone: "Europe/Berlin", QuietFrom: "22:00", QuietTo: "07:00", BrokenIgnoresQuiet: true}))
		f.clock.Advance(8 * time.Hour) // 21:00 in Berlin
		f.mail.Stop()
		f.pay("inv0", "shop", "1046")
		f.run()
		f.minute() // the mail server is down, so that retries fall in the quiet hours
		f.mail.Start()
		f.clock.Advance(time.Hour)
		f.send()
		for i, id := range []string{"inv1", "inv2", "inv3"} {
			f.pay(id, "shop", []string{"1047", "1048", "1049"}[i])
			f.run()
			f.clock.Advance(time.Hour)
			f.send()
		}
		if got := f.letters(); len(got) != 0 {
			t.Fatalf("got %q in the quiet hours", got)
		}
		f.faults = []notify.Fault{{Key: "backup", Text: "The last backup is 9 days old"}}
		f.reportFaults()
		f.clock.Advance(6 * time.Minute)
		f.reportFaults()
		f.minute()
		if got := f.letters(); len(got) != 1 {
			t.Fatalf("got %q, want the fault", got)
		}
		f.clock.Advance(6 * time.Hour) // after 07:00
		f.send()
		got := f.letters()
		if len(got) != 3 {
			t.Fatalf("got %d messages, want the fault, the retry and one message of the night: %q", len(got), got)
		}
		if night := got[1] + got[2]; count(night, "Order 1046", "Order 1047", "Order 1048", "Order 1049") != 4 {
			t.Errorf("got %q", night)
		}
	})
}

func (f *fixture) reportFaults() {
	f.t.Helper()
	f.must(f.worker.Collector.CollectFaults(f.t.Context()))
}

func TestFaults_are_reported_when_they_last(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.choose("shop", byMail(notify.Broken)...)
		f.must(f.service.Choose(t.Context(), f.owner, "bakery", byMail(notify.Broken)))
		other := f.newWorker(f.storage, f.server())
		step := func(pass time.Duration, want int, faults ...notify.Fault) {
			t.Helper()
			f.clock.Advance(pass)
			f.faults = faults
			f.reportFaults()
			f.must(other.Collector.CollectFaults(t.Context())) // another process reports nothing again
			f.minute()
			if got := f.letters(); len(got) != want {
				t.Fatalf("got %d messages, want %d: %q", len(got), want, got)
			}
		}
		network := notify.Fault{Key: "network BTC", Text: "Bitcoin has not been scanned for 20 minutes\r\nsecond line"}
		hook := notify.Fault{MerchantID: "bakery", Key: "endpoint e", Text: "A webhook fails"}
		step(0, 0, network)
		step(2*time.Minute, 0, network)
		step(4*time.Minute, 1, network)
		step(time.Hour, 1, network)
		step(time.Hour, 1) // it ends
		step(0, 1, network)
		step(10*time.Minute, 1, network) // and returns, too soon to be reported again
		step(time.Minute, 1, network, hook)
		step(10*time.Minute, 2, network, hook)
		step(time.Minute, 2)
		step(7*time.Hour, 2)
		step(time.Minute, 2, network)
		step(6*time.Minute, 3, network)
		got := f.letters()
		want := "Something is broken\n\n- Bitcoin has not been scanned for 20 minutes second line\n  https://shop.example/desk/bakery/health\n\nChoose what reaches you:\nhttps://shop.example/desk/bakery/account/notifications\n"
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Error(diff)
		}
		if count(got[1], "bakery: Something is broken", "- A webhook fails") != 2 {
			t.Errorf("got %q", got[1])
		}
	})
}

func TestSummaries_follow_the_day_of_the_account(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.must(f.service.SetTimes(t.Context(), f.owner, notify.Times{Zone: "Pacific/Auckland"})) // UTC+13; now 01:00 on 28 November
		f.choose("shop", byMail(notify.Summary)...)
		f.must(f.service.Choose(t.Context(), f.owner, "bakery", byMail(notify.Summary)))
		jonas := f.join("Jonas", map[string]account.Role{"shop": account.Manager})
		f.confirm(jonas, "jonas@nord.example")
		f.pay("inv1", "shop", "1047")
		step := func(pass time.Duration, want int) {
			t.Helper()
			f.clock.Advance(pass)
			for range 2 {
				f.must(f.worker.Collector.CollectSummaries(t.Context()))
			}
			f.minute()
			if got := f.letters(); len(got) != want {
				t.Fatalf("at %s: got %d messages, want %d: %q", f.clock.Now(), len(got), want, got)
			}
		}
		step(10*time.Hour, 0)                // 11:00 on the day of the choice
		step(20*time.Hour+58*time.Minute, 0) // 07:59 on the 29th
		step(time.Minute, 1)
		step(20*time.Hour, 1)
		step(4*time.Hour, 2)
		got := f.letters()
		want := "2 shops: Your day\n\n- bakery: 28 Nov 2026: no payments\n  https://shop.example/desk/bakery/reports\n- shop: 28 Nov 2026: 1 payment, €56.50 received\n  https://shop.example/desk/shop/reports\n\nChoose what reaches you:\nhttps://shop.example/desk/bakery/account/notifications\n"
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Error(diff)
		}
		if count(got[1], "shop: 29 Nov 2026: no payments") != 1 {
			t.Errorf("got %q", got[1])
		}
	})
}

// An account that has chosen no time zone has that of the books of its first shop.
func TestSettings_without_a_zone_follow_the_shop(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		_, err := f.storage.ChangeChoices(t.Context(), "bakery", func(c merchant.Choices) (merchant.Choices, error) {
			return c.With(merchant.Choices{merchant.SettingTimeZone: "Pacific/Auckland"})
		})
		f.must(err)
		zone := func() string {
			t.Helper()
			set, err := f.service.Settings(t.Context(), f.owner.ID)
			f.must(err)
			f.choose("shop", byMail(notify.Summary)...)
			subscribers, err := f.storage.Subscribers(t.Context(), "shop")
			f.must(err)
			if got := subscribers[0].Settings.Location(); got != set.Location() {
				t.Errorf("the zones are %s and %s", got, set.Location())
			}
			return set.Location().String()
		}
		if got := zone(); got != "Pacific/Auckland" {
			t.Errorf("the zone is %s, want Pacific/Auckland", got)
		}
		f.must(f.service.SetTimes(t.Context(), f.owner, notify.Times{Zone: "Asia/Kathmandu"}))
		if got := zone(); got != "Asia/Kathmandu" {
			t.Errorf("the chosen zone is %s, want Asia/Kathmandu", got)
		}
	})
}
