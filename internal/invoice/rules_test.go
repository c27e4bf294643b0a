package invoice_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	soon, later, hours := quoteEnd.Add(-time.Minute), quoteEnd.Add(time.Minute), quoteEnd.Add(26*time.Hour)
	for _, tt := range []struct {
		name  string
		facts func(inv *invoice.Invoice)
		want  outcome
	}{
		{"nothing seen is created", func(inv *invoice.Invoice) { scan(inv, soon) }, outcome{"created", "", "0", "100", "0"}},
		{"a scan at the quote's end leaves the invoice created", func(inv *invoice.Invoice) { scan(inv, quoteEnd) }, outcome{"created", "", "0", "100", "0"}},
		{"a scan after the quote's end expires the invoice", func(inv *invoice.Invoice) { scan(inv, later) }, outcome{"expired", "", "0", "100", "0"}},
		{"a network that is not scanned delays expiry", func(inv *invoice.Invoice) { inv.Cover("bitcoin", later, nil) }, outcome{"created", "", "0", "100", "0"}},
		{"all seen is pending", func(inv *invoice.Invoice) { observe(inv, 100, pay("a", full, time.Minute)) }, outcome{"pending", "", "100", "0", "0"}},
		{"all confirmed is paid", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, 2*time.Minute))
		}, outcome{"paid", "", "100", "0", "0"}},
		{"one satoshi short is underpaid", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full-1, time.Minute), 101, 2*time.Minute))
		}, outcome{"pending", "[underpaid]", "99.99", "0.01", "0"}},
		{"one satoshi over is overpaid", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full+1, time.Minute), 101, 2*time.Minute))
		}, outcome{"paid", "[overpaid]", "100", "0", "0"}},
		{"overpaid counts confirmed money only", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, 2*time.Minute), pay("b", full, 3*time.Minute))
		}, outcome{"paid", "", "100", "0", "0"}},
		{"two parts add up", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", 50_000, time.Minute), 101, 2*time.Minute), inBlock(pay("b", 75_000, 3*time.Minute), 101, 4*time.Minute))
		}, outcome{"paid", "", "100", "0", "0"}},
		{"a part after the quote's end is expired and underpaid", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", 50_000, time.Minute), 101, 2*time.Minute))
			scan(inv, later)
		}, outcome{"expired", "[underpaid]", "40", "60", "0"}},
		{"seen in time and confirmed after the end is paid", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, time.Hour))
			scan(inv, later)
		}, outcome{"paid", "", "100", "0", "0"}},
		{"seen in the second of the end is in time", func(inv *invoice.Invoice) {
			observe(inv, 100, pay("a", full, 15*time.Minute))
			scan(inv, later)
		}, outcome{"pending", "", "100", "0", "0"}},
		{"seen one second after is late", func(inv *invoice.Invoice) {
			observe(inv, 100, pay("a", full, 15*time.Minute+time.Second))
			scan(inv, later)
		}, outcome{"expired", "[late]", "0", "100", "0"}},
		{"dropped from the mempool is replaced", func(inv *invoice.Invoice) {
			observe(inv, 100, pay("a", full, time.Minute))
			observe(inv, 101)
		}, outcome{"created", "[replaced]", "0", "100", "0"}},
		{"dropped from the mempool expires", func(inv *invoice.Invoice) {
			observe(inv, 100, pay("a", full, time.Minute))
			observe(inv, 101)
			scan(inv, later)
		}, outcome{"expired", "[replaced]", "0", "100", "0"}},
		{"not confirmed within a day is late", func(inv *invoice.Invoice) {
			observe(inv, 100, pay("a", full, time.Minute))
			scan(inv, hours)
		}, outcome{"expired", "[late]", "0", "100", "0"}},
		{"confirmed after more than a day is late", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, 25*time.Hour))
			scan(inv, hours)
		}, outcome{"expired", "[late]", "0", "100", "0"}},
		{"confirmed a minute before the end of a day is paid", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, 15*time.Minute+24*time.Hour-time.Minute))
			scan(inv, hours)
		}, outcome{"paid", "", "100", "0", "0"}},
		{"confirmed in the last second of a day is paid", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, 15*time.Minute+24*time.Hour))
			scan(inv, hours)
		}, outcome{"paid", "", "100", "0", "0"}},
		{"confirmed a minute after a day is late", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, 15*time.Minute+24*time.Hour+time.Minute))
			scan(inv, hours)
		}, outcome{"expired", "[late]", "0", "100", "0"}},
		{"not confirmed at the end of the day is still pending", func(inv *invoice.Invoice) {
			observe(inv, 100, pay("a", full, time.Minute))
			scan(inv, quoteEnd.Add(24*time.Hour))
		}, outcome{"pending", "", "100", "0", "0"}},
		{"a bump must confirm within a day of the first expiry", func(inv *invoice.Invoice) {
			observe(inv, 100, spending(pay("a", full, time.Minute), "x"))
			observe(inv, 101, inBlock(spending(pay("b", full, 20*time.Hour), "x"), 101, 15*time.Minute+24*time.Hour+time.Minute))
			scan(inv, hours)
		}, outcome{"expired", "[late]", "0", "100", "0"}},
		{"money in the birth block never counts", func(inv *invoice.Invoice) {
			old := inBlock(pay("a", full, 0), 100, -time.Minute)
			old.FirstSeen = time.Time{}
			observe(inv, 101, old)
		}, outcome{"created", "[old]", "0", "100", "0"}},
		{"money sighted hours before creation never counts", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full, -2*time.Hour-time.Second), 101, time.Minute))
		}, outcome{"created", "[old]", "0", "100", "0"}},
		{"dust changes nothing", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", 545, time.Minute), 101, time.Minute), pay("b", 1, time.Minute), pay("c", 0, time.Minute))
		}, outcome{"created", "", "0", "100", "0"}},
		{"money at the dust limit counts", func(inv *invoice.Invoice) { observe(inv, 100, pay("a", 546, time.Minute)) }, outcome{"pending", "[underpaid]", "0.43", "99.57", "0"}},
		{"another asset is wrong", func(inv *invoice.Invoice) {
			wrong := pay("a", full, time.Minute)
			wrong.Asset = "DOGE"
			observe(inv, 100, wrong)
		}, outcome{"created", "[wrong_asset]", "0", "100", "0"}},
		{"a reorganised block makes a paid invoice pending", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, time.Minute))
			observe(inv, 102, pay("a", full, time.Minute))
		}, outcome{"pending", "[reorged]", "100", "0", "0"}},
		{"a reorganised transfer in no block is gone", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, time.Minute))
			observe(inv, 102)
		}, outcome{"created", "[reorged]", "0", "100", "0"}},
		{"a reorganised transfer in another block is paid", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, time.Minute))
			observe(inv, 102)
			observe(inv, 103, inBlock(pay("a", full, time.Minute), 103, 5*time.Minute))
		}, outcome{"paid", "", "100", "0", "0"}},
		{"money after a refusal is late", func(inv *invoice.Invoice) {
			inv.DeclinedAt = noon.Add(time.Minute)
			observe(inv, 101, inBlock(pay("a", full, 2*time.Minute), 101, 3*time.Minute))
		}, outcome{"declined", "[late]", "0", "100", "0"}},
		{"money before a refusal that is found after the refusal is late", func(inv *invoice.Invoice) {
			inv.DeclinedAt = noon.Add(4 * time.Minute)
			observe(inv, 101, inBlock(pay("a", full, 2*time.Minute), 101, 3*time.Minute))
		}, outcome{"declined", "[late]", "100", "0", "0"}},
		{"accepted late money pays, and the sums are those received", func(inv *invoice.Invoice) {
			observe(inv, 101, inBlock(pay("a", full/2, time.Hour), 101, time.Hour))
			scan(inv, later)
			inv.Accepted = []string{"a:0"}
		}, outcome{"paid", "[underpaid]", "50", "0", "0"}},
		{"money after an accepted part reduces the shortfall", func(inv *invoice.Invoice) {
			inv.Accepted = []string{"a:0"}
			observe(inv, 101, inBlock(pay("a", full/2, time.Minute), 101, time.Minute), inBlock(pay("b", full/4, 2*time.Minute), 101, 2*time.Minute))
		}, outcome{"paid", "[underpaid]", "75", "0", "0"}},
		{"accepted money that is not confirmed is pending", func(inv *invoice.Invoice) {
			observe(inv, 100, pay("a", full/2, time.Hour))
			scan(inv, later)
			inv.Accepted = []string{"a:0"}
		}, outcome{"pending", "[underpaid]", "50", "0", "0"}},
		{"accepted money that is dropped does not count", func(inv *invoice.Invoice) {
			observe(inv, 100, pay("a", full/2, time.Hour))
			inv.Accepted = []string{"a:0"}
			observe(inv, 101)
			scan(inv, later)
		}, outcome{"expired", "[replaced]", "0", "100", "0"}},
		{"a tolerated shortfall is paid", func(inv *invoice.Invoice) {
			inv.Terms.Rules.Tolerance = fiat("0.50")
			observe(inv, 101, inBlock(pay("a", full-600, time.Minute), 101, time.Minute))
		}, outcome{"paid", "", "99.52", "0", "0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inv := newInvoice(t, soon)
			tt.facts(inv)
			if diff := cmp.Diff(tt.want, outcomeOf(inv)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFeeBump(t *testing.T) {
	t.Parallel()
	first := spending(pay("a", 100_000, 14*time.Minute), "x")
	for _, tt := range []struct {
		name string
		bump chain.Transfer
		want outcome
	}{
		{"before the end is not counted twice", spending(pay("b", 100_000, 14*time.Minute+time.Second), "x"), outcome{"pending", "[underpaid]", "80", "20", "0"}},
		{"after the end inherits the first sighting", spending(pay("b", 100_000, 20*time.Minute), "x"), outcome{"expired", "[underpaid]", "80", "20", "0"}},
		{"that pays more inherits what was paid before", spending(pay("b", full, 20*time.Minute), "x"), outcome{"expired", "[underpaid late]", "80", "20", "0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inv := newInvoice(t, noon)
			observe(inv, 100, first)
			observe(inv, 100, tt.bump)
			if tt.bump.FirstSeen.After(quoteEnd) {
				scan(inv, quoteEnd.Add(6*time.Minute))
			}
			if diff := cmp.Diff(tt.want, outcomeOf(inv)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConflict_under_a_listener(t *testing.T) {
	t.Parallel()
	listener := chain.Snapshot{Unconfirmed: chain.Partial, Tip: chain.Block{Height: 100}, Started: noon.Add(time.Minute)}
	inv := newInvoice(t, noon)
	observeSnapshot(inv, listener, pay("a", full, time.Minute))
	observeSnapshot(inv, listener)
	if got := outcomeOf(inv).Status; got != invoice.Pending {
		t.Errorf("after absence under a listener the invoice is %s, want pending", got)
	}
	listener.Conflicts = []chain.Conflict{{Outpoint: "in-a", Tx: "thief", Block: &chain.Block{Height: 101}}}
	observeSnapshot(inv, listener)
	if diff := cmp.Diff(outcome{"created", "[replaced]", "0", "100", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("after a confirmed double spend (-want +got):\n%s", diff)
	}
}

func TestBlindWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		gaps  []invoice.Gap // when the mempool was not watched
		after time.Duration
		want  invoice.Status
	}{
		{"paid during downtime", gap(10, 20), 30 * time.Minute, invoice.Paid},
		{"paid before watching began", gap(-1_000_000, 5), 30 * time.Minute, invoice.Paid},
		{"paid in the first of two gaps", append(gap(10, 20), gap(60, 70)...), 30 * time.Minute, invoice.Paid},
		{"late a minute after the two hours", gap(10, 20), 2*time.Hour + 16*time.Minute, invoice.Expired},
		{"late without a gap before expiry", gap(-20, -1), 30 * time.Minute, invoice.Expired},
		{"late with a gap after expiry", gap(16, 40), 30 * time.Minute, invoice.Expired},
		{"late with a gap that begins at expiry", gap(15, 40), 30 * time.Minute, invoice.Expired},
		{"paid in the last of many gaps", append(append(gap(1, 2), gap(3, 4)...), gap(14, 200)...), 2*time.Hour + 15*time.Minute, invoice.Paid},
		{"late with many gaps, none of them before expiry", append(append(gap(-30, -20), gap(-10, 0)...), gap(15, 200)...), 16 * time.Minute, invoice.Expired},
		{"late a second after the two hours", gap(10, 20), 2*time.Hour + 15*time.Minute + time.Second, invoice.Expired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inv := newInvoice(t, noon)
			scanned := noon.Add(3 * time.Hour)
			inv.Cover("bitcoin", scanned, tt.gaps)
			inv.Cover("base", scanned, tt.gaps)
			paid := inBlock(pay("a", full, tt.after), 101, tt.after)
			paid.FirstSeen = time.Time{}
			observe(inv, 101, paid)
			if got := outcomeOf(inv).Status; got != tt.want {
				t.Errorf("status = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCover_ignores_later_gaps_in_covered_time(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		before, after []invoice.Gap // known at the first scan past the end, and at a later one
		want          invoice.Status
	}{
		{"paid during downtime", gap(10, 20), gap(10, 20), invoice.Paid},
		{"seen late, and old gaps are merged afterwards", nil, []invoice.Gap{{Until: noon.Add(time.Hour)}}, invoice.Expired},
	} {
		inv := newInvoice(t, noon)
		inv.Cover("bitcoin", noon.Add(20*time.Minute), tt.before)
		paid := inBlock(pay("a", full, 0), 101, 30*time.Minute)
		paid.FirstSeen = time.Time{}
		observe(inv, 101, paid)
		scan(inv, noon.Add(3*time.Hour))
		inv.Cover("bitcoin", noon.Add(3*time.Hour), tt.after)
		if got := outcomeOf(inv).Status; got != tt.want {
			t.Errorf("%s: status = %s, want %s", tt.name, got, tt.want)
		}
	}
}

// gap returns a time without a view of the mempool, in minutes after noon.
func gap(from, to int) []invoice.Gap {
	return []invoice.Gap{{From: noon.Add(time.Duration(from) * time.Minute), Until: noon.Add(time.Duration(to) * time.Minute)}}
}

func TestBlock_time_decides_on_networks_without_mempool(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		after time.Duration
		want  invoice.Status
	}{
		{15 * time.Minute, invoice.Paid},
		{18 * time.Minute, invoice.Paid},
		{18*time.Minute + time.Second, invoice.Expired},
	} {
		inv := newInvoice(t, noon.Add(time.Hour))
		inv.Observe(invoice.Observation{
			Network: "base", Required: map[string]int{"h:1": 1},
			Snapshot: chain.Snapshot{Unconfirmed: chain.None, Tip: chain.Block{Height: 101}, From: chain.Cursor{Height: 90}},
			Transfers: []chain.Transfer{{
				ID: "h:1", Tx: "h", Asset: "EURC", Script: "0x1", Amount: money.MustParse("100", eurc),
				Block: &chain.Block{Height: 101, Hash: "e101", Time: noon.Add(tt.after)},
			}},
		})
		if got := inv.Evaluate().Status; got != tt.want {
			t.Errorf("block %s after noon: status = %s, want %s", tt.after, got, tt.want)
		}
	}
}

func TestLate_money_that_is_allowed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		market  string // "" = no rate
		percent int64
		want    outcome
	}{
		{"above the limit", "96", 95, outcome{"paid", "", "100", "0", "0"}},
		{"at the limit", "95", 95, outcome{"paid", "", "100", "0", "0"}},
		{"below the limit", "94.99", 95, outcome{"expired", "[late]", "0", "100", "0"}},
		{"no rate, so the merchant decides", "", 95, outcome{"expired", "[late]", "0", "100", "0"}},
		{"any value is allowed", "", 0, outcome{"paid", "", "100", "0", "0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inv := newInvoice(t, quoteEnd.Add(time.Hour))
			inv.Terms.AllowPaidExpired = true
			inv.Terms.Rules.LatePercent = tt.percent
			late := inBlock(pay("a", full, 20*time.Minute), 101, 30*time.Minute)
			o := invoice.Observation{
				Network: "bitcoin", Transfers: []chain.Transfer{late}, Required: map[string]int{late.ID: 1},
				Snapshot: chain.Snapshot{Unconfirmed: chain.Complete, Tip: chain.Block{Height: 101}, From: chain.Cursor{Height: 90}},
				Market: func(string, money.Amount) *money.Amount {
					if tt.market == "" {
						return nil
					}
					a := fiat(tt.market)
					return &a
				},
			}
			inv.Observe(o)
			if diff := cmp.Diff(tt.want, outcomeOf(inv)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuotes_value_each_allocation_once(t *testing.T) {
	t.Parallel()
	// 40.00 paid under quote 1; quote 2 prices the other 60.00 at half the rate.
	inv := newInvoice(t, noon)
	observe(inv, 100, pay("a", 50_000, time.Minute))
	inv.Quotes = append(inv.Quotes, quote(t, 2, noon.Add(20*time.Minute), "60", "40000"))
	observe(inv, 100, pay("a", 50_000, time.Minute), pay("b", 150_000, 21*time.Minute))
	if diff := cmp.Diff(outcome{"pending", "", "100", "0", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("a part under each quote (-want +got):\n%s", diff)
	}
	// While the older quote has not ended, its better price applies.
	inv = newInvoice(t, noon)
	inv.Quotes = append(inv.Quotes, quote(t, 2, noon.Add(5*time.Minute), "100", "40000"))
	observe(inv, 100, pay("a", full, 6*time.Minute))
	if diff := cmp.Diff(outcome{"pending", "", "100", "0", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("under the older quote (-want +got):\n%s", diff)
	}
}

func TestRest_is_rounded_up_and_not_an_overpayment(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	observe(inv, 100, pay("a", 41_667, time.Minute))
	inv.State = inv.Evaluate()
	if got := inv.Remaining(inv.Methods[0]).String(); got != "0.00083333" {
		t.Errorf("rest in BTC = %s", got)
	}
	rest := inv.Remaining(inv.Methods[1])
	if rest.String() != "66.6664" {
		t.Errorf("rest in EURC = %s", rest)
	}
	observe(inv, 101, inBlock(pay("a", 41_667, time.Minute), 101, time.Minute))
	inv.Observe(invoice.Observation{
		Network: "base", Required: map[string]int{"h:1": 1},
		Snapshot: chain.Snapshot{Tip: chain.Block{Height: 101}, From: chain.Cursor{Height: 90}},
		Transfers: []chain.Transfer{{
			ID: "h:1", Tx: "h", Asset: "EURC", Script: "0x1", Amount: rest,
			Block: &chain.Block{Height: 101, Hash: "e101", Time: noon.Add(time.Minute)},
		}},
	})
	if diff := cmp.Diff(outcome{"paid", "", "100", "0", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("after the remainder (-want +got):\n%s", diff)
	}
	small := newInvoice(t, noon)
	observe(small, 100, pay("a", full-1, time.Minute))
	if got := small.Remaining(small.Methods[0]).String(); got != "0.00000546" {
		t.Errorf("a remainder below dust = %s, want the dust limit", got)
	}
}

func TestDepth_is_kept_once_paid(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	paid := inBlock(pay("a", full, time.Minute), 101, time.Minute)
	observe(inv, 101, paid)
	inv.Observe(invoice.Observation{
		Network: "bitcoin", Transfers: []chain.Transfer{paid}, Required: map[string]int{"a:0": 6},
		Snapshot: chain.Snapshot{Unconfirmed: chain.Complete, Tip: chain.Block{Height: 101}, From: chain.Cursor{Height: 90}},
	})
	if got := outcomeOf(inv).Status; got != invoice.Paid {
		t.Errorf("with a larger required depth after paid: status = %s, want paid", got)
	}
}
