package nwc

import (
	"chequer/internal/chain/lightning"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// connectTimeout is the maximum time until a relay has answered the subscription.
	connectTimeout = 10 * time.Second
	// writeTimeout is the maximum time of sending a message.
	writeTimeout = 5 * time.Second
	// retryWait is the time after a failure for which a relay is not called.
	retryWait = 2 * time.Second
	// idleTimeout is the time after which an unused connection is closed.
	idleTimeout = 2 * time.Minute
	// overlap is the time before the newest event from which events are asked for again.
	overlap = time.Minute
	// maxMessageSize is the maximum size of a message of a relay, in bytes.
	maxMessageSize = 64 << 10
	// maxStored is the maximum number of stored events that a relay sends for a subscription.
	maxStored = 100
	// subscription is the name of the subscription.
	subscription = "nwc"
)

// relay is a relay of the wallet. It is safe for concurrent use.
type relay struct {
	url      string
	host     string
	upgrader *http.Client
	// wallet and client are the public keys in hexadecimal digits.
	wallet, client string
	receive        func(e *event)
	now            func() time.Time

	gate chan struct{} // held while a session is opened
	mu   sync.Mutex
	// The fields below are protected by mu.
	current  *session
	failure  error // of the newest attempt to connect, nil if it succeeded
	failedAt time.Time
	newest   int64 // time of the newest event, on the wallet's clock
	closed   bool
}

// session is a connection to a relay with a subscription.
type session struct {
	conn *websocket.Conn
	end  context.CancelFunc
	// ready is closed when the relay has sent the stored events.
	ready chan struct{}
	// done is closed when the session has ended, and err is the reason then.
	done chan struct{}
	err  error
	// clockLead is the time by which this machine's clock is ahead of that of the relay.
	clockLead time.Duration

	mu     sync.Mutex
	usedAt time.Time
	oks    map[string]chan verdict // by the ID of a published event
}

// verdict is the answer of a relay to a published event. See NIP-01, "OK".
type verdict struct {
	accepted bool
	text     string
}

// open returns a session whose subscription is active.
func (r *relay) open(ctx context.Context) (*session, error) {
	select {
	case r.gate <- struct{}{}:
		defer func() { <-r.gate }()
	case <-ctx.Done():
		return nil, fmt.Errorf("relay %s: %w", r.host, ctx.Err())
	}
	if s, err := r.usable(); s != nil || err != nil {
		return s, err
	}
	s, err := r.dial(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failure, r.failedAt = fmt.Errorf("relay %s: %w", r.host, err), r.now()
		return nil, r.failure
	}
	if r.closed {
		s.end()
		return nil, errClosed
	}
	r.current, r.failure = s, nil
	return s, nil
}

var errClosed = errors.New("the connection is closed")

// usable returns the current session if it has not ended, or the error of an attempt that failed just now.
func (r *relay) usable() (*session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	if r.current != nil && !isDone(r.current.done) {
		r.current.use(r.now())
		return r.current, nil
	}
	if age := r.now().Sub(r.failedAt); r.failure != nil && age >= 0 && age < retryWait {
		return nil, r.failure
	}
	return nil, nil
}

// close ends the session and allows no other.
func (r *relay) close() {
	r.mu.Lock()
	s := r.current
	r.closed = true
	r.mu.Unlock()
	if s != nil {
		s.end()
		<-s.done
	}
}

// dial connects and subscribes.
func (r *relay) dial(ctx context.Context) (*session, error) {
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	start := r.now()
	conn, answer, err := websocket.Dial(connecting, r.url, &websocket.DialOptions{HTTPClient: r.upgrader}) //nolint:bodyclose // the body is the connection
	if err != nil {
		if urlErr, ok := errors.AsType[*url.Error](err); ok {
			err = urlErr.Err
		}
		return nil, fmt.Errorf("connection failed: %w", err)
	}
	conn.SetReadLimit(maxMessageSize)
	life, end := context.WithCancel(context.Background())
	s := &session{conn: conn, end: end, ready: make(chan struct{}), done: make(chan struct{}), usedAt: r.now(), oks: map[string]chan verdict{}}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		s.clockLead = start.Sub(date)
	}
	go r.run(life, s)
	if err := s.write(connecting, r.subscribe()); err != nil {
		end()
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	select {
	case <-s.ready:
		return s, nil
	case <-s.done:
		return nil, s.err
	case <-connecting.Done():
		end()
		return nil, errors.New("the relay does not answer the subscription")
	}
}

// subscribe returns the message that subscribes to the events of the wallet.
func (r *relay) subscribe() []any {
	events := map[string]any{
		"kinds": []int{kindReply, kindNotificationLegacy, kindNotification}, "authors": []string{r.wallet}, "#p": []string{r.client}, "limit": maxStored,
	}
	r.mu.Lock()
	if r.newest > 0 {
		events["since"] = r.newest - int64(overlap/time.Second)
	}
	r.mu.Unlock()
	info := map[string]any{"kinds": []int{kindInfo}, "authors": []string{r.wallet}, "limit": 1}
	return []any{"REQ", subscription, events, info}
}

// run reads messages and sends pings until the session ends.
func (r *relay) run(ctx context.Context, s *session) {
	ctx, cancel := context.WithCancel(ctx)
	pinged := make(chan struct{})
	go func() {
		defer close(pinged)
		defer cancel()
		s.keepAlive(ctx, r.now)
	}()
	var err error
	for err == nil {
		var message []byte
		if _, message, err = s.conn.Read(ctx); err == nil {
			err = r.handle(s, message)
		}
	}
	cancel()
	<-pinged
	s.end()
	_ = s.conn.CloseNow() // it has failed already
	s.err = fmt.Errorf("connection ended: %w", err)
	close(s.done)
}

// keepAlive sends pings until one is not answered, or the session was not used for a while.
func (s *session) keepAlive(ctx context.Context, now func() time.Time) {
	lightning.Ping(ctx, s.conn, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return now().Sub(s.usedAt) >= idleTimeout
	})
}

// use delays the end of the session.
func (s *session) use(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usedAt = now
}

// handle handles a message of a relay. See NIP-01.
func (r *relay) handle(s *session, message []byte) error {
	var parts []json.RawMessage
	var kind, id string
	if json.Unmarshal(message, &parts) != nil || len(parts) < 2 || json.Unmarshal(parts[0], &kind) != nil {
		return nil
	}
	_ = json.Unmarshal(parts[1], &id)
	switch {
	case kind == "EVENT" && len(parts) == 3:
		var e event
		if json.Unmarshal(parts[2], &e) == nil && e.Author == r.wallet && e.verify() == nil {
			r.mu.Lock()
			r.newest = max(r.newest, min(e.CreatedAt, r.now().Add(overlap).Unix()))
			r.mu.Unlock()
			r.receive(&e)
		}
	case kind == "EOSE" && id == subscription:
		if !isDone(s.ready) {
			close(s.ready)
		}
	case kind == "CLOSED" && id == subscription:
		return fmt.Errorf("the relay refuses the subscription: %s", textOf(parts, 2))
	case kind == "OK" && len(parts) >= 3:
		v := verdict{text: textOf(parts, 3)}
		_ = json.Unmarshal(parts[2], &v.accepted)
		s.mu.Lock()
		waiting := s.oks[id]
		delete(s.oks, id)
		s.mu.Unlock()
		if waiting != nil {
			waiting <- v
		}
	}
	return nil
}

// textOf returns a part of a message that is a text for people.
func textOf(parts []json.RawMessage, i int) string {
	text := ""
	if i < len(parts) {
		_ = json.Unmarshal(parts[i], &text)
	}
	return lightning.Quote(text)
}

// write sends a message. It does not end with the context, because a write that ends early breaks the connection.
func (s *session) write(ctx context.Context, message []any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, text)
}

// maxClockLead is the difference of clocks from which it is named as the reason of a refusal.
const maxClockLead = 30 * time.Second

// publish sends an event and waits until the relay has accepted it. It returns lightning.ErrSilent if the relay has no
// subscription that matches, with the prefix of NIP-01 for it or with the text of relays before that.
func (s *session) publish(ctx context.Context, e *event) error {
	accepted := make(chan verdict, 1)
	s.mu.Lock()
	s.oks[e.ID] = accepted
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.oks, e.ID)
	}()
	if err := s.write(ctx, []any{"EVENT", e}); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	select {
	case v := <-accepted:
		switch {
		case v.accepted || strings.HasPrefix(v.text, "duplicate:"):
			return nil
		case strings.HasPrefix(v.text, "mute:") || strings.Contains(v.text, "no one was listening"):
			return lightning.ErrSilent
		case s.clockLead.Abs() > maxClockLead:
			return fmt.Errorf("the relay refuses the event: %s; this computer's clock is %d s off", v.text, int(s.clockLead.Abs().Seconds()))
		}
		return fmt.Errorf("the relay refuses the event: %s", v.text)
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
