package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"time"

	"chequer/internal/account"
	"chequer/internal/format"
	"chequer/internal/guard"
	"chequer/internal/locale"
	"chequer/internal/logonce"
	"chequer/internal/merchant"
)

const (
	// pollInterval is the interval at which feeds and the outbox are checked.
	pollInterval = time.Second
	// watchInterval is the interval at which faults and summaries are checked, and old messages are deleted.
	watchInterval = time.Minute
	// claimTTL is the duration of a claim, which is longer than an attempt.
	claimTTL = attemptTimeout + 15*time.Second
	// maxAttempts is the number of attempts of a channel that run at the same time.
	maxAttempts = 4
	// shutdownTimeout is the time that running attempts may take when the program stops.
	shutdownTimeout = 2 * time.Second
	// messageTTL is the time for which messages that have ended are stored.
	messageTTL = 30 * 24 * time.Hour
	// maxStoredFault bounds the number of characters of a stored fault.
	maxStoredFault = 300
)

// Config holds the dependencies of a Worker.
type Config struct {
	Outbox    Outbox
	Collector *Collector
	Mail      MailServer
	Dialer    guard.Connector
	// TLS of push messages is set only in tests; nil uses the system's certificates.
	TLS   *tls.Config
	Words *locale.Language
	// DeskURL is the public address of the desk.
	DeskURL string
	Shops   func(ctx context.Context) ([]merchant.Merchant, error)
	Now     func() time.Time
	Log     *slog.Logger
}

// Worker collects and sends messages. Several workers with one storage, also in other processes, share
// the work.
type Worker struct {
	Config
	push     pusher
	writer   writer
	running  map[Channel]chan struct{} // holds an element for each running attempt
	attempts sync.WaitGroup
	failures map[string]*logonce.Failure // of each step
	watched  time.Time                   // last check of faults and summaries
	timeout  time.Duration               // of an attempt
}

// New returns a new Worker.
func New(c Config) *Worker {
	w := &Worker{
		Config: c, push: pusher{dialer: c.Dialer, tls: c.TLS}, writer: writer{words: c.Words, deskURL: c.DeskURL, shops: c.Shops},
		running: map[Channel]chan struct{}{}, failures: map[string]*logonce.Failure{}, timeout: attemptTimeout,
	}
	for _, channel := range Channels {
		w.running[channel] = make(chan struct{}, maxAttempts)
	}
	return w
}

// Run collects and sends messages until the context ends, and then returns nil.
func (w *Worker) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(shutdownTimeout, stop) })
	defer w.attempts.Wait()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		w.step(ctx, work)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// step runs each step once. Attempts use work, which ends later than ctx.
func (w *Worker) step(ctx, work context.Context) {
	if now := w.Now(); now.Sub(w.watched).Abs() >= watchInterval {
		w.watched = now
		w.logFailure(ctx, "faults", w.Collector.CollectFaults(ctx))
		w.logFailure(ctx, "summaries", w.Collector.CollectSummaries(ctx))
		w.logFailure(ctx, "deletion", w.Outbox.DeleteMessages(ctx, now.Add(-messageTTL)))
	}
	w.logFailure(ctx, "events", w.Collector.Collect(ctx))
	if ctx.Err() == nil {
		w.logFailure(ctx, "outbox", w.Send(work))
	}
}

// logFailure logs the error of a step once, until it changes.
func (w *Worker) logFailure(ctx context.Context, step string, err error) {
	if w.failures[step] == nil {
		w.failures[step] = &logonce.Failure{}
	}
	if w.failures[step].IsNew(ctx, err) {
		w.Log.Error("notifications failed", "step", step, "error", err)
	}
}

// Send claims due messages and starts to send them. Wait waits until they are sent.
func (w *Worker) Send(ctx context.Context) error {
	var faults []error
	for _, channel := range Channels {
		room := maxAttempts - len(w.running[channel])
		if room == 0 {
			continue
		}
		now := w.Now()
		claims, err := w.Outbox.ClaimMessages(ctx, channel, now, now.Add(claimTTL), room)
		faults = append(faults, err)
		for _, c := range claims {
			w.running[channel] <- struct{}{}
			w.attempts.Go(func() {
				w.attempt(ctx, c)
				<-w.running[channel]
			})
		}
	}
	return errors.Join(faults...)
}

// Wait waits until no attempt is running.
func (w *Worker) Wait() { w.attempts.Wait() }

// attempt sends a claimed message once and stores the outcome. If the message cannot be read or the outcome cannot
// be stored, the claim expires and the attempt is repeated.
func (w *Worker) attempt(ctx context.Context, c Claim) {
	at := w.Now()
	o, err := w.deliver(ctx, c, at)
	if ctx.Err() != nil {
		return // the program is stopping; the claim expires
	}
	if err == nil {
		err = w.Outbox.SaveOutcome(ctx, c, o)
	}
	if err != nil {
		w.Log.Error("attempt to notify not stored, will be repeated", "message", c.ID, "error", err)
		return
	}
	switch {
	case o.State == Failed:
		w.Log.Error("notification given up", "message", c.ID, "channel", string(c.Channel), "kind", string(c.Kind), "attempts", c.Attempts+1, "fault", o.Fault)
	case o.Fault != "" && c.Attempts == 0:
		w.Log.Warn("notification not sent yet", "message", c.ID, "channel", string(c.Channel), "kind", string(c.Kind), "fault", o.Fault, "next_try_at", o.NextAttemptAt)
	}
}

// deliver sends a message, unless it must wait for the end of quiet hours or has no recipient any more. The error is
// one of storage.
func (w *Worker) deliver(ctx context.Context, c Claim, at time.Time) (Outcome, error) {
	a, set, err := w.recipient(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	if c.Kind == Verification {
		return w.deliverLink(ctx, c, set, at)
	}
	if due := set.SendAt(c.Kind, at); due.After(at) {
		return Outcome{State: Pending, NextAttemptAt: due}, nil
	}
	m := c.Message
	m.Items = allowed(m, a)
	if set.Destination(c.Channel) == "" || len(m.Items) == 0 {
		return Outcome{State: Dropped, At: at}, nil
	}
	l, err := w.writer.letter(ctx, m)
	if err != nil {
		return Outcome{}, err
	}
	return outcome(c, w.send(ctx, c, set, l), at, w.Now()), nil
}

// send sends a letter to the destination of a channel.
func (w *Worker) send(ctx context.Context, c Claim, set Settings, l letter) error {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	var err error
	if c.Channel == Push {
		err = w.push.send(ctx, set.PushURL, set.PushToken, l)
	} else {
		err = w.Mail.send(ctx, set.Email, l, w.writer.body(l), c.CreatedAt)
	}
	return withoutAddress(ctx, err, set)
}

// recipient returns the account of a message with its settings. An account that does not exist any more has no roles and no
// destinations.
func (w *Worker) recipient(ctx context.Context, c Claim) (account.Account, Settings, error) {
	a, err := w.Outbox.Account(ctx, c.AccountID)
	if errors.Is(err, account.ErrNotFound) {
		return a, Settings{}, nil
	}
	if err != nil {
		return a, Settings{}, err
	}
	set, err := w.Outbox.NotificationSettings(ctx, c.AccountID)
	return a, set, err
}

// withoutAddress returns the error of an attempt without the addresses of the account, which are not for the log
// and other accounts. It names a timeout as such.
func withoutAddress(ctx context.Context, err error, set Settings) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	addresses := []string{set.Email, set.PushURL}
	if u, err := url.Parse(set.PushURL); err == nil {
		addresses = append(addresses, u.Hostname())
	}
	for _, address := range addresses {
		if address != "" { // a server may repeat it in another case
			text = regexp.MustCompile("(?i)"+regexp.QuoteMeta(address)).ReplaceAllLiteralString(text, "…")
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		text = "no answer within " + attemptTimeout.String()
	}
	if _, ended := errors.AsType[permanent](err); ended {
		return permanent{errors.New(text)}
	}
	return errors.New(text)
}

// allowed returns the items of a message that the account may still get: its role may have changed since.
func allowed(m Message, a account.Account) (items []Item) {
	for _, i := range m.Items {
		if m.Kind == Test || slices.ContainsFunc(a.Shops(), func(shop string) bool {
			return (i.MerchantID == "" || i.MerchantID == shop) && m.Kind.AllowedTo(a, shop)
		}) {
			items = append(items, i)
		}
	}
	return items
}

// outcome returns the state of a message after an attempt.
func outcome(c Claim, err error, at, now time.Time) Outcome {
	if err == nil {
		return Outcome{State: Sent, At: at}
	}
	o := Outcome{State: Failed, At: at, Fault: format.OneLine(err.Error(), maxStoredFault)}
	if _, ended := errors.AsType[permanent](err); ended || c.Kind == Test {
		return o
	}
	first := c.FirstAttemptAt
	if first.IsZero() {
		first = at
	}
	if next := nextAttempt(first, now); !next.IsZero() {
		o.State, o.NextAttemptAt = Pending, next
	}
	return o
}
