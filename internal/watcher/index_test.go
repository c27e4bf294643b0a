package watcher_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/watcher"
)

var _ chain.Watched = watcher.Index{}

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// destination returns the nth destination, watched for some hours from noon.
func destination(n, hours int) watcher.Destination {
	return watcher.Destination{
		Script: fmt.Sprint("script", n), Until: noon.Add(time.Duration(hours) * time.Hour),
		Owner: invoice.Owner{InvoiceID: fmt.Sprintf("%032d", n), MerchantID: fmt.Sprint("m", n%3)},
	}
}

// since returns the scripts after a mark, and moves the mark.
func since(x watcher.Index, mark *uint64) []string {
	scripts, next := x.Since(*mark)
	*mark = next
	return slices.Collect(scripts)
}

func wantSince(t *testing.T, x watcher.Index, mark *uint64, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, since(x, mark), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("since the mark (-want +got):\n%s", diff)
	}
}

func TestIndex_returns_new_destinations_since_a_mark(t *testing.T) {
	t.Parallel()
	x := watcher.NewIndex(watcher.Index{})
	var mark uint64
	wantSince(t, x, &mark)
	x.Add(destination(1, 1))
	x.Add(destination(2, 9))
	wantSince(t, x, &mark, "script1", "script2")
	wantSince(t, x, &mark)
	x.Add(destination(2, 99)) // watched for longer
	wantSince(t, x, &mark)
	x.Drop(noon.Add(2 * time.Hour))
	x.Add(destination(3, 9))
	wantSince(t, x, &mark, "script3")
	x.Add(destination(1, 9)) // watched again, because of a new quote
	wantSince(t, x, &mark, "script1")
	old := mark
	next := watcher.NewIndex(x) // the lease was lost meanwhile
	next.Add(destination(3, 9))
	wantSince(t, next, &mark, "script3")
	if mark <= old {
		t.Errorf("the mark went from %d to %d", old, mark)
	}
	all := uint64(0)
	wantSince(t, next, &all, "script3")
}

// refundTo returns a refund of an invoice to the script of the nth destination, watched for some hours from noon.
func refundTo(n int, id, invoiceID string, hours int) watcher.Destination {
	return watcher.Destination{Script: fmt.Sprint("script", n), Refund: id, Until: noon.Add(time.Duration(hours) * time.Hour), Owner: invoice.Owner{InvoiceID: invoiceID, MerchantID: "m"}}
}

func TestIndex_watches_the_addresses_of_refunds(t *testing.T) {
	t.Parallel()
	x := watcher.NewIndex(watcher.Index{})
	var mark uint64
	x.Add(refundTo(1, "r1", "i1", 5))
	x.Add(refundTo(1, "r2", "i1", 5))
	x.Add(refundTo(1, "r3", "i2", 5))
	wantSince(t, x, &mark, "script1")
	owners := func() (ids []string) {
		for _, o := range x.RefundOwners("script1") {
			ids = append(ids, o.InvoiceID)
		}
		return ids
	}
	if _, owned := x.Owner("script1"); owned || !x.Destination("script1") {
		t.Error("a script of refunds is not watched, or has an invoice that is paid to it")
	}
	if diff := cmp.Diff([]string{"i1", "i2"}, owners()); diff != "" {
		t.Errorf("invoices with refunds (-want +got):\n%s", diff)
	}
	x.Add(destination(1, 2)) // an invoice with the same script
	if owner, _ := x.Owner("script1"); owner != destination(1, 2).Owner {
		t.Errorf("the script belongs to %v", owner)
	}
	x.Add(refundTo(1, "r3", "i2", 99)) // sent later
	x.Drop(noon.Add(6 * time.Hour))
	if diff := cmp.Diff([]string{"i2"}, owners()); diff != "" || !x.Destination("script1") {
		t.Errorf("after six hours (-want +got):\n%s", diff)
	}
	x.Drop(noon.Add(100 * time.Hour))
	if len(owners()) > 0 || x.Destination("script1") {
		t.Error("the script is watched after the end")
	}
}

func TestIndex_iteration_can_stop_early_and_be_repeated(t *testing.T) {
	t.Parallel()
	x := watcher.NewIndex(watcher.Index{})
	for n := range 10 {
		x.Add(destination(n, 9))
	}
	scripts, _ := x.Since(4)
	for range 2 { // repeated
		for s := range scripts {
			if s != "script4" {
				t.Errorf("the first script is %s, want script4", s)
			}
			break
		}
	}
}

func TestIndex_drops_once_an_hour(t *testing.T) {
	t.Parallel()
	x := watcher.NewIndex(watcher.Index{})
	x.Drop(noon)
	x.Add(destination(1, 0))
	x.Drop(noon.Add(time.Hour - time.Second))
	if !x.Destination("script1") {
		t.Error("dropped within the hour")
	}
	x.Add(destination(2, 1))
	x.Drop(noon.Add(time.Hour)) // exactly at the end of the second destination
	if x.Destination("script1") || !x.Destination("script2") {
		t.Error("want the first destination dropped and the second kept")
	}
}

// Random operations in random order give the same results as a simple model.
func TestIndex_agrees_with_a_simple_model(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		index, now := watcher.NewIndex(watcher.Index{}), noon
		model, unread := map[string]watcher.Destination{}, map[string]bool{}
		var mark uint64
		for range 200 {
			switch random.IntN(12) {
			case 0:
				now = now.Add(time.Duration(random.IntN(3)) * time.Hour)
				if !index.Drop(now) {
					break
				}
				for script, d := range model {
					if d.Until.Before(now) {
						delete(model, script)
						delete(unread, script)
					}
				}
			case 1:
				got := since(index, &mark)
				slices.Sort(got)
				want := []string{}
				for script := range unread {
					want = append(want, script)
				}
				slices.Sort(want)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("seed %d: since the mark (-want +got):\n%s", seed, diff)
				}
				clear(unread)
			case 2:
				if random.IntN(4) == 0 {
					index = watcher.NewIndex(index)
					clear(model)
					clear(unread)
				}
			default:
				d := destination(random.IntN(30), random.IntN(30))
				index.Add(d)
				if _, known := model[d.Script]; !known {
					unread[d.Script] = true
				}
				model[d.Script] = d
			}
			for n := range 30 {
				d := destination(n, 0)
				_, want := model[d.Script]
				owner, got := index.Owner(d.Script)
				if got != want || index.Destination(d.Script) != want || want && owner != d.Owner {
					t.Fatalf("seed %d: %s is of %+v, %v; want %v", seed, d.Script, owner, got, want)
				}
			}
		}
	}
}

// The scripts are as long as Bitcoin's, and the identifiers of invoices have their real length.
func TestIndex_of_a_million_destinations_fits_into_200_MB(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a million destinations")
	}
	const bound = 200_000_000
	before := heap()
	x := million()
	if got := heap() - before; got > bound {
		t.Errorf("the index takes %d MB, want %d at most", got/1e6, int64(bound/1e6))
	}
	runtime.KeepAlive(x)
}

func BenchmarkIndex(b *testing.B) {
	before := heap()
	for b.Loop() {
		x := million()
		b.ReportMetric(float64(heap()-before)/1e6, "MB")
		runtime.KeepAlive(x)
	}
}

// million returns an index of a million destinations of 100 merchants.
func million() watcher.Index {
	x := watcher.NewIndex(watcher.Index{})
	for n := range 1_000_000 {
		x.Add(watcher.Destination{
			Script: fmt.Sprintf("0014%040x", n*7919), Until: noon,
			Owner: invoice.Owner{InvoiceID: fmt.Sprintf("%032d", n), MerchantID: fmt.Sprint("merchant", n%100)},
		})
	}
	return x
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
