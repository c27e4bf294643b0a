package lightning_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/chain/lightning"
)

// Any payer can make the provider answer for one request with an error: many failed attempts to pay make the answer large. The
// other requests do not wait.
func TestScan_looks_up_other_requests_although_one_always_fails(t *testing.T) {
	for name, err := range map[string]error{
		"an error that the provider answered":                 lightning.NewAnswerError("the answer is larger than 64 KiB"),
		"a connection that ends in each answer":               errors.New("read answer: unexpected EOF"),
		"a wallet that does not answer to the lookup of this": lightning.ErrSilent,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.add("first", time.Hour)
				f.add("failing", time.Hour)
				f.mustScan()
				f.provider.set(func() { f.provider.errs["failing"] = err })
				_ = f.run("failing", 5*time.Minute) // its failures have the longest wait
				for i := range 8 {
					hash := fmt.Sprint("new", i)
					f.add(hash, 10*time.Minute)
					if f.run(hash, 10*time.Second) < 2 {
						f.t.Errorf("request %s was looked up %d times in 10 s, want every few seconds", hash, f.provider.calls[hash])
					}
				}
				if n := f.run("failing", 10*time.Minute); n == 0 || n > 30 {
					f.t.Errorf("%d lookups of the failing request in 10 minutes, want waits of up to a minute", n)
				}
				time.Sleep(75 * time.Minute)
				f.add("new", time.Hour)
				for range 3 {
					_, _ = f.scan()
					time.Sleep(time.Minute)
				}
				if _, err := f.scan(); err != nil {
					f.t.Errorf("Scan() = %v long after the end of the failing request, want no error", err)
				}
			})
		})
	}
}

// A provider may notify a payment before its lookups show it.
func TestRun_looks_up_a_notified_payment_again_soon(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.provider.live = true
		f.add("aa", time.Hour)
		go func() { _ = f.network.Run(f.t.Context()) }()
		f.mustScan()
		f.provider.Send("aa")
		<-f.network.Wake()
		synctest.Wait()
		if s := f.mustScan(); len(s.Transfers) != 0 {
			f.t.Fatalf("transfers %+v before the provider shows one", s.Transfers)
		}
		f.settle("aa", lightning.Status{})
		time.Sleep(3 * time.Second)
		if s := f.mustScan(); len(s.Transfers) != 1 {
			f.t.Errorf("transfers %+v 3 s after the notification, want the payment", s.Transfers)
		}
		// Notifications that no lookup confirms do not cause many lookups.
		f.add("bb", time.Hour)
		f.mustScan()
		f.provider.Send("bb")
		<-f.network.Wake()
		synctest.Wait()
		if n := f.run("bb", 10*time.Minute); n > 60 {
			f.t.Errorf("%d lookups in 10 minutes, want at most 60", n)
		}
	})
}
