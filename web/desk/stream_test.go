package desk_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
)

// streamWriter is a response whose body is read while the handler runs.
type streamWriter struct {
	header http.Header
	status int
	*io.PipeWriter
}

func (w *streamWriter) Header() http.Header    { return w.header }
func (w *streamWriter) WriteHeader(status int) { w.status = status }
func (*streamWriter) Flush()                   {}

// follow opens the stream of a page. It returns the messages, and a function that closes the stream.
func (b *browser) follow(address, lastID string) (messages *bufio.Scanner, leave func()) {
	ctx, cancel := context.WithCancel(b.fixture.t.Context())
	r := b.request(http.MethodGet, address, nil).WithContext(ctx)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	in, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.fixture.desk.ServeHTTP(&streamWriter{header: http.Header{}, PipeWriter: out}, r)
		out.Close()
	}()
	messages = bufio.NewScanner(in)
	leave = func() {
		cancel()
		in.Close()
		<-ended
	}
	b.fixture.t.Cleanup(leave)
	return messages, leave
}

// nextID returns the number of the next message.
func nextID(t *testing.T, messages *bufio.Scanner) string {
	t.Helper()
	for messages.Scan() {
		if id, ok := strings.CutPrefix(messages.Text(), "id: "); ok {
			return id
		}
	}
	t.Fatalf("the stream ended without a message: %v", messages.Err())
	return ""
}

// A page names its stream with the position of the feed before its data were read. The stream has a message when the
// feed of the shop has a new event, and none for another shop.
func TestStream_reports_new_events_of_the_shop_only(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.testInvoices.sell(shop, "1001", "40")
	for _, path := range []string{"/desk/shop", "/desk/shop/payments", "/desk/shop/attention"} {
		address := b.get(path).find("main").AttrOr("data-stream", "")
		position, err := f.storage.FeedPosition(t.Context(), shop)
		f.must(err)
		if want := fmt.Sprintf("/desk/shop/live?seen=%d", position); address != want {
			t.Fatalf("%s: the stream is %q, want %q", path, address, want)
		}
		messages, leave := b.follow(address, "")
		f.testInvoices.sell("other", "77", "40")
		f.testInvoices.sell(shop, "1002", "40")
		id := nextID(t, messages)
		if n, err := strconv.ParseInt(id, 10, 64); err != nil || n <= position {
			t.Errorf("%s: the message has the number %q, want one above %d", path, id, position)
		}
		leave()
		// After an interruption the browser says what it has seen last.
		messages, leave = b.follow(address, strconv.FormatInt(position, 10))
		nextID(t, messages)
		leave()
	}
	if got := b.get("/desk/shop/account").find("main").AttrOr("data-stream", ""); got != "" {
		t.Errorf("the account page has the stream %q", got)
	}
	b.get("/desk/shop/live?seen=x").want(http.StatusNotFound)
	b.get("/desk/other/live?seen=1").want(http.StatusNotFound)
}

// An open page that updates itself does not prolong the session.
func TestStream_keeps_the_time_of_the_last_use(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	used := func() time.Time {
		t.Helper()
		session, _, err := f.accounts.PeekSession(t.Context(), b.session())
		f.must(err)
		return session.UsedAt
	}
	before := used()
	f.clock.Advance(5 * time.Minute)
	b.header = map[string]string{"Desk-Update": "1"}
	b.get("/desk/shop").want(http.StatusOK, "Overview")
	_, leave := b.follow("/desk/shop/live?seen=-1", "")
	leave()
	if got := used(); !got.Equal(before) {
		t.Errorf("the session was last used at %v, want %v", got, before)
	}
	b.header = nil
	b.get("/desk/shop")
	if got := used(); !got.Equal(f.clock.Now()) {
		t.Errorf("the session was last used at %v, want %v", got, f.clock.Now())
	}
	f.clock.Advance(13 * time.Hour)
	b.get("/desk/shop/live?seen=1").wantRedirect("/desk/signin?next=%2Fdesk%2Fshop%2Flive%3Fseen%3D1")
}

// The streams end when the server stops.
func TestStream_ends_with_the_server(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b := f.as("Tove", account.Seller)
	position, err := f.storage.FeedPosition(t.Context(), shop)
	f.must(err)
	messages, _ := b.follow(fmt.Sprintf("/desk/shop/live?seen=%d", position), "")
	messages.Scan()
	f.changes.Close()
	for messages.Scan() {
		if text := messages.Text(); strings.HasPrefix(text, "id:") {
			t.Errorf("the stream has the message %q", text)
		}
	}
}

// An account with very many open tabs leaves streams to the others.
func TestStream_of_many_tabs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	other := f.as("Tove", account.Manager)
	position, err := f.storage.FeedPosition(t.Context(), shop)
	f.must(err)
	address := fmt.Sprintf("/desk/shop/live?seen=%d", position)
	leaves := make([]func(), 30)
	for i := range leaves {
		messages, leave := b.follow(address, "")
		if leaves[i] = leave; !messages.Scan() {
			t.Fatalf("stream %d did not open: %v", i, messages.Err())
		}
	}
	if got := b.get(address); got.status != http.StatusNoContent {
		t.Errorf("one more stream of the account is answered %d, want %d", got.status, http.StatusNoContent)
	}
	messages, _ := other.follow(address, "")
	if !messages.Scan() {
		t.Errorf("the stream of another account did not open: %v", messages.Err())
	}
	leaves[0]()
	if messages, _ := b.follow(address, ""); !messages.Scan() {
		t.Errorf("a stream did not open after another one ended: %v", messages.Err())
	}
}
