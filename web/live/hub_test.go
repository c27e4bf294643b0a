package live_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/web/live"
)

var errGone = errors.New("gone")

// source is a fake of live.Source.
type source struct {
	mu       sync.Mutex
	states   map[string]live.State
	watches  map[string]func(int64)
	reads    int
	rendered []live.Variant
	err      error // of Read
	delay    time.Duration
}

func newSource(ids ...string) *source {
	s := &source{states: map[string]live.State{}, watches: map[string]func(int64){}}
	for _, id := range ids {
		s.states[id] = s.state(1)
	}
	return s
}

// state returns a state whose page names its version and its variant.
func (s *source) state(number int64) live.State {
	version := fmt.Sprintf("v%d", number)
	return live.State{PageVersion: version, Version: number, Render: func(_ context.Context, v live.Variant) (string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rendered = append(s.rendered, v)
		return version + " in " + v.Language, nil
	}}
}

// change sets the state of an invoice and calls its watcher.
func (s *source) change(id string, state live.State) {
	s.mu.Lock()
	s.states[id] = state
	changed := s.watches[id]
	s.mu.Unlock()
	if changed != nil {
		changed(state.Version)
	}
}

func (s *source) Read(_ context.Context, id string) (live.State, error) {
	s.mu.Lock()
	s.reads++
	state, ok := s.states[id]
	err, delay := s.err, s.delay
	s.mu.Unlock()
	time.Sleep(delay)
	if !ok {
		return state, errGone
	}
	return state, err
}

func (s *source) Watch(id string, changed func(int64)) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches[id] != nil {
		panic("two watches of " + id)
	}
	s.watches[id] = changed
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, id)
	}
}

func (s *source) IsGone(err error) bool { return errors.Is(err, errGone) }

// wantCounts compares the numbers of reads, rendered pages and watches.
func (s *source) wantCounts(t *testing.T, reads, rendered, watches int) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads != reads || len(s.rendered) != rendered || len(s.watches) != watches {
		t.Errorf("%d reads, %d pages rendered, %d watches; want %d, %d, %d", s.reads, len(s.rendered), len(s.watches), reads, rendered, watches)
	}
}

func newHub(t *testing.T, s live.Source) *live.Hub {
	t.Helper()
	h := live.New(s, live.Limits{Total: 1 << 20, PerNetwork: 1 << 20}, slog.New(slog.DiscardHandler))
	t.Cleanup(h.Close)
	return h
}

// reader is a browser that takes the texts of a viewer.
type reader struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	text strings.Builder
	err  error
}

// read joins an invoice. Each text is kept for a time, as by a slow browser.
func read(t *testing.T, h *live.Hub, id string, r live.Request, delay time.Duration) *reader {
	t.Helper()
	viewer, ok := h.Join(id, r)
	if !ok {
		t.Fatal("the limit of streams is reached")
	}
	ctx, cancel := context.WithCancel(t.Context())
	browser := &reader{cancel: cancel, done: make(chan struct{})}
	t.Cleanup(func() { <-browser.done })
	go func() {
		defer close(browser.done)
		defer viewer.Leave()
		e := live.NewEncoder(r.Gzip)
		for {
			text, last, err := viewer.Next(ctx)
			browser.mu.Lock()
			browser.err = err
			if text != nil {
				for _, part := range e.Encode(text) {
					browser.text.Write(part)
				}
			}
			if text == nil || last {
				browser.text.Write(e.End())
				browser.mu.Unlock()
				return
			}
			browser.mu.Unlock()
			select {
			case <-time.After(delay):
			case <-ctx.Done():
			}
		}
	}()
	synctest.Wait()
	return browser
}

// got returns the stream so far.
func (r *reader) got() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// pages returns the pages that the browser got.
func (r *reader) pages() (pages []string) {
	for _, event := range strings.Split(r.got(), "event: page\n")[1:] {
		_, data, _ := strings.Cut(event, "data: ")
		data, _, _ = strings.Cut(data, "\n")
		pages = append(pages, data)
	}
	return pages
}

func (r *reader) wantPages(t *testing.T, pages ...string) {
	t.Helper()
	if diff := cmp.Diff(pages, r.pages()); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestHub_renders_a_change_once_for_all_viewers_of_a_language(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		h := newHub(t, s)
		var readers []*reader
		for i := range 300 {
			r := live.Request{Shown: "v1", Fallback: []string{"de", "en"}[i%2], Gzip: i%3 == 0}
			readers = append(readers, read(t, h, "a", r, 0))
		}
		s.wantCounts(t, 1, 0, 1)
		s.change("a", s.state(2))
		s.wantCounts(t, 2, 2, 1)
		for i, b := range readers {
			if i%3 == 0 {
				continue // compressed, see below
			}
			b.wantPages(t, "v2 in "+[]string{"de", "en"}[i%2])
		}
		if got := decompress(t, readers[0].got()); got != "retry: 3000\n\nevent: page\nid: v2\ndata: v2 in de\n\n" {
			t.Errorf("the compressed stream is %q, want version 2 of the German page once", got)
		}
		s.repeatHint("a", 2) // a repeated hint
		s.wantCounts(t, 2, 2, 1)
	})
}

// repeatHint calls the watcher of an invoice without a change.
func (s *source) repeatHint(id string, version int64) {
	s.mu.Lock()
	changed := s.watches[id]
	s.mu.Unlock()
	changed(version)
}

// decompress decompresses a stream, which may be incomplete.
func decompress(t *testing.T, text string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return string(got)
}

func TestHub_reads_nothing_while_nothing_changes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b")
		h := newHub(t, s)
		a := read(t, h, "a", live.Request{Shown: "v1"}, 0)
		read(t, h, "b", live.Request{Shown: "v1"}, 0)
		time.Sleep(5*time.Minute + time.Second)
		s.wantCounts(t, 2, 0, 2)
		if got := strings.Count(a.got(), "event: beat\ndata\n\n"); got != 15 {
			t.Errorf("%d heartbeats in five minutes, want 15", got)
		}
		time.Sleep(5 * time.Minute)
		<-a.done
		s.wantCounts(t, 2, 0, 0)
	})
}

func TestHub_ends_the_watch_with_the_last_viewer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		h := newHub(t, s)
		first, second := read(t, h, "a", live.Request{}, 0), read(t, h, "a", live.Request{}, 0)
		s.wantCounts(t, 2, 2, 1) // the second joined after the page was sent to the first, and the hub keeps no page
		first.cancel()
		s.wantCounts(t, 2, 2, 1)
		second.cancel()
		s.wantCounts(t, 2, 2, 0)
		read(t, h, "a", live.Request{Shown: "v1"}, 0)
		s.wantCounts(t, 3, 2, 1)
	})
}

func TestHub_viewers_that_join_together_share_a_read(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		s.delay = time.Second
		h := newHub(t, s)
		var readers []*reader
		for range 50 {
			readers = append(readers, read(t, h, "a", live.Request{Fallback: "en"}, 0))
		}
		time.Sleep(time.Second)
		s.wantCounts(t, 1, 1, 1)
		for _, b := range readers {
			b.wantPages(t, "v1 in en")
		}
	})
}

// A slow browser gets the newest page when it is ready, and delays no other.
func TestHub_slow_browser_delays_no_other(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		h := newHub(t, s)
		slow := read(t, h, "a", live.Request{Fallback: "en"}, time.Minute)
		fast := read(t, h, "a", live.Request{Shown: "v1", Fallback: "en"}, 0)
		for number := range int64(3) {
			s.change("a", s.state(number+2))
			synctest.Wait()
		}
		fast.wantPages(t, "v2 in en", "v3 in en", "v4 in en")
		slow.wantPages(t, "v1 in en")
		time.Sleep(time.Minute)
		slow.wantPages(t, "v1 in en", "v4 in en")
	})
}

func TestHub_change_during_a_read_is_not_lost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		h := newHub(t, s)
		b := read(t, h, "a", live.Request{Shown: "v1", Fallback: "en"}, 0)
		s.mu.Lock()
		s.delay = time.Second
		s.mu.Unlock()
		s.change("a", s.state(2))
		time.Sleep(time.Second / 2)
		s.change("a", s.state(3)) // the present read returns the earlier state
		time.Sleep(2 * time.Second)
		if got := b.pages(); got[len(got)-1] != "v3 in en" {
			t.Errorf("pages %q, want v3 last", got)
		}
	})
}

func TestHub_ends_streams_of_a_final_page(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		h := newHub(t, s)
		b := read(t, h, "a", live.Request{Shown: "v1", Fallback: "en"}, 0)
		compressed := read(t, h, "a", live.Request{Shown: "v1", Fallback: "en", Gzip: true}, 0)
		last := s.state(2)
		last.Final = true
		s.change("a", last)
		<-b.done
		<-compressed.done
		b.wantPages(t, "v2 in en")
		decompressed, err := gzip.NewReader(bytes.NewReader([]byte(compressed.got())))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(decompressed)
		if err != nil || string(text) != b.got() {
			t.Errorf("compressed stream: %q, %v, want %q", text, err, b.got())
		}
		if b := read(t, h, "a", live.Request{Shown: "v2"}, 0); !errors.Is(b.err, live.ErrShown) {
			t.Errorf("a browser with the final page gets %v, want ErrShown", b.err)
		}
		s.wantCounts(t, 3, 1, 0)
	})
}

func TestHub_reads_a_page_that_expires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		h := newHub(t, s)
		quote := s.state(1)
		quote.ExpiresIn = 12 * time.Second
		s.change("a", quote)
		b := read(t, h, "a", live.Request{Shown: "v1", Fallback: "en"}, 0)
		expired := s.state(2)
		s.mu.Lock()
		s.states["a"] = expired
		s.mu.Unlock()
		time.Sleep(12*time.Second - 1)
		b.wantPages(t)
		s.wantCounts(t, 1, 0, 1)
		time.Sleep(time.Nanosecond)
		b.wantPages(t, "v2 in en")
	})
}

func TestHub_continues_after_errors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		h := newHub(t, s)
		if b := read(t, h, "nosuch", live.Request{}, 0); !errors.Is(b.err, errGone) {
			t.Errorf("an unknown invoice: %v, want %v", b.err, errGone)
		}
		s.wantCounts(t, 1, 0, 0)
		b := read(t, h, "a", live.Request{Shown: "v1", Fallback: "en"}, 0)
		s.mu.Lock()
		s.err = errors.New("storage is unavailable")
		s.mu.Unlock()
		s.change("a", s.state(2))
		time.Sleep(5 * time.Second / 2)
		s.wantCounts(t, 5, 0, 1) // two more reads, one second apart
		b.wantPages(t)
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
		time.Sleep(time.Second)
		b.wantPages(t, "v2 in en")
		failing := s.state(3)
		failing.Render = func(context.Context, live.Variant) (string, error) { panic("a fault of a template") }
		s.change("a", failing)
		s.wantCounts(t, 7, 1, 1)
		s.change("a", s.state(4))
		b.wantPages(t, "v2 in en", "v4 in en")
	})
}

func TestClose_ends_all_streams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b")
		h := newHub(t, s)
		readers := []*reader{read(t, h, "a", live.Request{Shown: "v1"}, 0), read(t, h, "a", live.Request{}, 0), read(t, h, "b", live.Request{}, 0)}
		h.Close()
		for _, b := range readers {
			<-b.done
		}
		s.wantCounts(t, 3, 2, 0)
		if b := read(t, h, "a", live.Request{}, 0); !errors.Is(b.err, live.ErrClosed) {
			t.Errorf("after Close: %v, want ErrClosed", b.err)
		}
	})
}

// The language in the address of the page is preferred to that of the invoice, which is preferred to that of the
// browser.
func TestHub_chooses_the_language(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource("plain", "own")
		german := s.state(1)
		german.Language = "de"
		s.change("own", german)
		h := newHub(t, s)
		for _, tt := range []struct{ id, requested, fallback, want string }{
			{"plain", "", "en", "v1 in en"}, {"plain", "fr", "en", "v1 in fr"}, {"own", "", "en", "v1 in de"}, {"own", "fr", "en", "v1 in fr"},
		} {
			b := read(t, h, tt.id, live.Request{Language: tt.requested, Fallback: tt.fallback}, 0)
			b.wantPages(t, tt.want)
		}
	})
}
