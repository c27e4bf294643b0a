package changes_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"chequer/web/desk/changes"
)

// feed is a fake of the positions of shops' feeds. It counts the reads.
type feed struct {
	mu        sync.Mutex
	positions map[string]int64
	reads     int
	err       error
}

func (f *feed) read(_ context.Context, shopID string) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	return f.positions[shopID], f.err
}

func (f *feed) set(shopID string, position int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.positions[shopID], f.err = position, err
}

func (f *feed) countReads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads
}

func newHub(t *testing.T) (*changes.Hub, *feed) {
	f := &feed{positions: map[string]int64{"one": 7, "two": 3}}
	h := changes.New(changes.Config{Position: f.read, Interval: time.Second, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(h.Close)
	return h, f
}

func TestWait_returns_only_after_a_change_of_the_shop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHub(t)
		// A page that has seen another position learns of it at once.
		if got, err := h.Wait(t.Context(), "one", 6); err != nil || got != 7 {
			t.Errorf("Wait returns %d, error %v, want 7", got, err)
		}
		told := make(chan int64, 20)
		for range 10 {
			go func() {
				position, err := h.Wait(t.Context(), "one", 7)
				if err != nil {
					t.Error(err)
				}
				told <- position
			}()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(told) > 0 {
			t.Fatal("a page was told without a change")
		}
		if n := f.countReads(); n > 12 {
			t.Errorf("%d reads in 10 seconds, want one per second", n)
		}
		f.set("two", 4, nil) // of another shop
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(told) > 0 {
			t.Fatal("a page was told about another shop")
		}
		f.set("one", 7, errors.New("the database is away"))
		time.Sleep(5 * time.Second)
		f.set("one", 8, nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(told) != 10 {
			t.Fatalf("%d pages were told, want 10", len(told))
		}
		if got := <-told; got != 8 {
			t.Errorf("a page was told %d, want 8", got)
		}
		before := f.countReads()
		time.Sleep(time.Minute)
		if n := f.countReads() - before; n > 1 {
			t.Errorf("%d reads while no page waits, want at most 1", n)
		}
	})
}

func TestWait_ends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := newHub(t)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := h.Wait(ctx, "one", 7); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
		time.AfterFunc(time.Second, h.Close)
		if _, err := h.Wait(t.Context(), "one", 7); !errors.Is(err, changes.ErrClosed) {
			t.Errorf("error %v, want %v", err, changes.ErrClosed)
		}
	})
}
