package live

import (
	"errors"
	"net"
	"os"
	"time"
)

// WriteWait is the time that writing a text to a browser may take.
const WriteWait = 30 * time.Second

// maxIgnored is the number of bytes that a browser may send during a stream. A browser sends none.
const maxIgnored = 4 << 10

// past is a deadline that makes a Read return at once.
var past = time.Unix(1, 0)

// Serve starts a goroutine, the only one of the stream, that writes the stream to a connection, beginning with a
// text that Next returned. The goroutine then closes the connection and calls Leave.
func (v *Viewer) Serve(conn net.Conn, text *Text, last bool) {
	v.setInterrupt(func() { _ = conn.SetReadDeadline(past) })
	go v.serve(conn, text, last)
}

// setInterrupt makes wake call a function instead of sending to the channel. It calls the function if take has a
// result already.
func (v *Viewer) setInterrupt(interrupt func()) {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	v.interrupt, v.ready = interrupt, nil
	if v.next != nil || v.isEnded {
		interrupt()
	}
}

func (v *Viewer) serve(conn net.Conn, text *Text, last bool) {
	defer conn.Close()
	defer v.Leave()
	e, in := Encoder{gzip: v.request.Gzip}, input{conn: conn}
	for text != nil {
		if err := write(conn, e.Encode(text)...); err != nil {
			return
		}
		if last {
			break
		}
		var ok bool
		if text, last, ok = v.await(&in); !ok {
			return
		}
	}
	_ = write(conn, e.End())
}

// input reads and ignores the bytes that a browser sends during a stream.
type input struct {
	conn  net.Conn
	total int // bytes read
}

// wait waits for a wake-up. It returns false if the browser closed the connection or sent more than maxIgnored
// bytes, because reading without a limit would use the processor as long as the stream lasts.
func (in *input) wait() bool {
	var ignored [16]byte
	for in.total <= maxIgnored {
		n, err := in.conn.Read(ignored[:])
		in.total += n
		if err != nil {
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
	return false
}

// await waits for the next text. ok is false if the browser ends the stream: see input.wait. await reads from the
// connection, and a wake-up interrupts the read by a deadline, so that one goroutine waits for the browser and for
// texts.
func (v *Viewer) await(in *input) (text *Text, last, ok bool) {
	for {
		if !in.wait() {
			return nil, true, false
		}
		// A wake-up after this line makes the next wait return.
		if err := in.conn.SetReadDeadline(time.Time{}); err != nil {
			return nil, true, false
		}
		if text, last := v.take(); text != nil || last {
			return text, last, true
		}
	}
}

func write(conn net.Conn, parts ...[]byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(WriteWait)); err != nil {
		return err
	}
	buffers := net.Buffers(parts)
	_, err := buffers.WriteTo(conn)
	return err
}
