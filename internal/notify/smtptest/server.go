// Package smtptest is a mail server for tests. It listens on loopback, speaks SMTP with STARTTLS and a sign-in,
// and keeps the messages that it accepts.
package smtptest

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Message is an accepted message.
type Message struct {
	From, To  string
	Text      string // headers and body
	Protected bool   // by TLS
	User      string // that signed in
}

// Server is a mail server. Set its fields before Start.
type Server struct {
	// User and Password are those of the sign-in; without a user there is none.
	User, Password string
	// ImplicitTLS begins every connection with TLS. NoTLS does not offer STARTTLS.
	ImplicitTLS, NoTLS bool
	// Abrupt closes the connection after each accepted message, without an answer to QUIT.
	Abrupt bool

	t        testing.TB
	listener net.Listener
	tls      *tls.Config
	roots    *x509.CertPool
	running  sync.WaitGroup

	mu       sync.Mutex
	messages []Message
	refused  map[string]string // answers to RCPT TO by address
	hold     chan struct{}     // delays the answer to DATA until it is closed
	arrived  chan struct{}     // receives an element for each accepted message
	conns    map[net.Conn]bool
}

// New returns a server that has not started.
func New(t testing.TB) *Server {
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS() // for its certificate, which names 127.0.0.1
	defer web.Close()
	s := &Server{t: t, tls: web.TLS.Clone(), roots: x509.NewCertPool(), refused: map[string]string{}, arrived: make(chan struct{}, 1000), conns: map[net.Conn]bool{}}
	s.tls.NextProtos = nil
	s.roots.AddCert(web.Certificate())
	t.Cleanup(s.Stop)
	return s
}

// Roots returns the certificates that a client must trust.
func (s *Server) Roots() *x509.CertPool { return s.roots }

// Start listens on the port of the last start, or on a free one.
func (s *Server) Start() *Server {
	s.t.Helper()
	address := "127.0.0.1:0"
	if s.listener != nil {
		address = s.listener.Addr().String()
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.listener = listener
	s.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.serve(conn) })
		}
	})
	return s
}

// Port returns the port.
func (s *Server) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Stop closes the port and all connections.
func (s *Server) Stop() {
	if s.listener != nil {
		s.listener.Close()
	}
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Refuse makes the server answer to a recipient with a status and a text; "" accepts it.
func (s *Server) Refuse(address, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[address] = answer
}

// Hold makes the server keep the next messages without an answer until release is called.
func (s *Server) Hold() (release func()) {
	hold := make(chan struct{})
	s.mu.Lock()
	s.hold = hold
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.hold = nil
		s.mu.Unlock()
		close(hold)
	})
}

// Arrived receives an element for each accepted message, before its answer.
func (s *Server) Arrived() <-chan struct{} { return s.arrived }

// Messages returns the accepted messages.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.messages...)
}

// session is a connection.
type session struct {
	*Server
	conn      net.Conn
	in        *bufio.Reader
	protected bool
	user      string
	message   Message
}

func (s *Server) serve(conn net.Conn) {
	s.mu.Lock()
	s.conns[conn] = true
	s.mu.Unlock()
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	c := &session{Server: s, conn: conn, in: bufio.NewReader(conn)}
	if s.ImplicitTLS && !c.startTLS() {
		return
	}
	c.answer("220 smtptest")
	for {
		line, err := c.in.ReadString('\n')
		if err != nil || !c.command(strings.TrimRight(line, "\r\n")) {
			return
		}
	}
}

// startTLS begins TLS, and reports whether the handshake succeeded.
func (c *session) startTLS() bool {
	conn := tls.Server(c.conn, c.tls)
	if conn.Handshake() != nil {
		return false
	}
	c.conn, c.in, c.protected = conn, bufio.NewReader(conn), true
	return true
}

func (c *session) answer(lines ...string) { c.conn.Write([]byte(strings.Join(lines, "\r\n") + "\r\n")) }

// command answers a command, and reports whether the connection continues.
func (c *session) command(line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	switch strings.ToUpper(verb) {
	case "EHLO", "HELO":
		lines := []string{"250-smtptest"}
		if !c.protected && !c.NoTLS {
			lines = append(lines, "250-STARTTLS")
		}
		if c.User != "" {
			lines = append(lines, "250-AUTH PLAIN LOGIN")
		}
		c.answer(append(lines, "250 8BITMIME")...)
	case "STARTTLS":
		c.answer("220 go ahead")
		return c.startTLS()
	case "AUTH":
		return c.signIn(rest)
	case "MAIL":
		if c.User != "" && c.user == "" {
			c.answer("530 5.7.0 sign in first")
			return true
		}
		c.message = Message{From: bracketed(rest), Protected: c.protected, User: c.user}
		c.answer("250 ok")
	case "RCPT":
		c.message.To = bracketed(rest)
		c.mu.Lock()
		refusal := c.refused[c.message.To]
		c.mu.Unlock()
		if refusal != "" {
			c.answer(refusal)
			return true
		}
		c.answer("250 ok")
	case "DATA":
		return c.data()
	case "RSET", "NOOP":
		c.answer("250 ok")
	case "QUIT":
		c.answer("221 bye")
		return false
	default:
		c.answer("502 unknown")
	}
	return true
}

// signIn answers AUTH PLAIN.
func (c *session) signIn(rest string) bool {
	mechanism, initial, _ := strings.Cut(rest, " ")
	text, err := base64.StdEncoding.DecodeString(initial)
	if !strings.EqualFold(mechanism, "PLAIN") || err != nil || string(text) != "\x00"+c.User+"\x00"+c.Password {
		c.answer("535 5.7.8 wrong user or password")
		return true
	}
	c.user = c.User
	c.answer("235 ok")
	return true
}

// data reads a message.
func (c *session) data() bool {
	c.answer("354 go ahead")
	var b strings.Builder
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
	c.message.Text = b.String()
	c.mu.Lock()
	c.messages = append(c.messages, c.message)
	hold := c.hold
	c.mu.Unlock()
	c.arrived <- struct{}{}
	if hold != nil {
		<-hold
	}
	c.answer("250 accepted")
	return !c.Abrupt
}

// bracketed returns the address in angle brackets.
func bracketed(text string) string {
	_, rest, _ := strings.Cut(text, "<")
	address, _, _ := strings.Cut(rest, ">")
	return address
}
