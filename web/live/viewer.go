package live

import (
	"cmp"
	"context"
	"time"
)

// Request holds the parameters of a viewer's request.
type Request struct {
	Address  string // the caller's address, for the limits
	Shown    string // version that the browser shows; empty if it is not known
	Language string // code of the language that the address of the page names; empty if it names none
	Fallback string // code of the language of the page if neither its address nor the invoice has a language
	Modal    bool   // the address of the page has present.ModalView
	Gzip     bool   // the browser accepts gzip
}

// Viewer is the stream of one browser. Its fields are protected by the mutex of the hub. Its methods are
// called by one goroutine.
type Viewer struct {
	hub       *Hub
	topic     *topic // nil if the hub was closed before
	request   Request
	release   func()
	expiresAt time.Time
	slot      int           // second of its heartbeat
	ready     chan struct{} // receives a value when take has a result; nil if interrupt is set
	// interrupt is called when take has a result. It does not block.
	interrupt func()

	opened  bool   // the stream has begun
	shown   string // version that the browser shows, or that was sent to it
	next    *Text  // not taken yet; nil if there is none
	last    bool   // the stream ends after next
	isEnded bool   // the stream ends now
	err     error  // the reason for which it ends; nil after its lifetime
}

// Next waits for the next text of the stream. An empty Text only begins the stream. last reports
// whether the stream ends after the text; a nil text ends it at once. The first call can return an
// error of Source.Read, or ErrShown.
func (v *Viewer) Next(ctx context.Context) (text *Text, last bool, err error) {
	for {
		select {
		case <-v.ready:
		case <-ctx.Done():
			return nil, true, ctx.Err()
		}
		switch text, last = v.take(); {
		case text != nil:
			return text, last, nil
		case last:
			return nil, true, v.err
		} // an earlier wake-up took the text that this one announced
	}
}

// take returns the text that was not taken yet; nil if there is none. last reports whether the stream
// ends after it, or now.
func (v *Viewer) take() (text *Text, last bool) {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	text, v.next = v.next, nil
	if v.isEnded {
		return nil, true
	}
	return text, v.last && text != nil
}

// Leave ends the stream.
func (v *Viewer) Leave() { v.hub.leave(v) }

// variant returns the variant of the page for the viewer.
func (v *Viewer) variant(t *topic) Variant {
	if v.request.Language != "" {
		return Variant{v.request.Language, true, v.request.Modal}
	}
	return Variant{cmp.Or(t.language, v.request.Fallback), false, v.request.Modal}
}

// open begins the stream of a viewer that shows the present version, or ends it if that version is final.
func (v *Viewer) open(t *topic) {
	switch {
	case v.opened:
	case t.final:
		v.end(ErrShown)
	default:
		v.opened = true
		v.queueText(emptyText)
	}
}

// queueText makes Next return a text. The text replaces a text that was not taken yet, unless it is a heartbeat.
func (v *Viewer) queueText(text *Text) {
	if v.next == nil || text != beatText {
		v.next = text
	}
	v.wake()
}

// end makes Next return an error, or the end of the stream if err is nil.
func (v *Viewer) end(err error) {
	if v.last && v.next != nil { // the last page ends the stream anyway
		return
	}
	v.isEnded, v.err = true, err
	v.wake()
}

// wake tells the goroutine of the stream that take has a result.
func (v *Viewer) wake() {
	if v.interrupt != nil {
		v.interrupt()
		return
	}
	select {
	case v.ready <- struct{}{}:
	default:
	}
}
