package exchange_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"chequer/internal/exchange"
	"chequer/internal/exchange/exchangetest"
)

func TestFind_refuses_impossible_data(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		o := f.order("0.01", "86000")
		ref, err := f.exchange.Place(t.Context(), f.account, o)
		if err != nil {
			t.Fatal(err)
		}
		sold, cost := `"vol_exec":"0.01000000"`, `"cost":"864.20000"`
		replacements := [][2]string{{sold, `"vol_exec":"0.02000000"`}, {sold, `"vol_exec":"-0.01"`}, {cost, `"cost":"1.00000"`}, {`"type":"sell"`, `"type":"buy"`},
			{`"status":"closed"`, `"status":"vanished"`}, {o.ID, exchange.UUID("another")}, {`"fee":"3.45680"`, `"fee":"900"`}, {sold, `"vol_exec":"0"`}, {cost, `"cost":"8e2"`}}
		if f.exchange.Name() == "bitstamp" {
			sold, cost = `"btc":"0.01000000"`, `"eur":"864.20000"`
			replacements = [][2]string{{sold, `"btc":"0.02000000"`}, {sold, `"btc":"-0.01"`}, {cost, `"eur":"1.00000"`}, {`"type":"1"`, `"type":"0"`},
				{`"status":"Finished"`, `"status":"Vanished"`}, {o.ID, exchange.UUID("another")}, {`"fee":"3.45680"`, `"fee":"900"`}, {cost, `"eur":"8e2"`}}
		}
		for _, replacement := range replacements {
			f.Next(f.calls["find"], exchangetest.Falsify(replacement[0], replacement[1]))
			if out, err := f.exchange.Find(t.Context(), f.account, o, ref); !errors.Is(err, exchange.ErrContradiction) {
				t.Errorf("%s replaced by %s: got %+v, error %v, want %v", replacement[0], replacement[1], out, err, exchange.ErrContradiction)
			}
		}
	})
}

func TestFind_sees_an_order_without_a_name(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "kraken")
	o := f.order("0.01", "86000")
	if _, err := f.exchange.Place(t.Context(), f.account, o); err != nil {
		t.Fatal(err)
	}
	f.ForgetNames()
	if _, err := f.exchange.Find(t.Context(), f.account, o, ""); !errors.Is(err, exchange.ErrAmbiguous) {
		t.Errorf("got error %v, want %v", err, exchange.ErrAmbiguous)
	}
	if _, err := f.exchange.Find(t.Context(), f.account, f.order("0.02", "86000"), ""); !errors.Is(err, exchange.ErrNotFound) {
		t.Errorf("another amount: got error %v, want %v", err, exchange.ErrNotFound)
	}
}

// A lost order may appear after the next order has got its name. It is unknown which of them is
// meant, so that the operator must decide.
func TestFind_sees_two_orders_of_one_name(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "kraken")
	o := f.order("0.01", "86000")
	for range 2 {
		if _, err := f.exchange.Place(t.Context(), f.account, o); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.exchange.Find(t.Context(), f.account, o, ""); !errors.Is(err, exchange.ErrAmbiguous) {
		t.Errorf("got error %v, want %v", err, exchange.ErrAmbiguous)
	}
}

// The searched order comes after 70 others.
func TestFind_searches_all_pages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "kraken")
	first := f.order("0.001", "86000")
	if _, err := f.exchange.Place(t.Context(), f.account, first); err != nil {
		t.Fatal(err)
	}
	for i := range 70 {
		o := f.order(fmt.Sprintf("0.0001%02d", i), "86000")
		if _, err := f.exchange.Place(t.Context(), f.account, o); err != nil {
			t.Fatal(err)
		}
	}
	f.ForgetNames() // so that no filter finds it
	if _, err := f.exchange.Find(t.Context(), f.account, first, ""); !errors.Is(err, exchange.ErrAmbiguous) {
		t.Errorf("got error %v, want %v", err, exchange.ErrAmbiguous)
	}
}

// A shop with many sales has more closed orders than one search reads. If the filter by name is
// proven to work, an order that was never sent is reported as absent. If the filter does not work,
// the search returns an error and is repeated later.
func TestFind_among_more_orders_than_one_search_reads(t *testing.T) {
	t.Parallel()
	newBusyFixture := func(t *testing.T) (f *fixture, unsent exchange.Order) {
		f = newFixture(t, "kraken")
		f.Deposit("BTC", "5")
		unsent = f.order("0.01", "80000")
		unsent.Deadline = time.Time{}
		for i := range 505 {
			o := f.order("0.0002", "80000")
			o.ID = exchange.UUID(fmt.Sprint(i))
			if _, err := f.exchange.Place(t.Context(), f.account, o); err != nil {
				t.Fatal(i, err)
			}
			f.clock.Advance(time.Second)
		}
		return f, unsent
	}
	t.Run("an_order_that_was_never_sent_is_absent", func(t *testing.T) {
		t.Parallel()
		f, unsent := newBusyFixture(t)
		before := len(f.Calls())
		if _, err := f.exchange.Find(t.Context(), f.account, unsent, ""); !errors.Is(err, exchange.ErrNotFound) {
			t.Errorf("got error %v, want %v", err, exchange.ErrNotFound)
		}
		if calls := f.Calls()[before:]; len(calls) > 4 {
			t.Errorf("the search made %d calls: %v", len(calls), calls)
		}
	})
	t.Run("an_order_that_a_restored_database_lacks_is_found", func(t *testing.T) {
		t.Parallel()
		f, unsent := newBusyFixture(t)
		unsent.ID, unsent.Amount = exchange.UUID("3"), btc("0.0002")
		if out, err := f.exchange.Find(t.Context(), f.account, unsent, ""); err != nil || out.Sold.String() != "0.0002" {
			t.Errorf("got %+v, error %v", out, err)
		}
	})
	t.Run("a_filter_that_does_not_work_proves_nothing", func(t *testing.T) {
		t.Parallel()
		f, unsent := newBusyFixture(t)
		f.DisableNameFilter()
		if _, err := f.exchange.Find(t.Context(), f.account, unsent, ""); !errors.Is(err, exchange.ErrNoAnswer) || errors.Is(err, exchange.ErrAmbiguous) {
			t.Errorf("got error %v, want %v", err, exchange.ErrNoAnswer)
		}
	})
	t.Run("an_order_that_was_sent_is_searched_by_time", func(t *testing.T) {
		t.Parallel()
		f, sent := newBusyFixture(t)
		f.DisableNameFilter()
		sent.ID, sent.Amount, sent.CreatedAt = exchange.UUID("20"), btc("0.0002"), noon.Add(20*time.Second)
		sent.Deadline, _ = f.exchange.Window(sent.CreatedAt)
		if out, err := f.exchange.Find(t.Context(), f.account, sent, ""); err != nil || out.Sold.String() != "0.0002" {
			t.Errorf("got %+v, error %v", out, err)
		}
		sent.ID, sent.Amount = exchange.UUID("never accepted"), btc("0.01")
		if _, err := f.exchange.Find(t.Context(), f.account, sent, ""); !errors.Is(err, exchange.ErrNotFound) {
			t.Errorf("never accepted: got error %v, want %v", err, exchange.ErrNotFound)
		}
	})
}
