package exchangetest

import (
	"bytes"
	"fmt"
	"net/http"
)

// Fault is a way to misbehave at one call. process does what was asked, and tells how
// it would be answered.
type Fault func(s *Server, w http.ResponseWriter, r *http.Request, process func() Answer)

// Hang does nothing and never answers.
func Hang(s *Server, _ http.ResponseWriter, r *http.Request, _ func() Answer) { s.wait(r) }

// HangAfter does what was asked and never answers.
func HangAfter(s *Server, _ http.ResponseWriter, r *http.Request, process func() Answer) {
	process()
	s.wait(r)
}

// wait waits until the caller is gone.
func (s *Server) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.ended:
	}
}

// Drop does nothing and closes the connection.
func Drop(*Server, http.ResponseWriter, *http.Request, func() Answer) { panic(http.ErrAbortHandler) }

// DropAfter does what was asked and closes the connection.
func DropAfter(_ *Server, _ http.ResponseWriter, _ *http.Request, process func() Answer) {
	process()
	panic(http.ErrAbortHandler)
}

// Status does nothing and answers a status.
func Status(status int) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ func() Answer) { w.WriteHeader(status) }
}

// StatusAfter does what was asked and answers a status.
func StatusAfter(status int) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, process func() Answer) {
		process()
		w.WriteHeader(status)
	}
}

// Redirect leads to another host.
func Redirect(_ *Server, w http.ResponseWriter, r *http.Request, _ func() Answer) {
	http.Redirect(w, r, "http://thief.example/0/private/AddOrder", http.StatusTemporaryRedirect)
}

// Upgrade switches protocols, and goes on for ever.
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

// Giant does what was asked and answers more than anybody reads.
func Giant(_ *Server, w http.ResponseWriter, _ *http.Request, process func() Answer) {
	process()
	for range 64 {
		if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
			return
		}
	}
}

// Say does nothing and answers a text.
func Say(status int, text string) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ func() Answer) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

// SayAfter does what was asked and answers a text.
func SayAfter(status int, text string) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, process func() Answer) {
		process()
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

// Lie does what was asked and answers with a part of the answer replaced.
func Lie(old, replacement string) Fault {
	return func(s *Server, w http.ResponseWriter, _ *http.Request, process func() Answer) {
		a := process()
		if !bytes.Contains(a.body, []byte(old)) {
			s.note(fmt.Sprintf("a lie about %q that is not in %s", old, a.body))
		}
		a.body = bytes.ReplaceAll(a.body, []byte(old), []byte(replacement))
		a.header = nil // it cannot be signed
		a.write(w)
	}
}

// Meet does what a test says while the call waits, then what was asked.
func Meet(during func()) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, process func() Answer) {
		during()
		process().write(w)
	}
}

// MeetAfter does what was asked, then what a test says, and answers then.
func MeetAfter(during func()) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, process func() Answer) {
		a := process()
		during()
		a.write(w)
	}
}
