package exchangetest

import (
	"bytes"
	"fmt"
	"net/http"
)

// Fault is a misbehaviour at one call. process carries out the call and returns its answer.
type Fault func(s *Server, w http.ResponseWriter, r *http.Request, process func() Answer)

// Hang does not carry out the call and never answers.
func Hang(s *Server, _ http.ResponseWriter, r *http.Request, _ func() Answer) { s.wait(r) }

// HangAfter carries out the call and never answers.
func HangAfter(s *Server, _ http.ResponseWriter, r *http.Request, process func() Answer) {
	process()
	s.wait(r)
}

// wait waits until the caller has closed the connection.
func (s *Server) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.done:
	}
}

// Drop closes the connection without carrying out the call.
func Drop(*Server, http.ResponseWriter, *http.Request, func() Answer) { panic(http.ErrAbortHandler) }

// DropAfter carries out the call and closes the connection.
func DropAfter(_ *Server, _ http.ResponseWriter, _ *http.Request, process func() Answer) {
	process()
	panic(http.ErrAbortHandler)
}

// Status answers with a status without carrying out the call.
func Status(status int) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ func() Answer) { w.WriteHeader(status) }
}

// StatusAfter carries out the call and answers with a status.
func StatusAfter(status int) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, process func() Answer) {
		process()
		w.WriteHeader(status)
	}
}

// Redirect redirects to another host.
func Redirect(_ *Server, w http.ResponseWriter, r *http.Request, _ func() Answer) {
	http.Redirect(w, r, "http://thief.example/0/private/AddOrder", http.StatusTemporaryRedirect)
}

// Upgrade switches protocols and sends data without end.
func Upgrade(_ *Server, w http.ResponseWriter, _ *http.Request, _ func() Answer) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	go func() {
		defer conn.Close()
		if _, err := fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: sell\r\n\r\n"); err != nil {
			return
		}
		for {
			if _, err := conn.Write(bytes.Repeat([]byte("{"), 1024)); err != nil {
				return
			}
		}
	}()
}

// Oversize carries out the call and answers with more data than callers read.
func Oversize(_ *Server, w http.ResponseWriter, _ *http.Request, process func() Answer) {
	process()
	for range 64 {
		if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
			return
		}
	}
}

// Respond answers with a text without carrying out the call.
func Respond(status int, text string) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ func() Answer) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

// ProcessAndRespond carries out the call and answers with a text.
func ProcessAndRespond(status int, text string) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, process func() Answer) {
		process()
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

// Falsify carries out the call and replaces a part of its answer.
func Falsify(old, replacement string) Fault {
	return func(s *Server, w http.ResponseWriter, _ *http.Request, process func() Answer) {
		a := process()
		if !bytes.Contains(a.body, []byte(old)) {
			s.addWrongCall(fmt.Sprintf("Falsify: %q is not in the answer %s", old, a.body))
		}
		a.body = bytes.ReplaceAll(a.body, []byte(old), []byte(replacement))
		a.header = nil // it cannot be signed
		a.write(w)
	}
}

// RunBefore calls a function of the test before it carries out the call.
func RunBefore(during func()) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, process func() Answer) {
		during()
		process().write(w)
	}
}
