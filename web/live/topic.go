package live

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// topic is an invoice with viewers. Its fields are protected by the mutex of the hub. It holds no
// state and no rendered page between changes.
type topic struct {
	hub     *Hub
	id      string
	viewers map[*Viewer]struct{}
	unwatch func()
	removed bool

	version   string // that was read last; empty before the first
	number    int64
	final     bool
	own       string      // code of the invoice's language
	scheduled bool        // it is in the queue, or a worker reads it
	readAgain bool        // it must be read once more
	timer     *time.Timer // reads it when its page expires, or after an error
}

// add adds a viewer. The topic is read unless the viewer shows its version.
func (t *topic) add(v *Viewer) {
	v.topic = t
	t.viewers[v] = struct{}{}
	if t.version != "" && t.version == v.shown && !t.scheduled {
		v.open(t)
		return
	}
	t.read()
}

// changed is called when the invoice may have changed.
func (t *topic) changed(version int64) {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	if version == 0 || version != t.number {
		t.readAgain = t.scheduled
		t.read()
	}
}

// read makes a worker read the topic.
func (t *topic) read() {
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

// refresh reads the topic and tells its viewers, until it has not changed meanwhile.
func (t *topic) refresh() {
	ctx, cancel := context.WithTimeout(t.hub.ctx, readTimeout)
	defer cancel()
	for t.finishReading(t.update(ctx)) {
	}
}

// update reads the topic once and tells its viewers.
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

// finishReading ends a reading. It reports whether the topic must be read again at once.
func (t *topic) finishReading(err error) bool {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	readAgain := err == nil && !t.removed && (t.readAgain || t.hasUnopened())
	t.readAgain = false
	t.scheduled = readAgain
	switch {
	case err == nil || t.removed:
		return readAgain
	case t.version == "" || t.hub.source.IsGone(err):
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

// hasUnopened reports whether a viewer joined after the last of the others received the state.
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
	t.note(state)
	rendered := map[Variant]*Text{}
	for {
		variant, found := t.next(state, rendered)
		if !found {
			return nil
		}
		page, err := state.Render(ctx, variant)
		if err != nil {
			return fmt.Errorf("render %s: %w", variant.Language, err)
		}
		rendered[variant] = pageText(state.Version, page, t.compresses(variant))
	}
}

// note records a state.
func (t *topic) note(state State) {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	if t.removed {
		return
	}
	t.version, t.number, t.final, t.own = state.Version, state.Number, state.Final, state.Language
	t.stopTimer()
	if state.Expires > 0 {
		t.readAfter(state.Expires)
	}
}

// next sends the rendered pages to the viewers that need them. It returns a variant that a viewer
// needs and that is not rendered.
func (t *topic) next(state State, rendered map[Variant]*Text) (missing Variant, found bool) {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	for v := range t.viewers {
		if v.shown == state.Version {
			v.open(t)
			continue
		}
		variant := v.variant(t)
		text, ok := rendered[variant]
		if !ok {
			missing, found = variant, true
			continue
		}
		v.opened, v.shown, v.last = true, state.Version, state.Final
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
