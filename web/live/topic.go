package live

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// topic is an invoice with viewers. Its fields are protected by the mutex of the hub. To save memory, it holds no
// State and no rendered page between changes.
type topic struct {
	hub     *Hub
	id      string
	viewers map[*Viewer]struct{}
	unwatch func()
	removed bool

	// The values of the State that was read last. pageVersion is empty before the first reading.
	pageVersion string
	version     int64 // of the invoice
	final       bool
	language    string

	scheduled bool        // the topic is in the queue, or a worker reads it
	readAgain bool        // the topic must be read once more after the present reading
	timer     *time.Timer // reads the topic when its page expires, or after an error
}

// add adds a viewer. The topic is read unless the viewer shows the page that was read last.
func (t *topic) add(v *Viewer) {
	v.topic = t
	t.viewers[v] = struct{}{}
	if t.pageVersion != "" && t.pageVersion == v.shown && !t.scheduled {
		v.open(t)
		return
	}
	t.scheduleRead()
}

// changed is called when the invoice may have changed.
func (t *topic) changed(version int64) {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	if version == 0 || version != t.version {
		t.readAgain = t.scheduled
		t.scheduleRead()
	}
}

// scheduleRead makes a worker read the topic.
func (t *topic) scheduleRead() {
	if t.scheduled || t.removed {
		return
	}
	t.scheduled = true
	t.hub.enqueue(t)
}

// readAfter reads the topic after a duration.
func (t *topic) readAfter(d time.Duration) {
	t.stopTimer()
	t.timer = time.AfterFunc(d, func() { t.changed(0) })
}

func (t *topic) stopTimer() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}

// refresh reads the topic and updates its viewers, and repeats this while the invoice changes during the reading.
func (t *topic) refresh() {
	ctx, cancel := context.WithTimeout(t.hub.ctx, readTimeout)
	defer cancel()
	for t.finishReading(t.update(ctx)) {
	}
}

// update reads the topic once and updates its viewers. It returns a panic of Source or Render as an error.
func (t *topic) update(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	state, err := t.hub.source.Read(ctx, t.id)
	if err != nil {
		return err
	}
	return t.sendState(ctx, state)
}

// finishReading ends a reading that returned err. It reports whether the topic must be read again at once. After an
// error of the first reading, or if the invoice is gone, the streams end. After another error, the topic is read again
// after retryInterval.
func (t *topic) finishReading(err error) bool {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	readAgain := err == nil && !t.removed && (t.readAgain || t.hasUnopened())
	t.readAgain = false
	t.scheduled = readAgain
	switch {
	case err == nil || t.removed:
		return readAgain
	case t.pageVersion == "" || t.hub.source.IsGone(err):
		for v := range t.viewers {
			v.end(err)
		}
		t.hub.remove(t)
	default:
		t.hub.log.Warn("page of viewers not updated", "invoice", t.id, "error", err)
		t.readAfter(retryInterval)
	}
	return false
}

// hasUnopened reports whether the stream of a viewer has neither begun nor ended: the viewer joined after the state
// was sent.
func (t *topic) hasUnopened() bool {
	for v := range t.viewers {
		if !v.opened && !v.isEnded {
			return true
		}
	}
	return false
}

// sendState sends a state to the viewers that show another version. Viewers that join meanwhile get the
// same state.
func (t *topic) sendState(ctx context.Context, state State) error {
	t.record(state)
	rendered := map[Variant]*Text{}
	for {
		variant, found := t.sendRendered(state, rendered)
		if !found {
			return nil
		}
		page, err := state.Render(ctx, variant)
		if err != nil {
			return fmt.Errorf("render %s: %w", variant.Language, err)
		}
		rendered[variant] = pageText(state.PageVersion, page, t.compresses(variant))
	}
}

// record records a state that was read, and plans the reading at its expiry.
func (t *topic) record(state State) {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	if t.removed {
		return
	}
	t.pageVersion, t.version, t.final, t.language = state.PageVersion, state.Version, state.Final, state.Language
	t.stopTimer()
	if state.ExpiresIn > 0 {
		t.readAfter(state.ExpiresIn)
	}
}

// sendRendered sends the rendered pages to the viewers that need them. It returns a variant that a viewer
// needs and that is not rendered; found is false if there is none.
func (t *topic) sendRendered(state State, rendered map[Variant]*Text) (missing Variant, found bool) {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	for v := range t.viewers {
		if v.shown == state.PageVersion {
			v.open(t)
			continue
		}
		variant := v.variant(t)
		text, ok := rendered[variant]
		if !ok {
			missing, found = variant, true
			continue
		}
		v.opened, v.shown, v.last = true, state.PageVersion, state.Final
		v.queueText(text)
	}
	return missing, found
}

// compresses reports whether a viewer of a variant accepts compressed text.
func (t *topic) compresses(variant Variant) bool {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	for v := range t.viewers {
		if v.request.Gzip && v.variant(t) == variant {
			return true
		}
	}
	return false
}
