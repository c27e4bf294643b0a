package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
)

// TLSMode is the way in which a connection to the mail server is protected.
type TLSMode int

// The modes.
const (
	StartTLS    TLSMode = iota // required before the sign-in
	ImplicitTLS                // from the beginning
	NoTLS                      // for a server on this machine
)

// MailServer is the server that sends e-mail.
type MailServer struct {
	Host           string
	Port           int
	TLS            TLSMode
	User, Password string // both "" without a sign-in
	From           string
	// Roots is set only in tests; nil uses the system's certificates.
	Roots *x509.CertPool
}

// attemptTimeout bounds the time of an attempt.
const attemptTimeout = 30 * time.Second

// permanent is an error after which no further attempt is made.
type permanent struct{ error }

// errNoMail means that the operator has set no mail server. It may be set later, so the message waits.
var errNoMail = errors.New("no mail server is set: CHEQUER_SMTP_URL")

// send sends a letter by e-mail.
func (s MailServer) send(ctx context.Context, to string, l letter, body string, at time.Time) error {
	if s.Host == "" {
		return errNoMail
	}
	m := mail.NewMsg()
	if err := m.FromFormat("Chequer", s.From); err != nil {
		return fmt.Errorf("sender: %w", err)
	}
	if err := m.To(to); err != nil {
		return permanent{errors.New("the e-mail address is not valid")}
	}
	m.Subject(l.subject)
	m.SetMessageIDWithValue(l.id + "@" + domainOf(s.From))
	m.SetDateWithValue(at)
	m.SetGenHeader("Auto-Submitted", "auto-generated") // see RFC 3834, section 5
	m.SetBodyString(mail.TypeTextPlain, body)
	client, err := mail.NewClient(s.Host, s.options(ctx)...)
	if err != nil {
		return err
	}
	if err := client.DialAndSendWithContext(ctx, m); err != nil && !m.IsDelivered() { // a fault after the acceptance does not matter
		return sendFault(err)
	}
	return nil
}

// mechanisms are the SMTP authentication mechanisms in order of preference. The first that the server supports is used.
var mechanisms = []mail.SMTPAuthType{mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthPlain, mail.SMTPAuthLogin, mail.SMTPAuthCramMD5}

// options returns the options of a connection that ends with the context.
func (s MailServer) options(ctx context.Context) []mail.Option {
	policy := mail.NoTLS // dial protects the connection of ImplicitTLS
	if s.TLS == StartTLS {
		policy = mail.TLSMandatory
	}
	o := []mail.Option{
		mail.WithPort(s.Port), mail.WithTimeout(attemptTimeout), mail.WithTLSConfig(s.config()), mail.WithTLSPolicy(policy), mail.WithoutNoop(), mail.WithoutRset(),
		mail.WithDialContextFunc(func(dialing context.Context, network, address string) (net.Conn, error) {
			return s.dial(ctx, dialing, network, address)
		}),
	}
	if s.User != "" {
		o = append(o, mail.WithOpportunisticSMTPAuth(mechanisms...), mail.WithUsername(s.User), mail.WithPassword(s.Password))
	}
	return o
}

// config returns the configuration of TLS.
func (s MailServer) config() *tls.Config {
	return &tls.Config{ServerName: s.Host, MinVersion: tls.VersionTLS12, RootCAs: s.Roots}
}

// dial connects to the server, and closes the connection when ctx ends. The library uses only the context
// of dialing.
func (s MailServer) dial(ctx, dialing context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(dialing, network, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	if s.TLS != ImplicitTLS {
		return conn, nil
	}
	protected := tls.Client(conn, s.config())
	if err := protected.HandshakeContext(dialing); err != nil {
		conn.Close()
		return nil, err
	}
	return protected, nil
}

func domainOf(address string) string {
	_, domain, _ := strings.Cut(address, "@")
	return domain
}

// sendFault returns the error of an attempt. If the server refuses the message or the address for good,
// there are no further attempts. The operator may repair the cause of other errors, such as a refused sign-in.
func sendFault(err error) error {
	refused, ok := errors.AsType[*mail.SendError](err)
	if !ok || refused.IsTemp() || refused.ErrorCode() < 500 {
		return err
	}
	switch refused.Reason {
	case mail.ErrSMTPRcptTo, mail.ErrSMTPData, mail.ErrSMTPDataClose:
		return permanent{err}
	}
	return err
}
